"""Writes a plan to files: columns in Parquet, or a timeline that Perfetto (ui.perfetto.dev) and
chrome://tracing open."""

from __future__ import annotations

import bisect
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fedbench.engine.plan import pieces
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.engine.timeline import JOB_COLUMNS, away, rows
from fedbench.kernels.hindsight import Hindsight
from fedbench.kernels.scheduler import Chunk

SERVER, CLIENTS, ABSENCES = 1, 2, 3  # process ids of the timeline: a row for the server, and one or two per client
PHASES = (("download", "t_dispatch", "t_start"), ("train", "t_start", "t_finish"), ("upload", "t_finish", "t_arrive"))


def write_parquet(spec: RunSpec, folder: Path, end_seconds: float | None = None) -> None:
    """Writes the plan to `jobs.parquet` and `updates.parquet`, up to `end_seconds` if they are
    given.

    jobs.parquet has one row per job. Times are in nanoseconds, -1 for what never happened;
    consumed_by is the update that used the job, -1 for none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    jobs: list[pa.Table] = []
    updates: list[pa.Table] = []
    for chunk in pieces(Setup(spec).scheduler_alone(end_seconds)):
        jobs.append(pa.table({name: np.array(getattr(chunk, name)) for name in JOB_COLUMNS}))
        versions = chunk.first_version + 1 + np.arange(len(chunk.time))
        updates.append(pa.table({"version": versions, "time": np.array(chunk.time), "entries": np.diff(chunk.offsets)}))
    for name, tables in (("jobs", jobs), ("updates", updates)):
        with (folder / f"{name}.parquet").open("wb") as file:  # pyarrow would take a path with a colon for an address
            pq.write_table(pa.concat_tables(tables), file)


def write_trace(spec: RunSpec, path: Path, end_seconds: float | None = None) -> int:
    """Writes a Chrome trace of the plan, up to `end_seconds` if they are given, and returns its
    number of events.

    Every download, training, upload and absence is a slice; every update is an instant. The slices
    of a job end where it was lost or its round closed without it. Jobs of a client that are under
    way at one time lie on several threads, so that no slices of a thread overlap. Times are whole
    microseconds, since viewers cut them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
        for event in _trace(spec, end_seconds):
            file.write((",\n" if count else "") + json.dumps(event))
            count += 1
        file.write("\n]}\n")
    return count


def _trace(spec: RunSpec, end_seconds: float | None) -> Iterator[dict[str, Any]]:
    """Yields the events of a trace, first the names of its rows."""
    setup = Setup(spec)
    scheduler = setup.scheduler_alone(end_seconds)
    names = {SERVER: f"server: {spec.scenario.name}, {spec.selector}, seed {spec.seed}", CLIENTS: "clients"}
    has_absences = setup.scenario.availability.kind != "always"
    if has_absences:
        names[ABSENCES] = "absences"
    for row, name in names.items():
        yield {"ph": "M", "name": "process_name", "pid": row, "args": {"name": name}}
    yield _thread(SERVER, 0, "versions")
    lanes = Lanes(setup.scenario.clients)
    for chunk in pieces(scheduler):
        yield from _events(chunk, scheduler.end_ns, lanes)
    for thread in sorted(lanes.used):
        yield _thread(CLIENTS, thread, lanes.name(thread))
    if has_absences:
        yield from (_thread(ABSENCES, client, f"client {client}") for client in range(setup.scenario.clients))
        for client, begin, end in away(Hindsight(scheduler), range(setup.scenario.clients), scheduler.end_ns):
            yield _slice(ABSENCES, "away", client, begin, end)


class Lanes:
    """Chooses the thread of every job: the first one of its client that is free meanwhile."""

    def __init__(self, clients: int) -> None:
        self._clients = clients
        self._busy: dict[int, list[tuple[int, int]]] = {}  # by thread: begin and end of its jobs, sorted
        self.used = self._busy.keys()

    def thread(self, client: int, begin: int, end: int) -> int:
        """Returns the thread for a job from `begin` to `end`, in nanoseconds. A plan does not list
        jobs in the order in which they begin."""
        thread = next(one for one in itertools.count(client, self._clients) if self._is_free(one, begin, end))
        bisect.insort(self._busy[thread], (begin, end))
        return thread

    def _is_free(self, thread: int, begin: int, end: int) -> bool:
        busy = self._busy.setdefault(thread, [])
        place = bisect.bisect(busy, (begin, end))
        return (place == 0 or busy[place - 1][1] <= begin) and (place == len(busy) or end <= busy[place][0])

    def name(self, thread: int) -> str:
        lane, client = divmod(thread, self._clients)
        return f"client {client}" + (f", job {lane + 1} at once" if lane else "")


def _thread(row: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": "thread_name", "pid": row, "tid": thread, "args": {"name": name}}


def _slice(row: int, name: str, thread: int, begin_ns: int, end_ns: int, **about: int) -> dict[str, Any]:
    begin, end = begin_ns // 1000, end_ns // 1000
    return {"ph": "X", "name": name, "pid": row, "tid": thread, "ts": begin, "dur": end - begin, "args": about}


def _slices(job: dict[str, int], lanes: Lanes) -> Iterator[dict[str, Any]]:
    fate = " (lost)" if job["lost"] >= 0 else " (late)" if job["late"] >= 0 else " (not used)"
    about = {"k": job["k"], "base": job["base"], "steps": job["steps"], "update": job["consumed_by"]}
    phases = [(name, job[begin], job[end] if job[end] >= 0 else job["gone"]) for name, begin, end in PHASES]
    shown = [(name, begin, until) for name, begin, until in phases if 0 <= begin < until]
    if not shown:
        return
    thread = lanes.thread(job["client"], shown[0][1], shown[-1][2])
    for name, begin, until in shown:
        yield _slice(CLIENTS, name + ("" if job["consumed_by"] >= 0 else fate), thread, begin, until, **about)


def _events(chunk: Chunk, end_ns: int, lanes: Lanes) -> Iterator[dict[str, Any]]:
    for job in rows(chunk, end_ns):
        yield from _slices(job, lanes)
    for update, time in enumerate(chunk.time.tolist(), chunk.first_version):
        yield {"ph": "i", "name": f"version {update + 1}", "pid": SERVER, "tid": 0, "ts": time // 1000, "s": "p"}
