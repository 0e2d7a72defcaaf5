"""The scheduler against a plain Python model; chunks, columns and budgets."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.kernels.scheduler import NANOSECONDS, Duration, Scheduler, Timing
from fedbench.types import Broadcast, Dispatch, Mailbox, Poll, Rounds, Stream, Turns
from tests.kernels import model
from tests.kernels.plans import (
    DETERMINISTIC,
    JOB_COLUMNS,
    ONE_SECOND,
    assert_equal,
    chunk_sizes,
    mixed_speeds,
    plan,
    systems,
    timing_of,
)

# ---- against the model
# ---------------------------------------------------------------------------------------------------------


@DETERMINISTIC
@given(systems(), chunk_sizes, st.data())
def test_rounds_equal_the_model(system: model.System, sizes: list[int], data: st.DataObject) -> None:
    cohort = st.lists(st.integers(0, system.clients - 1), min_size=1, max_size=6).map(tuple)
    selections = tuple(data.draw(st.lists(cohort, min_size=system.updates, max_size=system.updates)))
    got = plan(timing_of(system), Rounds(select="scripted", selections=selections), sizes)
    assert_equal(got, model.rounds(system, selections))
    assert got.totals["downloads"] == got.totals["jobs"]


@DETERMINISTIC
@given(systems(), chunk_sizes, st.integers(1, 4), st.booleans(), st.booleans(), st.data())
def test_stream_equals_the_model(
    system: model.System, sizes: list[int], buffer: int, before: bool, restart_self: bool, data: st.DataObject
) -> None:
    initial = data.draw(st.permutations(range(system.clients)))[: data.draw(st.integers(1, system.clients))]
    replacements: list[int] = []

    def choose(arrived: int, idle: list[int]) -> int:
        replacements.append(arrived if restart_self else data.draw(st.sampled_from(idle)))
        return replacements[-1]

    want = model.stream(system, initial, buffer, before, choose)
    dispatch = Stream(
        concurrency=len(initial),
        buffer_size=buffer,
        restart="self" if restart_self else "resample",
        order="before_update" if before else "after_update",
        initial=tuple(initial),
        replacements=None if restart_self else tuple(replacements),
    )
    assert_equal(plan(timing_of(system), dispatch, sizes), want)


@DETERMINISTIC
@given(systems(), chunk_sizes, st.integers(1, 5), st.booleans())
def test_broadcast_equals_the_model(system: model.System, sizes: list[int], buffer: int, pop: bool) -> None:
    buffer = min(buffer, system.clients) if pop else buffer
    got = plan(timing_of(system), Broadcast(buffer_size=buffer, receive="pop" if pop else "peek"), sizes)
    assert_equal(got, model.broadcast(system, buffer, pop))
    assert got.totals["downloads"] == system.clients * system.updates  # every version but the last


# ---- chunks
# --------------------------------------------------------------------------------------------------------------------

POLICIES: list[Dispatch] = [
    Rounds(),
    Rounds(select="with_replacement", cohort_size=6),
    Stream(concurrency=7, buffer_size=3),
    Stream(concurrency=7, buffer_size=3, restart="self", order="before_update"),
    Broadcast(buffer_size=3),
    Broadcast(buffer_size=3, receive="peek"),
    Mailbox(cohort_size=4),
    Mailbox(cohort_size=4, receive="peek"),
    Mailbox(cohort_size=4, receive="peek", send="on_demand"),
    Poll(cohort_size=3, period_seconds=2.5, max_steps=4),
    Turns(),
    Turns(resend="newest"),
]


@pytest.mark.parametrize("dispatch", POLICIES, ids=repr)
@pytest.mark.parametrize(
    "budget", [{"max_updates": 50}, {"max_updates": 10_000, "max_seconds": 60.0}, {"max_updates": 10_000, "max_jobs": 200}]
)
def test_chunks_do_not_change_the_plan(dispatch: Dispatch, budget: dict[str, Any]) -> None:
    timing = mixed_speeds(10, 4, download=Duration.constant(0.5), **budget)
    whole = plan(timing, dispatch)
    assert len(whole.time) >= 2
    for sizes in ([1], [2], [7, 1, 3]):
        assert plan(timing, dispatch, sizes).key() == whole.key()


@pytest.mark.parametrize("dispatch", POLICIES, ids=repr)
def test_live_bases_cover_what_later_chunks_use(dispatch: Dispatch) -> None:
    p = plan(mixed_speeds(10, 5, download=Duration.constant(0.75), max_updates=60), dispatch, [2, 1, 3])
    later: set[int] = set()
    checked = 0
    for chunk in reversed(p.chunks):
        live, version = chunk.live_bases.tolist(), chunk.first_version + len(chunk.time)
        assert live == sorted(set(live))
        assert {base for base in later if base <= version} <= set(live)
        checked += len([base for base in later if base < version])
        later |= set(chunk.base.tolist())
    assert p.chunks[-1].live_bases.size == 0
    assert checked > 0 or isinstance(dispatch, Rounds)


def test_columns_are_read_only_views_that_keep_their_memory() -> None:
    timing = mixed_speeds(10, 6, max_updates=200)
    names = (*JOB_COLUMNS, "time", "offsets", "entries", "live_bases")
    scheduler = Scheduler(timing, Stream(concurrency=5, buffer_size=3))
    chunk = scheduler.next(150)
    views = {name: getattr(chunk, name) for name in names}
    copies = {name: view.copy() for name, view in views.items()}
    for name, view in views.items():
        assert view.base is not None
        assert np.shares_memory(view, getattr(chunk, name))
        assert view.size > 0
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.setflags(write=True)
    del chunk
    scheduler.next()
    del scheduler
    gc.collect()
    blocks = [np.full(1 << 12, -7, np.int64) for _ in range(100)]  # would land in freed memory
    assert len(blocks) == 100
    for name, view in views.items():
        assert np.array_equal(view, copies[name]), name
    types = {name: view.dtype.name for name, view in views.items()}
    assert {name for name, kind in types.items() if kind == "int32"} == {
        "client",
        "k",
        "base",
        "steps",
        "consumed_by",
        "live_bases",
    }
    assert {name for name, kind in types.items() if kind == "int64"} == set(names) - {
        n for n, kind in types.items() if kind == "int32"
    }


# ---- budgets
# -------------------------------------------------------------------------------------------------------------------


def test_budget_of_updates() -> None:
    p = plan(Timing(clients=2, compute=ONE_SECOND, max_updates=3), Rounds())
    assert (len(p.time), p.ended_by, p.end_ns) == (3, "updates", 3 * NANOSECONDS)


def test_budget_of_time_includes_its_last_instant() -> None:
    timing = {"clients": 2, "compute": Duration.constant(np.array([1, 2])), "max_updates": 100}
    p = plan(Timing(max_seconds=4.0, **timing), Rounds())
    assert (p.time.tolist(), p.ended_by, p.end_ns) == ([2 * NANOSECONDS, 4 * NANOSECONDS], "time", 4 * NANOSECONDS)
    p = plan(Timing(max_seconds=3.75, **timing), Rounds())
    assert (p.time.tolist(), p.ended_by, p.end_ns) == ([2 * NANOSECONDS], "time", round(3.75 * NANOSECONDS))
    assert (p["consumed_by"] == [0, 0, -1, -1]).all()


def test_budget_of_jobs() -> None:
    p = plan(Timing(clients=3, compute=ONE_SECOND, max_updates=100, max_jobs=7), Stream(concurrency=3, restart="self"))
    assert p.ended_by == "jobs"
    assert p.totals["jobs"] == len(p["client"]) >= 7
    assert p.totals["jobs"] <= 7 + 3  # the dispatches of one instant belong together
    scheduler = Scheduler(Timing(clients=3, compute=ONE_SECOND, max_updates=9), Rounds())
    while not scheduler.next(2).done:
        assert scheduler.outcome == "running"
    assert scheduler.outcome == "finished"


def test_start_of_the_clock() -> None:
    p = plan(Timing(clients=1, compute=ONE_SECOND, start_seconds=10.0, max_updates=2), Rounds())
    assert p.time.tolist() == [11 * NANOSECONDS, 12 * NANOSECONDS]
    late = plan(Timing(clients=1, compute=ONE_SECOND, start_seconds=10.0, max_seconds=9.0), Rounds())
    assert (len(late.time), late.ended_by, late.totals["jobs"]) == (0, "time", 0)
