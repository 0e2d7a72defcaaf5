"""The table of the trials of a suite: a Parquet file with a row for each run, which has the options
that were tried, the outcome, and the digest of the result."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
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
KINDS = {field.name: bounded_parquet.kind(field.type) for field in SCHEMA}


def write(file: Path, found: Sequence[tuple[Trial, Sequence[Outcome]]], design_hash: str) -> None:
    """Replaces the file in one step. Options are JSON. A target that was not reached is null."""
    rows: list[dict[str, object]] = []
    for trial, runs in found:
        own = {"point": trial.point, "selector": trial.selector, "trial": trial.number, "options": json.dumps(trial.options)}
        rows += [{**own, **asdict(run)} for run in runs]
    table = pa.Table.from_pylist(rows, SCHEMA.with_metadata({DESIGN_HASH: design_hash.encode()}))
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd")
    write_atomically(file, content.getvalue())


Tried = Mapping[tuple[str, str], Mapping[int, tuple[dict[str, float], list[Outcome]]]]
"""By point and selector, and by number of the trial: its options, and the outcomes of its runs."""


def read(file: Path, design_hash: str) -> Mapping[str, Outcome]:
    """Returns the outcomes by run id. Raises RecordError if the file is no such table, or if it is
    of another design: writing would then lose its trials."""
    return parse(plain_files.content(file, LARGEST_FILE, "trials", RecordError), design_hash, f"trials {file}")


def parse(content: bytes, design_hash: str, where: str) -> Mapping[str, Outcome]:
    """Returns the outcomes by run id from the content of the file. `where` names it in messages."""
    return {run.run_id: run for *_, run in _rows(content, design_hash, where)}


def tried(file: Path, design_hash: str) -> Tried:
    """Returns what was tried. Raises RecordError as `read` does."""
    where = f"trials {file}"
    found: dict[tuple[str, str], dict[int, tuple[dict[str, float], list[Outcome]]]] = {}
    for place, number, options, run in _rows(plain_files.content(file, LARGEST_FILE, "trials", RecordError), design_hash, where):
        found.setdefault(place, {}).setdefault(number, (strict_json.load(options), []))[1].append(run)
    return found


def _rows(content: bytes, design_hash: str, where: str) -> list[tuple[tuple[str, str], int, str, Outcome]]:
    """Returns point and selector, number and options of the trial, and the outcome of every run."""
    table = bounded_parquet.table(content, KINDS, MOST_ROWS, where, missing=(ACCURACY,))
    design = (table.schema.metadata or {}).get(DESIGN_HASH, b"unknown").decode(errors="backslashreplace")
    if design != design_hash:
        raise RecordError(f"{where}: they are of design {design:.40}, expected {design_hash}; move the file away")
    columns: list[list[Any]] = [
        bounded_parquet.texts(table, name) if kind == bounded_parquet.TEXT else list(map(_frozen, table.column(name).to_pylist()))
        for name, kind in KINDS.items()
    ]
    return [
        ((point, selector), number, options, Outcome(*run))
        for point, selector, number, options, *run in zip(*columns, strict=True)
    ]


def _frozen(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
