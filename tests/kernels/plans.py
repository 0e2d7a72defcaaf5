"""Whole plans for the tests: planned in chunks, put together, compared with the plain Python
model."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.stats
from hypothesis import settings
from hypothesis import strategies as st

from fedbench.kernels.scheduler import NANOSECONDS, Chunk, Duration, LocalSteps, Scheduler, Timing
from fedbench.types import Dispatch
from tests.kernels import model

QUARTER = NANOSECONDS // 4
ONE_SECOND = Duration.constant(1.0)
JOB_COLUMNS = ("client", "k", "base", "steps", "consumed_by", "t_dispatch", "t_start", "t_finish", "t_arrive", "t_stop", "t_lost")
DETERMINISTIC = settings(derandomize=True, deadline=None, max_examples=150, database=None)


@dataclass
class Plan:
    """All chunks of a plan behind one another."""

    columns: dict[str, npt.NDArray[Any]]
    time: npt.NDArray[np.int64]
    entries: list[npt.NDArray[np.int64]]
    ended_by: str
    end_ns: int
    totals: dict[str, int]
    chunks: list[Chunk] = field(repr=False)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.columns[name]

    @property
    def staleness(self) -> list[npt.NDArray[np.int64]]:
        return [u - self["base"][entries].astype(np.int64) for u, entries in enumerate(self.entries)]

    def key(self) -> list[Any]:
        """Everything but the chunks, comparable."""
        columns = [self.columns[name].tolist() for name in JOB_COLUMNS]
        return [columns, self.time.tolist(), [e.tolist() for e in self.entries], self.ended_by, self.end_ns, self.totals]


def plan(timing: Timing, dispatch: Dispatch, sizes: Sequence[int] = (1 << 30,), p: npt.NDArray[np.float64] | None = None) -> Plan:
    scheduler, chunks, entries, jobs = Scheduler(timing, dispatch, p=p), [], [], 0
    for size in itertools.cycle(sizes):
        assert scheduler.outcome == "running"
        assert scheduler.ended_by == ""
        chunk = scheduler.next(size)
        assert chunk.first_version == len(entries)
        assert len(chunk.time) <= size
        entries += [chunk.entries[a:b] + jobs for a, b in itertools.pairwise(chunk.offsets.tolist())]
        jobs += len(chunk.client)
        chunks.append(chunk)
        if chunk.done:
            break
    columns = {name: np.concatenate([getattr(c, name) for c in chunks]) for name in JOB_COLUMNS}
    time = np.concatenate([c.time for c in chunks])
    return Plan(columns, time, entries, scheduler.ended_by, scheduler.end_ns, scheduler.totals, chunks)


@st.composite
def systems(draw: st.DrawFn) -> model.System:
    """Up to 5 clients, times of a few quarters of a second: most instants have ties."""
    clients, updates = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    upload = draw(st.lists(st.integers(0, 3), min_size=clients, max_size=clients))
    download = draw(st.lists(st.integers(0, 3), min_size=clients, max_size=clients))
    compute, steps = [], []
    for i in range(clients):
        shortest = 0 if upload[i] else 1  # a job takes time after its start
        compute.append(draw(st.lists(st.integers(shortest, 6), min_size=1, max_size=4)) * 60)
        steps.append(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)) * 60)
    return model.System(compute, steps, download, upload, draw(st.booleans()), updates)


def timing_of(system: model.System) -> Timing:
    return Timing(
        clients=system.clients,
        compute=Duration.table([[q / 4 for q in row] for row in system.compute], per_step=system.per_step),
        download=Duration.constant(np.array(system.download) / 4),
        upload=Duration.constant(np.array(system.upload) / 4),
        steps=LocalSteps(rows=system.steps),
        max_updates=system.updates,
    )


def assert_equal(got: Plan, want: model.Timeline) -> None:
    keys = list(zip(got["client"].tolist(), got["k"].tolist(), strict=True))
    assert got.ended_by == "updates"
    assert got.time.tolist() == [time * QUARTER for time, _ in want.updates]
    assert [[keys[i] for i in entries] for entries in got.entries] == [jobs for _, jobs in want.updates]
    assert sorted(keys) == sorted(want.jobs)
    consumed_by = {key: u for u, (_, jobs) in enumerate(want.updates) for key in jobs}
    for row, key in enumerate(keys):
        job = want.jobs[key]
        instants = (job.t_dispatch, job.t_start, job.t_finish, job.t_arrive, job.t_stop)
        times = (t if t == model.NEVER else t * QUARTER for t in instants)
        expected = (job.base, job.steps, consumed_by.get(key, -1), *times, model.NEVER)  # and never lost
        assert tuple(int(got[name][row]) for name in JOB_COLUMNS[2:]) == expected, key
    assert got.totals["jobs"] == len(want.jobs)


chunk_sizes = st.lists(st.integers(1, 4), min_size=1, max_size=4)


def mixed_speeds(clients: int, seed: int, **changes: Any) -> Timing:
    means = np.random.default_rng(seed).uniform(0.5, 8.0, clients)
    return Timing(
        clients=clients,
        seed=seed,
        compute=Duration.exponential(means, per_step=True),
        upload=Duration.constant(0.1),
        **changes,
    )


def selected(p: Plan) -> npt.NDArray[np.int32]:
    return np.stack([p["client"][entries] for entries in p.entries])


def chi_square(counts: npt.NDArray[Any], expected: npt.NDArray[Any]) -> float:
    return float(scipy.stats.chisquare(counts, expected * counts.sum()).pvalue)
