"""Mailbox and Poll against the plain Python model, what they draw and count, and their errors."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.errors import UsageError
from fedbench.kernels.scheduler import NANOSECONDS, Duration, Timing
from fedbench.types import Dispatch, Mailbox, Poll, Rounds
from tests.kernels import model
from tests.kernels.plans import (
    DETERMINISTIC,
    ONE_SECOND,
    Plan,
    assert_equal,
    chi_square,
    chunk_sizes,
    mixed_speeds,
    plan,
    selected,
    systems,
    timing_of,
)

MAILBOXES = [
    Mailbox(cohort_size=4, send=send, receive=receive) for send in ("continuous", "on_demand") for receive in ("pop", "peek")
]  # type: ignore[arg-type]
STEP = Duration.constant(1.0, per_step=True)


# ---- against the model
# ---------------------------------------------------------------------------------------------------------


@DETERMINISTIC
@given(systems(), chunk_sizes, st.booleans(), st.booleans(), st.data())
def test_mailbox_equals_the_model(
    system: model.System, sizes: list[int], pop: bool, continuous: bool, data: st.DataObject
) -> None:
    if not pop and continuous:  # an endless instant otherwise
        system = replace(system, compute=[[max(1, time) for time in row] for row in system.compute])
    cohort = st.lists(st.integers(0, system.clients - 1), min_size=1, max_size=6).map(tuple)
    selections = tuple(data.draw(st.lists(cohort, min_size=system.updates, max_size=system.updates)))
    dispatch = Mailbox(send="continuous" if continuous else "on_demand", receive="pop" if pop else "peek", selections=selections)
    got = plan(timing_of(system), dispatch, sizes)
    assert_equal(got, model.mailbox(system, selections, pop, continuous))
    assert got.totals["downloads"] == system.clients * system.updates  # every version but the last


@DETERMINISTIC
@given(systems(), chunk_sizes, st.integers(1, 9), st.integers(1, 4), st.data())
def test_poll_equals_the_model(system: model.System, sizes: list[int], period: int, max_steps: int, data: st.DataObject) -> None:
    system = replace(system, per_step=True)
    cohort = st.lists(st.integers(0, system.clients - 1), min_size=1, unique=True).map(tuple)
    selections = tuple(data.draw(st.lists(cohort, min_size=system.updates, max_size=system.updates)))
    dispatch = Poll(period_seconds=period / 4, max_steps=max_steps, selections=selections)
    got = plan(timing_of(system), dispatch, sizes)
    assert_equal(got, model.poll(system, selections, period, max_steps))
    assert got.totals["downloads"] == got.totals["jobs"]
    assert got.totals["open_jobs_peak"] == system.clients


# ---- what is drawn
# -------------------------------------------------------------------------------------------------------------


def test_mailbox_draws_with_replacement_and_uniformly() -> None:
    clients = selected(plan(Timing(clients=10, compute=ONE_SECOND, max_updates=400), Mailbox(cohort_size=25)))
    assert clients.shape == (400, 25)
    assert chi_square(np.bincount(clients.ravel(), minlength=10), np.full(10, 0.1)) > 1e-6
    per_round = np.stack([np.bincount(row, minlength=10) for row in clients])
    assert abs(per_round.var() / 2.25 - 1) < 0.1  # multinomial: n q (1 - q)


def test_poll_draws_distinct_clients_and_uniformly() -> None:
    p = plan(Timing(clients=5, compute=STEP, max_updates=3000), Poll(cohort_size=2, period_seconds=3.0, max_steps=2))
    pairs = Counter(tuple(sorted(row)) for row in selected(p).tolist())
    assert len(pairs) == 10
    assert all(a != b for a, b in pairs)
    assert chi_square(np.array(list(pairs.values())), np.full(10, 0.1)) > 1e-6


@pytest.mark.parametrize(
    ("dispatch", "rounds"),
    [
        (Mailbox(cohort_size=5), Rounds(select="with_replacement", cohort_size=5)),
        (Poll(cohort_size=5, period_seconds=0.75, max_steps=3), Rounds(select="without_replacement", cohort_size=5)),
    ],
)
def test_cohort_t_depends_on_seed_and_t_only(dispatch: Dispatch, rounds: Rounds) -> None:
    """The same clients as in round t of Rounds, whatever the durations."""
    timing = mixed_speeds(12, 3, max_updates=50)
    a, b = selected(plan(timing, dispatch)), selected(plan(replace(timing, compute=STEP), rounds))
    assert np.array_equal(np.sort(a), np.sort(b))
    assert not np.array_equal(np.sort(a), np.sort(selected(plan(replace(timing, seed=4), dispatch))))


# ---- what is counted
# -----------------------------------------------------------------------------------------------------------


def closed_at(p: Plan) -> Any:
    """When each job was consumed, or overwritten by its client's next result, or the plan ended."""
    finish = {(c, k): t for c, k, t in zip(p["client"].tolist(), p["k"].tolist(), p["t_finish"].tolist(), strict=True)}
    overwritten = [finish.get((c, k + 1), p.end_ns) for c, k in zip(p["client"].tolist(), p["k"].tolist(), strict=True)]
    return np.where(p["consumed_by"] >= 0, p.time[p["consumed_by"]], np.minimum(overwritten, p.end_ns))


