"""Many records in two files: one row a run, and all curves one after the other. What is put in comes out, to the bit.

runs.parquet    run_id, scenario, selector, seed, state for readers; `specification`, `provenance` and `rest` are JSON: all of a record's
                sections; `points` says how many rows of curves.parquet are the run's, in the order of the runs
curves.parquet  the columns of the curves
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fedbench import plain_files
from fedbench.errors import RecordError
from fedbench.results.consistent import check_consistent, resolve
from fedbench.results.form import check_form
from fedbench.results.record import CURVES, Record
from fedbench.results.store import stored, write_atomically

RUNS, CURVES_FILE = "runs.parquet", "curves.parquet"
CURVES_SHA256 = b"curves_sha256"
LARGEST_FILE = 256 << 20
MOST_ROWS = 50_000_000
SECTIONS = {
    "specification": "spec",
    "provenance": "provenance",
}  # columns that repeat from run to run, and so cost next to nothing
TEXTS = ("run_id", "scenario", "selector", "state", *SECTIONS, "rest")


def write(folder: Path, records: Iterable[Record]) -> int:
    """Replace the archive in the folder; the records are sorted by scenario, selector, seed and id. Returns how many they are."""
    ordered = sorted(
        records, key=lambda one: (one.scenario, one.meta["spec"]["scenario_hash"], one.selector, one.seed, one.run_id)
    )
    curves = {name: stored(name, np.concatenate([one.curves[name] for one in ordered] or [np.empty(0)])) for name in CURVES}
    content = _parquet(pa.table(curves), use_dictionary=False)
    columns: dict[str, list[Any]] = {name: [] for name in (*TEXTS, "seed", "points")}
    for record in ordered:
        for name, value in _row(record).items():
            columns[name].append(value)
    runs = pa.table(columns).replace_schema_metadata({CURVES_SHA256: hashlib.sha256(content).hexdigest().encode()})
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / CURVES_FILE, content)
    write_atomically(folder / RUNS, _parquet(runs, use_dictionary=True))
    return len(ordered)


def _row(record: Record) -> dict[str, Any]:
    rest = {name: value for name, value in record.meta.items() if name not in SECTIONS.values()}
    return {
        "run_id": record.run_id,
        "scenario": record.scenario,
        "selector": record.selector,
        "seed": record.seed,
        "state": record.state,
        "points": len(record.curves["seconds"]),
        **{column: _json(record.meta[section]) for column, section in SECTIONS.items()},
        "rest": _json(rest),
    }


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _parquet(table: pa.Table, *, use_dictionary: bool) -> bytes:
    content = io.BytesIO()
    pq.write_table(
        table, content, compression="zstd", compression_level=15, use_dictionary=use_dictionary, write_page_checksum=True
    )
    return content.getvalue()


def is_archive(folder: Path) -> bool:
    return (folder / RUNS).is_file()


def read(folder: Path, *, check: bool = True) -> list[Record]:
    """All records of an archive. check: whether every one has the form of a record and fits itself, some milliseconds each.

    RecordError if a file is missing, damaged, or not of this archive.
    """
    return list(_records(folder, check=check))


def _records(folder: Path, *, check: bool) -> Iterator[Record]:
    (runs, _), (curves, sha256) = _table(folder / RUNS, TEXTS), _table(folder / CURVES_FILE, CURVES)
    if runs.schema.metadata.get(CURVES_SHA256, b"").decode() != sha256:
        raise RecordError(
            f"archive {folder}: {CURVES_FILE} is damaged, or of another archive: its checksum is not the one in {RUNS}"
        )
    columns: dict[str, npt.NDArray[Any]] = {name: curves.column(name).to_numpy() for name in CURVES}
    begin = 0
    for row in runs.to_pylist():
        end = begin + row["points"]
        meta = {**json.loads(row["rest"]), **{section: json.loads(row[column]) for column, section in SECTIONS.items()}}
        record = Record(meta, {name: column[begin:end] for name, column in columns.items()})
        if check:
            where = f"archive {folder}, run {record.run_id}"
            check_form(meta, where)
            check_consistent(record, resolve(meta, where), where)
        yield record
        begin = end
    if begin != curves.num_rows:
        raise RecordError(f"archive {folder}: {RUNS} speaks of {begin} rows of curves, {CURVES_FILE} has {curves.num_rows}")


def _table(file: Path, names: Iterable[str]) -> tuple[pa.Table, str]:
    """The table in a file, and the file's checksum."""
    content = plain_files.content(file, LARGEST_FILE, "archive", RecordError)
    try:
        opened = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False, page_checksum_verification=True)
        if opened.metadata.num_rows > MOST_ROWS:
            raise RecordError(f"archive {file}: expected at most {MOST_ROWS:,} rows, got {opened.metadata.num_rows:,}")
        table = opened.read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise RecordError(f"archive {file}: cannot be read ({error})") from None
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise RecordError(f"archive {file}: columns missing: {', '.join(missing)}")
    return table, hashlib.sha256(content).hexdigest()
