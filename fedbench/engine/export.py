"""A plan as files: columns in Parquet, and a timeline that Perfetto (ui.perfetto.dev) and
chrome://tracing open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fedbench.engine.plan import pieces
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.engine.unused_jobs import LATEST, lost_at
from fedbench.kernels.hindsight import Hindsight
from fedbench.kernels.scheduler import Chunk

SERVER, CLIENTS, ABSENCES = 1, 2, 3  # process ids of the timeline: one row for the server, one or two per client
JOB_COLUMNS = ("client", "k", "base", "steps", "consumed_by", "t_dispatch", "t_start", "t_finish", "t_arrive", "t_lost")
PHASES = (("download", "t_dispatch", "t_start"), ("train", "t_start", "t_finish"), ("upload", "t_finish", "t_arrive"))


def write_parquet(spec: RunSpec, folder: Path, end_seconds: float | None = None) -> None:
    """The plan, up to `end_seconds` if they are given: `jobs.parquet` (one row per job, times in
    nanoseconds, -1 never; consumed_by: the update, -1 none) and `updates.parquet`."""
    folder.mkdir(parents=True, exist_ok=True)
    jobs: list[pa.Table] = []
    updates: list[pa.Table] = []
    for chunk in pieces(Setup(spec).scheduler_alone(end_seconds)):
        jobs.append(pa.table({name: np.array(getattr(chunk, name)) for name in JOB_COLUMNS}))
        versions = chunk.first_version + 1 + np.arange(len(chunk.time))
        updates.append(pa.table({"version": versions, "time": np.array(chunk.time), "entries": np.diff(chunk.offsets)}))
    for name, tables in (("jobs", jobs), ("updates", updates)):
        with (folder / f"{name}.parquet").open("wb") as file:  # pyarrow takes a path with a colon for an address
            pq.write_table(pa.concat_tables(tables), file)


def write_trace(spec: RunSpec, path: Path, end_seconds: float | None = None) -> int:
    """A Chrome trace of the plan, up to `end_seconds` if they are given: a slice for every
    download, training and upload, cut where a job was lost or its round closed without it, and for
    every absence; an instant for every update. Returns the number of events."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        file.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
        count = _write_events(spec, file, end_seconds)
        file.write("\n]}\n")
    return count


def _write_events(spec: RunSpec, file: TextIO, end_seconds: float | None) -> int:
    setup = Setup(spec)
    scheduler = setup.scheduler_alone(end_seconds)
    title = f"{spec.scenario.name}, {spec.selector}, seed {spec.seed}"
    rows = {SERVER: f"server: {title}", CLIENTS: "clients"}
    has_absences = setup.scenario.availability.kind != "always"
    if has_absences:
        rows[ABSENCES] = "absences"
    names = [{"ph": "M", "name": "process_name", "pid": row, "args": {"name": name}} for row, name in rows.items()]
    file.write(",\n".join(map(json.dumps, names)))
    count = len(names)
    for chunk in pieces(scheduler):
        for event in _events(chunk, scheduler.end_ns):
            file.write(",\n" + json.dumps(event))
            count += 1
    if has_absences:
        for event in _absences(Hindsight(scheduler), setup.scenario.clients, scheduler.end_ns):
            file.write(",\n" + json.dumps(event))
            count += 1
    return count


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


def _absences(hindsight: Hindsight, clients: int, end_ns: int) -> Iterator[dict[str, Any]]:
    for client in range(clients):
        left = 0
        for on, off in [*hindsight.stays(client, end_ns), (end_ns, end_ns)]:
            if left < on:
                yield _slice(ABSENCES, "away", client, left, on)
            left = off


def _events(chunk: Chunk, end_ns: int) -> Iterator[dict[str, Any]]:
    columns = {name: getattr(chunk, name).tolist() for name in JOB_COLUMNS}
    lost, late = lost_at(chunk, end_ns if chunk.done else LATEST), chunk.t_stop
    columns |= {"lost": lost.tolist(), "late": late.tolist(), "gone": np.maximum(np.maximum(lost, late), chunk.t_lost).tolist()}
    for row in zip(*columns.values(), strict=True):
        yield from _slices(dict(zip(columns, row, strict=True)))
    for update, time in enumerate(chunk.time.tolist(), chunk.first_version):
        yield {"ph": "i", "name": f"version {update + 1}", "pid": SERVER, "tid": 0, "ts": time / 1000, "s": "p"}
