"""The scheduler against the plain Python model: scripted rounds, streams that restart themselves,
and rounds of turns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedbench.kernels.random import Purpose, RandomStream
from fedbench.kernels.scheduler import NANOSECONDS, Availability, Duration, Timing
from fedbench.types import Rounds, Stream, Turns
from tests.kernels.plans import Plan, plan
from tests.properties import model
from tests.properties.test_conservation import jobs_of, stays
from tests.properties.worlds import availabilities, cases, quarters

QUARTER = NANOSECONDS // 4
HORIZON_SECONDS = 100.0


@st.composite
def timings(draw: st.DrawFn) -> Timing:
    clients = draw(st.integers(1, 5))
    compute = draw(st.lists(quarters(1, 12), min_size=clients, max_size=clients))
    dropout = draw(st.sampled_from([0.0, 0.0, 0.2, 0.6]))
    return Timing(
        clients=clients,
        seed=draw(st.integers(0, 2**32)),
        compute=Duration.constant(np.array(compute)),
        download=Duration.constant(draw(quarters(0, 3))),
        upload=Duration.constant(draw(quarters(0, 3))),
        availability=draw(availabilities(clients, ("table", "table", "periodic", "alternating"))),
        dropout=dropout,
        start_seconds=draw(quarters(0, 6)),
        max_updates=draw(st.integers(1, 8)),
        max_seconds=HORIZON_SECONDS,
        max_jobs=model.CAP - 50,
    )


slow_servers = st.just(0.0) | quarters(1, 12)


def world_of(timing: Timing) -> model.World:
    def drop(client: int, k: int) -> float | None:
        lost, share = RandomStream(timing.seed, Purpose.loss, client, k).uniform(2)
        return float(share) if lost < timing.dropout else None

    a = timing.availability
    windows = [stays(timing, client) for client in range(timing.clients)]
    seconds = timing.compute.rows or np.atleast_1d(timing.compute.a)[:, None]
    return model.World(
        windows=[[(on, off) for on, off in row if off > 0] for row in windows],
        paused=a.when_offline == "paused",
        compute=[[round(float(s) * NANOSECONDS) for s in row] for row in seconds],
        download=round(float(timing.download.a) * NANOSECONDS),
        upload=round(float(timing.upload.a) * NANOSECONDS),
        drop=drop,
        start=round(timing.start_seconds * NANOSECONDS),
        updates=timing.max_updates,
        server=round(timing.server_seconds * NANOSECONDS),
    )


def assert_equal(got: Plan, world: model.World, stalled: int | None) -> None:
    """Exactly the same jobs and updates; a plan that a cap ended early is a beginning of the
    model's."""
    keys = list(zip(got["client"].tolist(), got["k"].tolist(), strict=True))
    updates = [(time, [keys[i] for i in entries]) for time, entries in zip(got.time.tolist(), got.entries, strict=True)]
    if got.ended_by in ("jobs", "time"):
        assert updates == world.done[: len(updates)]
        return
    assert updates == world.done[: world.updates]
    assert (got.ended_by == "stalled") == (stalled is not None)
    if stalled is not None:
        assert got.end_ns == stalled
    expected = {key: (job.base, *job.times()) for key, job in world.jobs.items()}
    names = ("base", "t_dispatch", "t_start", "t_finish", "t_arrive", "t_lost")
    assert {(job["client"], job["k"]): tuple(job[n] for n in names) for job in jobs_of(got)} == expected


sizes = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@cases(100)
@given(timings(), sizes, st.none() | st.integers(1, 30), st.integers(0, 2), st.data())
def test_rounds_equal_the_model(timing: Timing, sizes: list[int], deadline: int | None, over: int, data: st.DataObject) -> None:
    timing = replace(timing, server_seconds=data.draw(slow_servers))
    cohort = st.lists(st.integers(0, timing.clients - 1), min_size=over + 1, max_size=over + 5).map(tuple)
    few = data.draw(st.lists(cohort, min_size=1, max_size=6))
    script: Any = tuple(few[t % len(few)] for t in range(model.CAP + 2))
    dispatch = Rounds(select="scripted", selections=script, deadline_seconds=deadline and deadline / 4, over_selection=over)
    world = world_of(timing)
    stalled = model.rounds(world, script, deadline and deadline * QUARTER, over)
    assert_equal(plan(timing, dispatch, sizes), world, stalled)


@cases(100)
@given(timings(), sizes, st.integers(1, 4), st.booleans(), st.data())
def test_self_restarting_streams_equal_the_model(
    timing: Timing, sizes: list[int], buffer: int, before_update: bool, data: st.DataObject
) -> None:
    timing = replace(timing, server_seconds=data.draw(slow_servers))
    initial = tuple(data.draw(st.permutations(range(timing.clients)))[: data.draw(st.integers(1, timing.clients))])
    order: Any = "before_update" if before_update else "after_update"
    dispatch = Stream(concurrency=len(initial), initial=initial, buffer_size=buffer, restart="self", order=order)
    world = world_of(timing)
    stalled = model.stream(world, initial, buffer, before_update)
    assert_equal(plan(timing, dispatch, sizes), world, stalled)


@cases(200)
@given(timings(), sizes, st.booleans(), st.booleans(), st.data())
def test_turns_equal_the_model(
    timing: Timing, sizes: list[int], newest: bool, are_always_there: bool, data: st.DataObject
) -> None:
    per_job = st.lists(quarters(1, 8), min_size=1, max_size=4).map(lambda row: row * model.CAP)
    rows = data.draw(st.lists(per_job, min_size=timing.clients, max_size=timing.clients))
    timing = replace(timing, compute=Duration.table(rows))
    if are_always_there:
        timing = replace(timing, availability=Availability())
    world = world_of(timing)
    stalled = model.turns(world, newest)
    got = plan(timing, Turns(resend="newest" if newest else "turn"), sizes)
    assert_equal(got, world, stalled)
    if got.ended_by in ("updates", "stalled"):
        assert got.totals["downloads"] == world.sent
        assert sum(len(chunk.resumed) for chunk in got.chunks) == len(world.jobs) - world.sent
