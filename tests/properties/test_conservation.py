"""What holds for every plan, whoever leaves and whatever is lost."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedbench.kernels.random import Purpose, RandomStream
from fedbench.kernels.scheduler import NANOSECONDS, Availability, Timing
from fedbench.types import Broadcast, Dispatch, Mailbox, Poll, Rounds, Stream
from tests.kernels.plans import Plan, plan
from tests.properties.worlds import cases, worlds

HORIZON = 400 * NANOSECONDS


def stays(timing: Timing, client: int) -> list[tuple[int, int]]:
    """The client's windows up to HORIZON in nanoseconds, from the definition."""
    a = timing.availability
    found: list[tuple[int, int]] = []
    if a.kind == "always":
        return [(0, HORIZON)]
    if a.kind == "table":
        period = round((a.period_seconds or 0) * NANOSECONDS)  # type: ignore[operator]
        row = [(round(x * NANOSECONDS), round(y * NANOSECONDS)) for x, y in a.rows[client]]
        found = [(x + n * period, y + n * period) for n in range(HORIZON // period if period else 1) for x, y in row]
    elif a.kind == "periodic":
        found = _periodic(a, timing.seed, client)
    else:
        found = _alternating(a, timing.seed, client)
    joined: list[tuple[int, int]] = []
    for x, y in found:
        if joined and joined[-1][1] == x:
            joined[-1] = (joined[-1][0], y)
        else:
            joined.append((x, y))
    return joined


def _periodic(a: Availability, seed: int, client: int) -> list[tuple[int, int]]:
    period = round(a.period_seconds * NANOSECONDS)  # type: ignore[operator]
    on = round(period * float(a.on_fraction[client]))  # type: ignore[index]
    phase = RandomStream(seed, Purpose.availability, client).uniform(1)[0] if a.phase is None else a.phase[client]  # type: ignore[index]
    begin = -int(phase * period)
    return [(begin + n * period, begin + n * period + on) for n in range(HORIZON // period)]


def _alternating(a: Availability, seed: int, client: int) -> list[tuple[int, int]]:
    on, off = float(a.mean_on_seconds[client]), float(a.mean_off_seconds[client])  # type: ignore[index]
    if off == 0:
        return [(0, HORIZON)]
    random = RandomStream(seed, Purpose.availability, client)
    time = 0 if random.uniform(1)[0] * (on + off) < on else None
    found: list[tuple[int, int]] = []
    while not found or found[-1][1] < HORIZON:
        absence, stay = (
            max(1, round(mean * draw * NANOSECONDS)) for mean, draw in zip((off, on), random.exponential(2), strict=True)
        )
        begin = absence + found[-1][1] if found else (absence if time is None else 0)
        found.append((begin, begin + stay))
        random = RandomStream(seed, Purpose.availability, client, len(found))
    return found


def online(windows: list[tuple[int, int]], begin: int, end: int) -> int:
    return sum(max(0, min(y, end) - max(x, begin)) for x, y in windows)


def jobs_of(p: Plan) -> list[dict[str, int]]:
    columns = {name: column.tolist() for name, column in p.columns.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@cases(150)
@given(worlds(), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_the_laws_of_every_plan(world: tuple[Timing, Dispatch], sizes: list[int]) -> None:
    timing, dispatch = world
    weights = np.arange(1.0, timing.clients + 1)
    p = plan(timing, dispatch, sizes, p=weights)
    assert p.key() == plan(timing, dispatch, p=weights).key(), "the same plan for every cutting into chunks"
    jobs = jobs_of(p)
    every_job_closes_once(p, jobs)
    times_are_in_order(p, jobs)
    the_server_makes_one_update_after_the_other(timing, dispatch, p, jobs)
    windows = [stays(timing, client) for client in range(timing.clients)]
    for job in jobs:
        nobody_works_while_away(timing, dispatch, job, windows[job["client"]])
    clients_do_one_thing_at_a_time(dispatch, jobs, p)


def every_job_closes_once(p: Plan, jobs: list[dict[str, int]]) -> None:
    assert len(jobs) == p.totals["jobs"]
    count = Counter(job["client"] for job in jobs)
    assert sorted((job["client"], job["k"]) for job in jobs) == [(c, k) for c in sorted(count) for k in range(count[c])]
    consumed = {i: u for u, entries in enumerate(p.entries) for i in entries.tolist()}
    assert sum(len(set(entries.tolist())) for entries in p.entries) == len(consumed), "no job is consumed by two updates"
    assert {i: job["consumed_by"] for i, job in enumerate(jobs) if job["consumed_by"] >= 0} == consumed
    assert all(jobs[i]["t_lost"] == -1 for i in consumed), "a consumed job was not lost"
    assert all(len(entries) > 0 for entries in p.entries)


def times_are_in_order(p: Plan, jobs: list[dict[str, int]]) -> None:
    assert (np.diff(p.time) >= 0).all()
    for job in jobs:
        if job["t_lost"] >= 0:
            assert all(job[name] <= job["t_lost"] for name in ("t_dispatch", "t_start", "t_finish"))
            assert job["t_arrive"] == -1
        if job["consumed_by"] >= 0:
            update = p.time[job["consumed_by"]]
            assert 0 <= job["t_dispatch"] <= job["t_start"]
            assert job["t_finish"] <= job["t_arrive"] <= update
            assert job["base"] <= job["consumed_by"]


def the_server_makes_one_update_after_the_other(timing: Timing, dispatch: Dispatch, p: Plan, jobs: list[dict[str, int]]) -> None:
    """An update begins when its jobs are there and the update before is done. Jobs start from the
    newest version that is done or, if versions are sent to everybody, from one that was done when
    it was sent."""
    server = round(timing.server_seconds * NANOSECONDS)
    assert (np.diff(p.time) >= server).all()
    for job in jobs:
        done = int(np.searchsorted(p.time, job["t_dispatch"], side="right"))
        assert job["base"] == done or (job["base"] < done and (server == 0 or isinstance(dispatch, Broadcast | Mailbox)))
        if job["consumed_by"] >= 0:
            assert job["t_arrive"] + server <= p.time[job["consumed_by"]]


def nobody_works_while_away(timing: Timing, dispatch: Dispatch, job: dict[str, int], windows: list[tuple[int, int]]) -> None:
    """Lost: the run lies in one stay. Paused: the time online in it is what it takes."""
    start, finish = job["t_start"], job["t_finish"]
    if start < 0 or finish < start:
        return
    if timing.availability.when_offline == "lost":
        assert online(windows, start, finish) == finish - start
    if not isinstance(dispatch, Poll) and timing.compute.kind == "constant" and finish < HORIZON and job["t_lost"] < 0:
        seconds = np.broadcast_to(timing.compute.a, timing.clients)[job["client"]]
        beside = 0 if timing.gradients.beside is None else int(timing.gradients.beside[job["client"]])
        gradients = timing.gradients.per_step * job["steps"] + beside
        assert online(windows, start, finish) == round(float(seconds) * NANOSECONDS) * gradients


def clients_do_one_thing_at_a_time(dispatch: Dispatch, jobs: list[dict[str, int]], p: Plan) -> None:
    """Runs of a client do not overlap; no more clients work than may."""
    begin = "t_start" if isinstance(dispatch, Broadcast | Mailbox) else "t_dispatch"
    ends = {(job["client"], job["k"]): over(dispatch, job, p) for job in jobs}
    for job in jobs:
        if job["k"] > 0:
            assert job[begin] >= ends[job["client"], job["k"] - 1]
    if isinstance(dispatch, Stream):
        changes: Any = sorted([(job["t_dispatch"], 1) for job in jobs] + [(end, -1) for end in ends.values()])
        assert max(np.cumsum([change for _, change in changes]), default=0) <= dispatch.concurrency


def over(dispatch: Dispatch, job: dict[str, int], p: Plan) -> int:
    """When the job no longer occupied its client."""
    if isinstance(dispatch, Mailbox) and job["t_finish"] >= 0:
        return job["t_finish"]  # the uplink does not occupy it
    if job["t_lost"] >= 0:
        return job["t_lost"]
    if job["t_arrive"] >= 0:
        return job["t_arrive"]
    return job["t_dispatch"] if isinstance(dispatch, Rounds) else p.end_ns  # called off, or open at the end
