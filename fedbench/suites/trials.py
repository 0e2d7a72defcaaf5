"""The table of the trials of a suite: a Parquet file with a row for each run, which has the options
that were tried, the outcome, and the digest of the result. Columns of draws and rungs are there if
there are some."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
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
ACCURACY = "validation_accuracy"
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
MORE = pa.schema([("draw", pa.int32()), ("rung", pa.int32()), ("spent", pa.list_(pa.float64())), ("area", pa.float64())])
KINDS = {field.name: bounded_parquet.kind(field.type) for field in SCHEMA}
MORE_KINDS = {field.name: bounded_parquet.kind(field.type) for field in MORE}
MISSING = (ACCURACY, "spent", "area")  # columns in which values may be missing


def write(file: Path, found: Sequence[tuple[Trial, Sequence[Outcome]]], design_hash: str) -> None:
    """Replaces the file in one step. Options are JSON. A target that was not reached is null."""
    rows: list[dict[str, object]] = []
    for trial, runs in found:
        own = {"point": trial.point, "selector": trial.selector, "trial": trial.number, "options": json.dumps(trial.options)}
        rows += [{**own, "draw": trial.draw, "rung": trial.rung, **asdict(run)} for run in runs]
    has_more = any(row[name] for row in rows for name in MORE.names)
    schema = pa.unify_schemas([SCHEMA, MORE]) if has_more else SCHEMA
    table = pa.Table.from_pylist(rows, schema.with_metadata({DESIGN_HASH: design_hash.encode()}))
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd")
    write_atomically(file, content.getvalue())


Tried = Mapping[tuple[str, str], Mapping[int, tuple[dict[str, Any], list[Outcome]]]]
"""By point and selector, and by number of the trial: its options, and the outcomes of its runs."""


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    point: str
    selector: str
    number: int
    options: str
    draw: int
    outcome: Outcome


def read(file: Path, design_hash: str) -> Mapping[str, Outcome]:
    """Returns the outcomes by run id. Raises RecordError if the file is no such table, or if it is
    of another design: writing would then lose its trials."""
    return {row.outcome.run_id: row.outcome for row in rows(file, design_hash)}


def parse(content: bytes, design_hash: str, where: str) -> Mapping[str, Outcome]:
    """Returns the outcomes by run id from the content of the file. `where` names it in messages."""
    return {row.outcome.run_id: row.outcome for row in _rows(content, design_hash, where)}


def tried(file: Path, design_hash: str) -> Tried:
    """Returns what was tried in the first draw. Raises RecordError as `read` does."""
    found: dict[tuple[str, str], dict[int, tuple[dict[str, Any], list[Outcome]]]] = {}
    for row in rows(file, design_hash):
        if row.draw == 0:
            trials = found.setdefault((row.point, row.selector), {})
            trials.setdefault(row.number, (strict_json.load(row.options), []))[1].append(row.outcome)
    return found


def rows(file: Path, design_hash: str) -> list[Row]:
    """Returns all rows. Raises RecordError as `read` does."""
    return _rows(plain_files.content(file, LARGEST_FILE, "trials", RecordError), design_hash, f"trials {file}")


def table(content: bytes, where: str) -> pa.Table:
    """Returns the table in the content of the file. Raises RecordError if it is none, or is
    damaged."""
    return bounded_parquet.table(content, KINDS, MOST_ROWS, where, missing=MISSING, optional=MORE_KINDS)


def _rows(content: bytes, design_hash: str, where: str) -> list[Row]:
    found = table(content, where)
    design = (found.schema.metadata or {}).get(DESIGN_HASH, b"unknown").decode(errors="backslashreplace")
    if design != design_hash:
        raise RecordError(f"{where}: they are of design {design:.40}, expected {design_hash}; move the file away")
    columns: dict[str, list[Any]] = {
        name: bounded_parquet.texts(found, name)
        if KINDS.get(name) == bounded_parquet.TEXT
        else list(map(_frozen, found.column(name).to_pylist()))
        for name in found.column_names
    }
    several = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [
        Row(one["point"], one["selector"], one["trial"], one["options"], one.get("draw", 0), _outcome(one)) for one in several
    ]


def _outcome(row: Mapping[str, Any]) -> Outcome:
    return Outcome(**{field.name: row[field.name] for field in fields(Outcome) if field.name in row})


def _frozen(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
