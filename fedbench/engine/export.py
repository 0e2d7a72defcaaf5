"""Writes a plan to files: columns in Parquet, or a timeline that Perfetto (ui.perfetto.dev) and
chrome://tracing open."""

from __future__ import annotations

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
from fedbench.engine.timeline import away
from fedbench.engine.unused_jobs import LATEST, lost_at
from fedbench.kernels.hindsight import Hindsight
from fedbench.kernels.scheduler import Chunk

SERVER, CLIENTS, ABSENCES = 1, 2, 3  # process ids of the timeline: a row for the server, and one or two per client
JOB_COLUMNS = ("client", "k", "base", "steps", "consumed_by", "t_dispatch", "t_start", "t_finish", "t_arrive", "t_lost")
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
    of a job end where it was lost or its round closed without it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("w") as file:
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
    rows = {SERVER: f"server: {spec.scenario.name}, {spec.selector}, seed {spec.seed}", CLIENTS: "clients"}
    has_absences = setup.scenario.availability.kind != "always"
    if has_absences:
        rows[ABSENCES] = "absences"
    for row, name in rows.items():
        yield {"ph": "M", "name": "process_name", "pid": row, "args": {"name": name}}
    for chunk in pieces(scheduler):
        yield from _events(chunk, scheduler.end_ns)
    if has_absences:
        for client, begin, end in away(Hindsight(scheduler), range(setup.scenario.clients), scheduler.end_ns):
            yield _slice(ABSENCES, "away", client, begin, end)


def _slice(row: int, name: str, client: int, begin_ns: int, end_ns: int, **about: int) -> dict[str, Any]:
    times = {"ts": begin_ns / 1000, "dur": (end_ns - begin_ns) / 1000}
    return {"ph": "X", "name": name, "pid": row, "tid": client, **times, "args": about}


def _slices(job: dict[str, int]) -> Iterator[dict[str, Any]]:
    fate = " (lost)" if job["lost"] >= 0 else " (late)" if job["late"] >= 0 else " (not used)"
    about = {"k": job["k"], "base": job["base"], "steps": job["steps"], "update": job["consumed_by"]}
    for name, begin, end in PHASES:
        until = job[end] if job[end] >= 0 else job["gone"]
        if 0 <= job[begin] < until:
            yield _slice(CLIENTS, name + ("" if job["consumed_by"] >= 0 else fate), job["client"], job[begin], until, **about)


def _events(chunk: Chunk, end_ns: int) -> Iterator[dict[str, Any]]:
    columns = {name: getattr(chunk, name).tolist() for name in JOB_COLUMNS}
    lost, late = lost_at(chunk, end_ns if chunk.done else LATEST), chunk.t_stop
    columns |= {"lost": lost.tolist(), "late": late.tolist(), "gone": np.maximum(np.maximum(lost, late), chunk.t_lost).tolist()}
    for row in zip(*columns.values(), strict=True):
        yield from _slices(dict(zip(columns, row, strict=True)))
    for update, time in enumerate(chunk.time.tolist(), chunk.first_version):
        yield {"ph": "i", "name": f"version {update + 1}", "pid": SERVER, "tid": 0, "ts": time / 1000, "s": "p"}
