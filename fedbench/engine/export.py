"""A plan as files: columns in Parquet, and a timeline that Perfetto (ui.perfetto.dev) and chrome://tracing open."""

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
from fedbench.kernels.scheduler import Chunk

SERVER, CLIENTS = 1, 2  # process ids of the timeline: one row for the server, one per client
JOB_COLUMNS = ("client", "k", "base", "steps", "consumed_by", "t_dispatch", "t_start", "t_finish", "t_arrive")
PHASES = (("download", "t_dispatch", "t_start"), ("train", "t_start", "t_finish"), ("upload", "t_finish", "t_arrive"))


def write_parquet(spec: RunSpec, folder: Path) -> None:
    """`jobs.parquet` (one row per job, times in nanoseconds, -1 never; consumed_by: the update, -1 none) and `updates.parquet`."""
    folder.mkdir(parents=True, exist_ok=True)
    jobs: list[pa.Table] = []
    updates: list[pa.Table] = []
    for chunk in pieces(Setup(spec).scheduler()):
        jobs.append(pa.table({name: np.array(getattr(chunk, name)) for name in JOB_COLUMNS}))
        versions = chunk.first_version + 1 + np.arange(len(chunk.time))
        updates.append(pa.table({"version": versions, "time": np.array(chunk.time), "entries": np.diff(chunk.offsets)}))
    pq.write_table(pa.concat_tables(jobs), folder / "jobs.parquet")
    pq.write_table(pa.concat_tables(updates), folder / "updates.parquet")


def write_trace(spec: RunSpec, path: Path) -> int:
    """A Chrome trace: a slice for every download, training and upload, an instant for every update; returns the number of events."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        file.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
        count = _write_events(spec, file)
        file.write("\n]}\n")
    return count


def _write_events(spec: RunSpec, file: TextIO) -> int:
    title = f"{spec.scenario.name}, {spec.selector}, seed {spec.seed}"
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": SERVER, "args": {"name": f"server: {title}"}},
        {"ph": "M", "name": "process_name", "pid": CLIENTS, "args": {"name": "clients"}},
    ]
    file.write(",\n".join(map(json.dumps, events)))
    count = len(events)
    for chunk in pieces(Setup(spec).scheduler()):
        for event in _events(chunk):
            file.write(",\n" + json.dumps(event))
            count += 1
    return count


def _events(chunk: Chunk) -> Iterator[dict[str, Any]]:
    columns = {name: getattr(chunk, name).tolist() for name in JOB_COLUMNS}
    for row in zip(*columns.values(), strict=True):
        job = dict(zip(columns, row, strict=True))
        about = {"k": job["k"], "base": job["base"], "steps": job["steps"], "update": job["consumed_by"]}
        for name, begin, end in PHASES:
            if 0 <= job[begin] < job[end]:
                yield {
                    "ph": "X",
                    "name": name if job["consumed_by"] >= 0 else f"{name} (not used)",
                    "pid": CLIENTS,
                    "tid": job["client"],
                    "ts": job[begin] / 1000,
                    "dur": (job[end] - job[begin]) / 1000,
                    "args": about,
                }
    for update, time in enumerate(chunk.time.tolist(), chunk.first_version):
        yield {"ph": "i", "name": f"version {update + 1}", "pid": SERVER, "tid": 0, "ts": time / 1000, "s": "p"}
