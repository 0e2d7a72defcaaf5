"""All trials of a suite in one Parquet file, a row a run: what was tried, what became of it, and its digest."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fedbench import plain_files
from fedbench.errors import RecordError
from fedbench.results.store import write_atomically
from fedbench.suites.tuning import Outcome, Trial

LARGEST_FILE = 64 << 20
DESIGN_HASH = b"design_hash"
SCHEMA = pa.schema(
    [
        ("point", pa.string()),
        ("selector", pa.string()),
        ("trial", pa.int32()),
        ("options", pa.string()),
        ("run_id", pa.string()),
        ("seed", pa.int64()),
        ("state", pa.string()),
        ("budget_seconds", pa.float64()),
        ("targets", pa.list_(pa.float64())),
        ("reached", pa.list_(pa.float64())),
        ("validation_accuracy", pa.float64()),
        ("result", pa.string()),
    ]
)


def write(file: Path, found: Sequence[tuple[Trial, Sequence[Outcome]]], design_hash: str) -> None:
    """Replace the file in one step. Options are JSON; a target that was not reached is null."""
    rows: list[dict[str, Any]] = []
    for trial, runs in found:
        own = {"point": trial.point, "selector": trial.selector, "trial": trial.number, "options": json.dumps(trial.options)}
        rows += [{**own, **asdict(run)} for run in runs]
    table = pa.Table.from_pylist(rows, SCHEMA.with_metadata({DESIGN_HASH: design_hash.encode()}))
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, content.getvalue())


def read(file: Path, design_hash: str) -> Mapping[str, Outcome]:
    """The outcomes by run id. RecordError if the file is no such table, or of another design, whose trials it would lose."""
    content = plain_files.content(file, LARGEST_FILE, "trials", RecordError)
    try:
        table = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False).read(use_threads=False)
        names = [field.name for field in fields(Outcome)]
        rows = table.select(names).to_pylist()
        design = (table.schema.metadata or {}).get(DESIGN_HASH, b"").decode()
    except (pa.ArrowException, KeyError) as error:
        raise RecordError(f"trials {file}: expected a table of `fedbench tune` ({error})") from None
    if design != design_hash:
        raise RecordError(f"trials {file}: they are of design {design or 'unknown'}, expected {design_hash}; move the file away")
    return {row["run_id"]: Outcome(**{**row, "targets": tuple(row["targets"]), "reached": tuple(row["reached"])}) for row in rows}
