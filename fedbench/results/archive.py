"""Many records in two files: one row a run, and all curves one after the other. What is put in
comes out, to the bit.

runs.parquet    run_id, scenario, selector, seed, state for readers; `specification`, `provenance` and `rest` are JSON: all of a record's
                sections; `points` says how many rows of curves.parquet are the run's, in the order
                of the runs
curves.parquet  the columns of the curves
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fedbench import plain_files, strict_json
from fedbench.errors import RecordError
from fedbench.results import bounded_parquet
from fedbench.results.consistent import check_consistent, resolve
from fedbench.results.form import check_form
from fedbench.results.record import CURVES, Record
from fedbench.results.store import CURVE_KINDS, stored, write_atomically

RUNS, CURVES_FILE = "runs.parquet", "curves.parquet"
CURVES_SHA256 = b"curves_sha256"
LARGEST_FILE = 256 << 20
MOST_ROWS, MOST_RUNS = 50_000_000, 1_000_000
SECTIONS = {
    "specification": "spec",
    "provenance": "provenance",
}  # columns that repeat from run to run, and so cost next to nothing
TEXTS = ("run_id", "scenario", "selector", "state", *SECTIONS, "rest")
ROWS = {**dict.fromkeys(TEXTS, bounded_parquet.TEXT), "seed": "int64", "points": "int64"}


def write(folder: Path, records: Iterable[Record]) -> int:
    """Replace the archive in the folder; the records are sorted by scenario, selector, seed and id.
    Returns how many they are."""
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
    """All records of an archive. check: whether every one has the form of a record and fits itself,
    some milliseconds each.

    RecordError if a file is missing, damaged, or not of this archive.
    """
    where = f"archive {folder}"
    runs, curves = (plain_files.content(folder / name, LARGEST_FILE, "archive", RecordError) for name in (RUNS, CURVES_FILE))
    found = list(parse(runs, curves, where))
    for record in found if check else ():
        check_record(record, where)
    return found


def parse(runs: bytes, curves: bytes, where: str) -> Iterator[Record]:
    """Yields the records in the contents of an archive's two files, not yet looked at one by one.

    RecordError if a file is damaged, not of this archive, larger than what is read, or if its
    columns are not what its JSON says.
    """
    rows = bounded_parquet.table(runs, ROWS, MOST_RUNS, f"{where}: {RUNS}")
    if (rows.schema.metadata or {}).get(CURVES_SHA256, b"") != hashlib.sha256(curves).hexdigest().encode():
        raise RecordError(f"{where}: {CURVES_FILE} is damaged, or of another archive: its checksum is not the one in {RUNS}")
    table = bounded_parquet.table(curves, CURVE_KINDS, MOST_ROWS, f"{where}: {CURVES_FILE}")
    points = rows.column("points").to_pylist()
    if min(points, default=0) < 0 or sum(points) != table.num_rows:
        raise RecordError(f"{where}: {RUNS} speaks of {sum(points):,} rows of curves, {CURVES_FILE} has {table.num_rows:,}")
    columns: dict[str, npt.NDArray[Any]] = {name: table.column(name).to_numpy() for name in CURVES}
    texts = {name: bounded_parquet.texts(rows, name) for name in TEXTS}
    begin = 0
    for i, (seed, count) in enumerate(zip(rows.column("seed").to_pylist(), points, strict=True)):
        row = {name: column[i] for name, column in texts.items()} | {"seed": seed}
        yield _record(row, {name: column[begin : begin + count] for name, column in columns.items()}, where)
        begin += count


def check_record(record: Record, where: str) -> None:
    """RecordError if a record of an archive has not the form of one, or does not fit itself."""
    place = f"{where}, run {record.run_id:.80}"
    check_form(record.meta, place)
    check_consistent(record, resolve(record.meta, place), place)


def _record(row: Mapping[str, Any], curves: dict[str, npt.NDArray[Any]], where: str) -> Record:
    """The columns for readers say what the sections say: nobody is shown what no check has seen."""
    place = f"{where}, run {row['run_id']:.80}"
    meta = _section(row, "rest", place) | {section: _section(row, column, place) for column, section in SECTIONS.items()}
    try:
        record = Record(meta, curves)
        said = {name: getattr(record, name) for name in ("run_id", "scenario", "selector", "seed", "state")}
    except RecordError as error:
        raise RecordError(f"{place}: {error}") from None
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RecordError(f"{place}: a section lacks something, or has another form ({error!s:.200})") from None
    for name, value in said.items():
        if row[name] != value:
            raise RecordError(f"{place}: column {name}: its sections give {value!r:.80}, it says {row[name]!r:.80}")
    return record


def _section(row: Mapping[str, Any], column: str, place: str) -> dict[str, Any]:
    try:
        found = strict_json.load(row[column])
    except strict_json.RefusedJsonError as error:
        raise RecordError(f"{place}: column {column}: {error}") from None
    if not isinstance(found, dict):
        raise RecordError(f"{place}: column {column}: expected a mapping of keys, got {type(found).__name__}")
    return found
