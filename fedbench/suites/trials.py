"""The table of the trials of a suite: a Parquet file with a row for each run, which has the options
that were tried, the outcome, and the digest of the result."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fedbench import plain_files, strict_json
from fedbench.errors import RecordError
from fedbench.results import bounded_parquet
from fedbench.results.store import write_atomically
from fedbench.suites.tuning import Outcome, Trial

LARGEST_FILE = 64 << 20
MOST_ROWS = 1_000_000
DESIGN_HASH = b"design_hash"
ACCURACY, LISTS = "validation_accuracy", ("targets", "reached")
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
KINDS = {field.name: bounded_parquet.kind(field.type) for field in SCHEMA}


def write(file: Path, found: Sequence[tuple[Trial, Sequence[Outcome]]], design_hash: str) -> None:
    """Replaces the file in one step. Options are JSON. A target that was not reached is null."""
    rows: list[dict[str, Any]] = []
    for trial, runs in found:
        own = {"point": trial.point, "selector": trial.selector, "trial": trial.number, "options": json.dumps(trial.options)}
        rows += [{**own, **asdict(run)} for run in runs]
    table = pa.Table.from_pylist(rows, SCHEMA.with_metadata({DESIGN_HASH: design_hash.encode()}))
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd")
    write_atomically(file, content.getvalue())


Tried = Mapping[tuple[str, str], Mapping[int, tuple[dict[str, Any], list[Outcome]]]]
"""By point and selector, and by number of the trial: its options, and the outcomes of its runs."""


def read(file: Path, design_hash: str) -> Mapping[str, Outcome]:
    """Returns the outcomes by run id. Raises RecordError if the file is no such table, or if it is
    of another design: writing would then lose its trials."""
    return parse(plain_files.content(file, LARGEST_FILE, "trials", RecordError), design_hash, f"trials {file}")


def parse(content: bytes, design_hash: str, where: str) -> Mapping[str, Outcome]:
    """Returns the outcomes by run id from the content of the file. `where` names it in messages."""
    return {row["run_id"]: _outcome(row) for row in _rows(content, design_hash, where)}


def tried(file: Path, design_hash: str) -> Tried:
    """Returns what was tried. Raises RecordError as `read` does."""
    where = f"trials {file}"
    found: dict[tuple[str, str], dict[int, tuple[dict[str, Any], list[Outcome]]]] = {}
    for row in _rows(plain_files.content(file, LARGEST_FILE, "trials", RecordError), design_hash, where):
        of_row = found.setdefault((row["point"], row["selector"]), {})
        of_row.setdefault(row["trial"], (strict_json.load(row["options"]), []))[1].append(_outcome(row))
    return found


def _outcome(row: Mapping[str, Any]) -> Outcome:
    own = {field.name: row[field.name] for field in fields(Outcome)}
    return Outcome(**{**own, **{name: tuple(own[name]) for name in LISTS}})


def _rows(content: bytes, design_hash: str, where: str) -> list[dict[str, Any]]:
    table = bounded_parquet.table(content, KINDS, MOST_ROWS, where, missing=(ACCURACY,))
    design = (table.schema.metadata or {}).get(DESIGN_HASH, b"unknown").decode(errors="backslashreplace")
    if design != design_hash:
        raise RecordError(f"{where}: they are of design {design:.40}, expected {design_hash}; move the file away")
    names = [field.name for field in SCHEMA]
    columns = [
        bounded_parquet.texts(table, name) if KINDS[name] == bounded_parquet.TEXT else table.column(name).to_pylist()
        for name in names
    ]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