@pytest.mark.parametrize("dispatch", MAILBOXES, ids=repr)
def test_totals_of_mailbox_by_counting(dispatch: Mailbox) -> None:
    p = plan(mixed_speeds(8, 3, max_updates=60), dispatch, [3])
    begin, closed = p["t_start"], closed_at(p)
    assert p.totals["open_jobs_peak"] == max(int(((begin <= t) & (closed > t)).sum()) for t in begin.tolist())
    kept = [{u, *p["base"][(begin < time) & (closed >= time)].tolist()} for u, time in enumerate(p.time.tolist())]
    assert p.totals["messages_peak"] == max(map(len, kept))
    discarded = (p["consumed_by"] < 0) & (closed < p.end_ns)
    assert (p["t_arrive"][discarded] == -1).all()
    assert discarded.any() == (dispatch.send == "continuous")
    assert p.totals["downloads"] == 8 * 60


def test_on_demand_clients_wait_until_their_result_is_taken() -> None:
    p = plan(mixed_speeds(8, 3, max_updates=60), Mailbox(cohort_size=3, send="on_demand", receive="peek"))
    arrive = {(c, k): t for c, k, t in zip(p["client"].tolist(), p["k"].tolist(), p["t_arrive"].tolist(), strict=True)}
    taken = [arrive[c, k - 1] - NANOSECONDS // 10 for c, k in arrive if k > 0]  # every upload takes 0.1 s
    assert sorted(taken) == sorted(t for t, k in zip(p["t_start"].tolist(), p["k"].tolist(), strict=True) if k > 0)


def test_mailbox_with_everybody_is_synchronous() -> None:
    timing = Timing(clients=4, compute=Duration.constant(np.array([1, 2, 3, 1.5])), max_updates=10)
    mailbox, rounds = plan(timing, Mailbox(selections=((0, 1, 2, 3),) * 10)), plan(timing, Rounds())
    assert mailbox.time.tolist() == rounds.time.tolist()
    assert not np.concatenate(mailbox.staleness).any()


def test_polls_lie_on_multiples_of_the_period() -> None:
    """Uploads of 2.5 periods: every third multiple; a start of the clock shifts them all."""
    timing = Timing(clients=6, compute=STEP, upload=Duration.constant(5.0), start_seconds=1.0, max_updates=4)
    p = plan(timing, Poll(cohort_size=2, period_seconds=2.0, max_steps=3))
    assert p.time.tolist() == [(1 + 2 + 6 * t + 5) * NANOSECONDS for t in range(4)]


def test_jobs_never_polled_show_their_steps() -> None:
    """One poll at 2.5 s; the others had done two steps of at most three by then, or at the budget's
    end, two of two."""
    timing = Timing(clients=3, compute=STEP, max_updates=1)
    p = plan(timing, Poll(cohort_size=1, period_seconds=2.5, max_steps=3))
    assert p["steps"].tolist() == [2, 2, 2]
    assert p["t_finish"].tolist() == [round(2.5 * NANOSECONDS)] * 3
    assert (p["t_arrive"] >= 0).tolist() == [True, False, False]
    p = plan(replace(timing, max_seconds=4.5), Poll(cohort_size=1, period_seconds=5.0, max_steps=2))
    assert (p.ended_by, p["steps"].tolist(), p["t_finish"].tolist()) == ("time", [2] * 3, [2 * NANOSECONDS] * 3)


def test_pop_with_download_time_needs_no_other_duration() -> None:
    p = plan(Timing(clients=2, download=Duration.constant(1.0), max_updates=3), Mailbox(selections=((0, 1),) * 3))
    assert p.time.tolist() == [1 * NANOSECONDS, 2 * NANOSECONDS, 3 * NANOSECONDS]


# ---- errors
# --------------------------------------------------------------------------------------------------------------------

THREE = {"clients": 3, "compute": STEP, "max_updates": 10}
POLL = Poll(cohort_size=1, period_seconds=1.0, max_steps=1)
REFUSED: list[tuple[str, dict[str, Any], Dispatch]] = [
    ("mailbox: cohort_size must be >= 1, got 0", {}, Mailbox()),
    ("mailbox: send must be one of continuous, on_demand, got 'no'", {}, Mailbox(cohort_size=1, send="no")),  # type: ignore[arg-type]
    ("mailbox: receive must be one of pop, peek, got 'no'", {}, Mailbox(cohort_size=1, receive="no")),  # type: ignore[arg-type]
    ("mailbox: selections has 1 rounds, round 1 was needed", {}, Mailbox(selections=((0,),))),
    ("mailbox: selections of round 0 name client 3, there are 3", {}, Mailbox(selections=((3,),))),
    ("mailbox: selections of round 0 are empty", {}, Mailbox(selections=((),))),
    ("mailbox: download times must be constant", {"download": Duration.exponential(1)}, Mailbox(cohort_size=1)),
    ("zero cycle time: job 0 of client 0", {"compute": Duration.constant(0.0)}, Mailbox(cohort_size=1)),
    ("zero cycle time", {"compute": Duration.constant(0.0)}, Mailbox(cohort_size=1, receive="peek", send="on_demand")),
    (
        "mailbox: job 0 of client 0 takes no time; with receive = peek and send = continuous compute must be > 0",
        {"compute": Duration.constant(0.0), "upload": ONE_SECOND},
        Mailbox(cohort_size=1, receive="peek"),
    ),
    ("poll: compute durations must be per step, got durations of whole jobs", {"compute": ONE_SECOND}, POLL),
    ("poll: cohort_size must be >= 1, got 0", {}, replace(POLL, cohort_size=0)),
    ("poll: cohort_size 4 without replacement is more than the 3 clients", {}, replace(POLL, cohort_size=4)),
    ("poll: period_seconds must be > 0, got 0", {}, replace(POLL, period_seconds=0.0)),
    ("poll: period_seconds: must be between 0 and 1e9 seconds, got -1", {}, replace(POLL, period_seconds=-1.0)),
    ("poll: max_steps must be >= 1, got 0", {}, replace(POLL, max_steps=0)),
    ("poll: selections of poll 0 name client 1 twice", {}, replace(POLL, selections=((1, 1),))),
    ("poll: selections has 1 polls, poll 1 was needed", {}, replace(POLL, selections=((1,),))),
    ("poll: the steps of a job are known at its poll only; .* got steps=2", {}, replace(POLL, steps=2)),
]


@pytest.mark.parametrize(("message", "changes", "dispatch"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(message: str, changes: dict[str, Any], dispatch: Dispatch) -> None:
    with pytest.raises(UsageError, match=message):
        plan(Timing(**(THREE | changes)), dispatch)


def test_repeated_draws_of_one_job_do_not_repeat_its_row() -> None:
    p = plan(Timing(clients=2, compute=ONE_SECOND, max_updates=1), Mailbox(selections=((1, 1, 0, 1),)))
    assert [list(group) for _, group in itertools.groupby(selected(p)[0].tolist())] == [[0], [1, 1, 1]]
    assert len(set(p.entries[0].tolist())) == 2
