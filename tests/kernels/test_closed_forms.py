"""Plans with known answers: staleness laws, limits in which policies meet, totals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.kernels.scheduler import NANOSECONDS, Duration, Timing
from fedbench.types import Broadcast, Dispatch, Rounds, Stream
from tests.kernels.plans import (
    JOB_COLUMNS,
    ONE_SECOND,
    mixed_speeds,
    plan,
)


@pytest.mark.parametrize(("order", "expected"), [("after_update", 39 / 8), ("before_update", 40 / 8)])
@pytest.mark.parametrize("restart", ["resample", "self"])
def test_mean_staleness(order: Any, expected: float, restart: Any) -> None:
    """M_c - 1 other arrivals during a flight, whatever the speeds: (M_c - 1) / M updates, M_c / M
    if dispatched before them."""
    dispatch = Stream(concurrency=40, buffer_size=8, order=order, restart=restart)
    p = plan(mixed_speeds(100, 1, max_updates=5000), dispatch)
    taus = np.concatenate(p.staleness)
    assert (taus >= 0).all()
    assert taus[400:].mean() == pytest.approx(expected, rel=0.01)


def test_concurrency_is_kept() -> None:
    """After the first 40 dispatches there is one at every arrival, and a client's jobs do not
    overlap."""
    p = plan(mixed_speeds(60, 2, max_updates=500), Stream(concurrency=40, buffer_size=7))
    arrivals = np.sort(p["t_arrive"][p["consumed_by"] >= 0])
    dispatches = np.sort(p["t_dispatch"])
    assert (dispatches[:40] == 0).all()
    assert len(dispatches) == 7 * 500 + 40 - 1  # nothing starts after the last update
    assert np.array_equal(dispatches[40:], arrivals[:-1])
    for client in range(60):
        rows = np.flatnonzero(p["client"] == client)
        rows = rows[np.argsort(p["k"][rows])]
        assert p["k"][rows].tolist() == list(range(len(rows)))
        assert (p["t_dispatch"][rows][1:] >= p["t_arrive"][rows][:-1]).all()


@pytest.mark.parametrize("restart", ["resample", "self"])
def test_fedbuff_with_everybody_is_synchronous(restart: Any) -> None:
    """M = M_c = N and equal durations: the timeline of Rounds(select="all")."""
    timing = Timing(
        clients=9, compute=Duration.constant(1.5), download=Duration.constant(0.25), upload=Duration.constant(0.5), max_updates=20
    )
    rounds, stream = plan(timing, Rounds()), plan(timing, Stream(concurrency=9, buffer_size=9, restart=restart))
    for name in JOB_COLUMNS:
        assert np.array_equal(rounds[name], stream[name]), name
    assert np.array_equal(rounds.time, stream.time)
    assert np.array_equal(np.stack(rounds.entries), np.stack(stream.entries))
    assert rounds.time.tolist() == [round(2.25 * NANOSECONDS) * (t + 1) for t in range(20)]


def test_peek_is_fedbuff_with_self_restart() -> None:
    """DeFedAvg-IID that keeps its model, zero download time: event for event a Stream of all
    clients that restart themselves."""
    timing = Timing(
        clients=6, compute=Duration.constant(np.array([1, 1.5, 2, 2.25, 3, 7.75])), upload=Duration.constant(0.25), max_updates=40
    )
    peek = plan(timing, Broadcast(buffer_size=4, receive="peek"))
    stream = plan(timing, Stream(concurrency=6, buffer_size=4, restart="self"))
    for name in ("client", "k", "base", "consumed_by", "t_start", "t_finish", "t_arrive"):
        assert np.array_equal(peek[name], stream[name]), name
    assert np.array_equal(np.stack(peek.entries), np.stack(stream.entries))


def test_pop_with_everybody_is_synchronous() -> None:
    timing = Timing(clients=4, compute=Duration.constant(np.array([1, 2, 3, 1.5])), max_updates=10)
    pop, rounds = plan(timing, Broadcast(buffer_size=4)), plan(timing, Rounds())
    assert pop.time.tolist() == rounds.time.tolist() == [3 * NANOSECONDS * t for t in range(1, 11)]
    assert np.array_equal(np.stack(pop.entries), np.stack(rounds.entries))
    assert not np.concatenate(pop.staleness).any()


def test_totals_of_rounds() -> None:
    totals = plan(Timing(clients=5, compute=ONE_SECOND, max_updates=3), Rounds()).totals
    assert totals == {"jobs": 15, "downloads": 15, "messages_peak": 1, "open_jobs_peak": 5}


@pytest.mark.parametrize(
    "dispatch", [Stream(concurrency=8, buffer_size=3), Broadcast(buffer_size=3), Broadcast(buffer_size=3, receive="peek")]
)
def test_totals_by_counting(dispatch: Dispatch) -> None:
    """open_jobs_peak counts jobs from their start to the update that consumes them."""
    p = plan(mixed_speeds(8, 3, max_updates=60), dispatch)
    begin = p["t_dispatch"] if isinstance(dispatch, Stream) else p["t_start"]
    closed = np.where(p["consumed_by"] >= 0, p.time[p["consumed_by"]], p.end_ns)
    peak = max(int(((begin <= t) & (closed > t)).sum()) for t in begin.tolist())
    assert p.totals["open_jobs_peak"] == peak
    assert p.totals["jobs"] == len(p["client"])


def test_pop_with_download_time_needs_no_other_duration() -> None:
    """Every version takes 1 s to arrive, computing nothing: an update a second."""
    p = plan(Timing(clients=2, download=Duration.constant(1.0), max_updates=3), Broadcast(buffer_size=2))
    assert p.time.tolist() == [1 * NANOSECONDS, 2 * NANOSECONDS, 3 * NANOSECONDS]
