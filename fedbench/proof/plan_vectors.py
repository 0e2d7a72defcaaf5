"""Plan vectors: the scheduler's plan is compared with a timeline that was made by hand."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench.errors import UsageError
from fedbench.kernels.scheduler import NANOSECONDS, Chunk, Duration, LocalSteps, Scheduler, Timing
from fedbench.options import hints
from fedbench.proof.compare import Mismatch, Unsupported
from fedbench.proof.forms import Checked, Form, JobForm, Tolerance
from fedbench.types import Broadcast, Dispatch, Mailbox, Poll, Rounds, Stream, Turns

Key = tuple[int, int]  # client, k
TIMES = ("t_dispatch", "t_start", "t_finish", "t_arrive")
COLUMNS = ("client", "k", "base", "steps", "consumed_by", *TIMES, "t_stop")
POLICIES: dict[str, tuple[type[Dispatch], tuple[str, ...]]] = {
    "rounds": (Rounds, ("selections",)),
    "stream": (Stream, ("concurrency", "buffer", "restart", "dispatch", "initial")),
    "broadcast": (Broadcast, ("buffer", "receive")),
    "mailbox": (Mailbox, ("send", "receive", "selections")),
    "poll": (Poll, ("period", "max_steps", "selections")),
    "turns": (Turns, ()),
}
"""Our policies, and what a vector must say of each."""
OPTIONS = {"buffer": "buffer_size", "dispatch": "order", "period": "period_seconds"}
"""Our names of options that have another one in vectors."""


def dispatch_of(policy: Mapping[str, object], clients: int) -> Dispatch:
    """Returns a vector's policy as ours; null is a default. Unsupported if its kind, or the value
    of an option, is one that we do not know, and ValueError if it lacks an option."""
    policy = {name: value for name, value in policy.items() if value is not None}
    kind, queue = str(policy["kind"]), policy.get("queue", "none")
    if kind not in POLICIES:
        raise Unsupported(f"policy {kind!r}")
    options = options_of(kind, policy)
    if queue not in ("none", "fifo"):
        raise Unsupported(f"{kind} with queue {queue!r}")
    if queue == "fifo":
        options["routing"] = (1 / clients,) * clients
    if options.get("restart") == "self":
        options["replacements"] = None
    if kind == "rounds":
        options["select"] = "scripted"
    make: Callable[..., Dispatch] = POLICIES[kind][0]
    return make(**options)


def options_of(kind: str, policy: Mapping[str, object]) -> dict[str, object]:
    """Returns the options of a policy by our names. Keys that are none are left out."""
    (cls, needed), options = POLICIES[kind], dict[str, object]()
    if policy.get("restart") == "resample":
        needed += ("replacements",)
    if missing := [name for name in needed if name not in policy]:
        raise ValueError(f"policy {kind}: expected {', '.join(missing)}, found none")
    for name, value in policy.items():
        hint = hints(cls).get(OPTIONS.get(name, name))
        if typing.get_origin(hint) is Literal and value not in typing.get_args(hint):
            raise Unsupported(f"{kind} with {name} {value!r}")
        if hint is not None:
            options[OPTIONS.get(name, name)] = value
    return options


Seconds = float | list[float]


class Schedule(Form):
    clients: int
    policy: dict[str, object]
    compute: list[list[float]]
    download: Seconds
    upload: Seconds
    steps: int | list[int | list[int]] | None = None
    updates: int

    def read(self) -> tuple[Timing, Dispatch]:
        """Returns our Timing and Dispatch. Unsupported if the policy is not implemented."""
        dispatch = dispatch_of(self.policy, self.clients)
        polled = isinstance(dispatch, Poll)  # steps are found at the poll, and `compute` is of one step
        download, upload = (np.array(s) if isinstance(s, list) else s for s in (self.download, self.upload))
        timing = Timing(
            clients=self.clients,
            compute=Duration.table(self.compute, per_step=polled),
            download=Duration.constant(download),
            upload=Duration.constant(upload),
            steps=LocalSteps(values=1) if polled else self.local_steps(),
            max_updates=self.updates,
        )
        return timing, dispatch

    def local_steps(self) -> LocalSteps:
        """Returns the steps of every job of every client. They are given as one number for all, or
        one per client, each of which may be a list of one number per job."""
        if self.steps is None:
            raise ValueError("schedule: expected steps, found none")
        per_client = self.steps if isinstance(self.steps, list) else [self.steps] * self.clients
        return LocalSteps(
            rows=[v if isinstance(v, list) else [v] * len(row) for v, row in zip(per_client, self.compute, strict=True)]
        )


class TimedJob(JobForm):
    k: int
    fate: str | None = None
    t_dispatch: float | None
    t_start: float | None
    t_finish: float | None
    t_arrive: float | None
    t_stop: float | None = None


class UpdateForm(Form):
    time: float
    version: int
    jobs: list[int]
    staleness: list[int]


class Expected(Form):
    jobs: list[TimedJob]
    updates: list[UpdateForm]


class PlanVector(Checked):
    schedule: Schedule
    expected: Expected
    tolerance: Tolerance

    def check(self, precision: str) -> float:
        """Returns 0.0 if the plan is exactly the expected one, however it is cut into chunks."""
        try:
            timeline = play(self.schedule, 1 << 20)
            for size in (1, 3):
                if play(self.schedule, size) != timeline:
                    raise Mismatch(f"chunks of {size} updates change the plan")
        except UsageError as error:
            raise Mismatch(str(error)) from None
        _compare(self, timeline)
        return 0.0


UNUSED = {"discarded", "open"}
"""Fates that a plan cannot distinguish, since a job that has arrived may wait in the buffer when
the plan ends."""


@dataclass(frozen=True)
class Timeline:
    """A plan in the terms of the vectors: jobs by (client, k), and updates as (time, version, jobs,
    staleness). Times are in nanoseconds."""

    jobs: dict[Key, dict[str, int]]
    updates: list[tuple[int, int, list[Key], list[int]]]


def play(schedule: Schedule, chunk_size: int) -> Timeline:
    """Returns the plan of a schedule, planned in chunks of `chunk_size` updates."""
    timing, dispatch = schedule.read()
    scheduler = Scheduler(timing, dispatch)
    timeline = Timeline({}, [])
    while True:
        chunk = scheduler.next(chunk_size)
        _collect(timeline, chunk)
        if chunk.done:
            break
    if scheduler.outcome != "finished":
        raise Mismatch(scheduler.stalled_message)
    return timeline


def _collect(timeline: Timeline, chunk: Chunk) -> None:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*(getattr(chunk, n).tolist() for n in COLUMNS), strict=True)]
    for row in rows:
        timeline.jobs[row["client"], row["k"]] = row
    for u, time in enumerate(chunk.time.tolist()):
        version = chunk.first_version + u
        jobs = [rows[i] for i in chunk.entries[chunk.offsets[u] : chunk.offsets[u + 1]].tolist()]
        keys = [(job["client"], job["k"]) for job in jobs]
        timeline.updates.append((time, version + 1, keys, [version - job["base"] for job in jobs]))


def _ns(seconds: float) -> int:
    return round(seconds * NANOSECONDS)


def _compare(vector: PlanVector, got: Timeline) -> None:
    want, slack = vector.expected, _ns(vector.tolerance["time"])
    key = {job.job: (job.client, job.k) for job in want.jobs}
    if len(got.updates) != len(want.updates):
        raise Mismatch(f"updates: expected {len(want.updates)}, got {len(got.updates)}")
    for n, (g, w) in enumerate(zip(got.updates, want.updates, strict=True)):
        expected = (w.version, [key[j] for j in w.jobs], w.staleness)
        if abs(g[0] - _ns(w.time)) > slack or g[1:] != expected:
            raise Mismatch(f"updates[{n}]: expected {(_ns(w.time), *expected)}, got {g}")
    end = _ns(want.updates[-1].time)
    for job in want.jobs:
        _compare_job(got.jobs.get(key[job.job]), job, end, slack)
    _compare_job_set(vector, got, set(key.values()), end)


def _compare_job(got: dict[str, int] | None, want: TimedJob, end: int, slack: int) -> None:
    where = f"job of client {want.client}, k={want.k}"
    if got is None:
        raise Mismatch(f"{where}: missing")
    if (got["base"], got["steps"]) != (want.base, want.steps):
        raise Mismatch(f"{where}: expected base {want.base}, steps {want.steps}, got {got['base']}, {got['steps']}")
    if want.fate and (fate := _fate(got, end)) != want.fate and not {fate, want.fate} <= UNUSED:
        raise Mismatch(f"{where}: expected to be {want.fate}, is {fate}")
    for name in (*TIMES, "t_stop"):
        g = got[name] if 0 <= got[name] <= end else None
        expected = getattr(want, name)
        w = None if expected is None or _ns(expected) > end else _ns(expected)
        if (g is None) != (w is None) or (g is not None and w is not None and abs(g - w) > slack):
            raise Mismatch(f"{where}: expected {name} {w}, got {g}")


def _fate(got: dict[str, int], end: int) -> str:
    """Returns what has become of a job by the end of the plan."""
    if got["consumed_by"] >= 0:
        return "consumed"
    return "stopped" if 0 <= got["t_stop"] <= end else "discarded" if 0 <= got["t_arrive"] <= end else "open"


def _compare_job_set(vector: PlanVector, got: Timeline, want: set[Key], end: int) -> None:
    """Compares which jobs there are: the consumed ones and, except under a poll, those that were
    dispatched (under broadcast and mailbox: started) strictly before the last update."""
    kind = vector.schedule.policy["kind"]
    begin = "t_start" if kind in ("broadcast", "mailbox") else "t_dispatch"
    ours = {key for update in got.updates for key in update[2]}
    if kind != "poll":
        ours |= {key for key, job in got.jobs.items() if 0 <= job[begin] < end}
    if ours != want:
        raise Mismatch(f"jobs: missing {sorted(want - ours)}, not expected {sorted(ours - want)}")
