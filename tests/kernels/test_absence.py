"""Availability, drop-out and external selection through the front door: what is drawn, what is
said, what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedbench.errors import UsageError
from fedbench.kernels.scheduler import NANOSECONDS, Availability, Duration, Scheduler, Timing
from fedbench.types import Broadcast, Dispatch, Mailbox, Poll, Rounds, Stream, Turns
from tests.kernels.plans import ONE_SECOND, Plan, chi_square, mixed_speeds, plan

HALF = Availability(kind="periodic", period_seconds=10.0, on_fraction=0.5, phase=np.array([0.0, 0.5] * 5))
"""The even ones of ten clients are there on [0, 5), [10, 15), .., the odd ones on [5, 10), .."""


def there(client: int, time_ns: int) -> bool:
    return (time_ns // (5 * NANOSECONDS)) % 2 == client % 2


@pytest.mark.parametrize("dispatch", [Rounds(select="without_replacement", cohort_size=2), Stream(concurrency=2)])
def test_draws_are_uniform_among_those_who_are_there(dispatch: Dispatch) -> None:
    p = plan(Timing(clients=10, seed=1, compute=Duration.constant(0.3), availability=HALF, max_updates=8000), dispatch)
    assert all(there(c, t) for c, t in zip(p["client"].tolist(), p["t_dispatch"].tolist(), strict=True))
    for half in (0, 1):
        counts = np.bincount(p["client"], minlength=10)[half::2]
        assert chi_square(counts, np.full(5, 0.2)) > 1e-6


@pytest.mark.parametrize(
    "dispatch",
    [
        Rounds(select="without_replacement", cohort_size=4),
        Rounds(select="with_replacement", cohort_size=4),
        Stream(concurrency=4, buffer_size=3),
        Stream(concurrency=4, buffer_size=3, restart="self", order="before_update"),
        Broadcast(buffer_size=3),
        Mailbox(cohort_size=3),
        Poll(cohort_size=3, period_seconds=2.5, max_steps=4),
        Turns(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("when", ["lost", "paused"])
def test_windows_without_an_end_change_nothing(dispatch: Dispatch, when: Any) -> None:
    """Always there, said in three ways: bit for bit the plan of today."""
    timing = mixed_speeds(10, 4, max_updates=50)
    key = plan(timing, dispatch).key()
    for availability in (
        Availability(kind="periodic", period_seconds=3.0, on_fraction=1.0, when_offline=when),
        Availability(kind="alternating", mean_on_seconds=3.0, mean_off_seconds=0.0, when_offline=when),
        Availability(kind="table", rows=[[(0.0, 4.0), (4.0, 1e9)]] * 10, when_offline=when),
    ):
        assert plan(replace(timing, availability=availability), dispatch).key() == key


def lost_share(p: Plan) -> float:
    return float((p["t_lost"] >= 0).mean())


def test_dropout_per_client() -> None:
    q = np.linspace(0, 1, 5)
    p = plan(Timing(clients=5, compute=ONE_SECOND, dropout=q, max_updates=2000), Rounds())
    for client in range(5):
        assert abs(float((p["t_lost"][p["client"] == client] >= 0).mean()) - q[client]) < 0.06
    run = (p["t_lost"] - p["t_start"])[p["t_lost"] >= 0] / NANOSECONDS
    assert abs(run.mean() - 0.5) < 5 / math.sqrt(12 * len(run))


def test_dropout_of_a_job_depends_on_client_and_k_only() -> None:
    timing = Timing(clients=4, seed=8, compute=ONE_SECOND, dropout=0.4, max_updates=30)
    fates = [
        {(c, k): lost >= 0 for c, k, lost in zip(p["client"].tolist(), p["k"].tolist(), p["t_lost"].tolist(), strict=True)}
        for p in (plan(timing, Rounds()), plan(timing, Stream(concurrency=2)), plan(timing, Broadcast(receive="peek")))
    ]
    common = set(fates[0]) & set(fates[1]) & set(fates[2])
    assert len(common) > 20
    assert all(fates[0][key] == fates[1][key] == fates[2][key] for key in common)


def test_a_million_clients() -> None:
    """Most are away at any time; the draws find those who are not."""
    availability = Availability(kind="alternating", mean_on_seconds=60.0, mean_off_seconds=600.0)
    timing = Timing(clients=1_000_000, compute=Duration.exponential(30.0), availability=availability, max_updates=300)
    p = plan(timing, Stream(concurrency=1000, buffer_size=100))
    assert p.ended_by == "updates"
    assert 0.2 < lost_share(p) < 0.4  # 30 / (30 + 60): a run outlasts the stay


def test_external_selection() -> None:
    timing = Timing(clients=10, compute=ONE_SECOND, availability=HALF, max_updates=8)
    scheduler = Scheduler(timing, Rounds(select="external"))
    chosen = []
    while not scheduler.next().done:
        assert scheduler.awaiting_selection
        assert scheduler.available.dtype == np.int32
        chosen.append(scheduler.available[:2].tolist())
        scheduler.select(scheduler.available[:2])
    assert chosen == [[0, 2]] * 5 + [[1, 3]] * 3
    assert scheduler.outcome == "finished"


UNFIT: list[tuple[list[Any], str]] = [([], "at least one"), ([10], "got client 10"), ([2**40], "there are 10"), ([0.5], "whole")]


@pytest.mark.parametrize(("clients", "message"), UNFIT)
def test_selections_that_are_refused(clients: list[Any], message: str) -> None:
    scheduler = Scheduler(Timing(clients=10, compute=ONE_SECOND), Rounds(select="external"))
    with pytest.raises(UsageError, match="nothing is asked"):
        scheduler.select([1])
    scheduler.next()
    with pytest.raises(UsageError, match=message):
        scheduler.select(clients)
    with pytest.raises(UsageError, match="answer with select"):
        scheduler.next()


def test_stalled_when_everybody_has_left() -> None:
    gone = Availability(kind="table", rows=[[(0.0, 3.0)]] * 15)
    for dispatch in (
        Rounds(),
        Stream(concurrency=5),
        Broadcast(),
        Mailbox(selections=(tuple(range(15)),) * 99),
        Poll(cohort_size=15, period_seconds=2.0, max_steps=3),
    ):
        scheduler = Scheduler(
            Timing(clients=15, compute=Duration.constant(2.0, per_step=True), availability=gone, max_updates=99), dispatch
        )
        scheduler.next()
        assert scheduler.outcome == "stalled", dispatch
        assert scheduler.stalled_message.startswith("stalled before update ")
        assert "waiting for clients [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] and 5 more, at " in scheduler.stalled_message, dispatch


PERIODIC = Availability(kind="periodic", period_seconds=10.0, on_fraction=0.5)
TABLE = Availability(kind="table", rows=[[(0.0, 1.0)]] * 3)
REFUSED: list[tuple[str, dict[str, Any], Dispatch]] = [
    ("kind must be one of always, .* got 'periodc'; did you mean 'periodic'", {"availability": Availability(kind="periodc")}, Rounds()),  # type: ignore[arg-type]
    ("availability: phase says nothing about kind 'alternating'", {"availability": Availability(kind="alternating", phase=0.5)}, Rounds()),
    ("rows says nothing about kind 'always', which takes no options", {"availability": replace(TABLE, kind="always")}, Rounds()),
    ("when_offline must be one of lost, paused, got 'gone'", {"availability": replace(PERIODIC, when_offline="gone")}, Rounds()),  # type: ignore[arg-type]
    ("periodic needs period_seconds and on_fraction", {"availability": Availability(kind="periodic")}, Rounds()),
    ("alternating needs mean_on_seconds", {"availability": Availability(kind="alternating")}, Rounds()),
    ("on_fraction must be in [(]0, 1[]], got 0 ", {"availability": replace(PERIODIC, on_fraction=0.0)}, Rounds()),
    ("expected 1 or 3 values, one per client, got 2", {"availability": replace(PERIODIC, phase=np.zeros(2))}, Rounds()),
    ("availability: expected 3 rows, one per client, got 2", {"availability": replace(TABLE, rows=[[(0.0, 1.0)]] * 2)}, Rounds()),
    ("client 1: there are none, so it would never be there", {"availability": replace(TABLE, rows=[[(0.0, 1.0)], [], []])}, Rounds()),
    (r"rows\[0\]\[0\]: expected a sequence, got float", {"availability": replace(TABLE, rows=[(0.0, 1.0)] * 3)}, Rounds()),  # type: ignore[list-item]
    ("a table has one period_seconds for all clients, got 3", {"availability": replace(TABLE, period_seconds=np.ones(3))}, Rounds()),
    ("dropout: probability must be between 0 and 1, got 1.5", {"dropout": 1.5}, Rounds()),
    ("dropout: the probability is 1 for every client", {"dropout": 1.0}, Stream(concurrency=1)),
    ("dropout: expected 1 or 3 values", {"dropout": np.full(2, 0.5)}, Rounds()),
    ("rounds: deadline_seconds must be at least a nanosecond, got 0", {}, Rounds(deadline_seconds=0.0)),
    ("rounds: deadline_seconds must be at least a nanosecond, got nan", {}, Rounds(deadline_seconds=math.nan)),
    ("cohort_size 4 without replacement is more", {}, Rounds(select="without_replacement", cohort_size=2, over_selection=2)),
    ("over_selection 3 leaves nobody of the 3 clients of round 0", {}, Rounds(over_selection=3)),
]  # fmt: skip


@pytest.mark.parametrize(("message", "changes", "dispatch"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(message: str, changes: dict[str, Any], dispatch: Dispatch) -> None:
    with pytest.raises(UsageError, match=message):
        plan(Timing(**({"clients": 3, "compute": ONE_SECOND, "max_updates": 10} | changes)), dispatch)
