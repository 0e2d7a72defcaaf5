"""An archive: many records in two Parquet files. Writing and reading again changes no bit.

runs.parquet    one row a run. run_id, scenario, selector, seed and state are there for readers.
                The columns `specification`, `provenance` and `rest` are JSON, and hold all sections
                of the record. `points` is the number of rows that the run has in curves.parquet.
curves.parquet  the curves of all runs one after the other, in the order of the runs. If one of them
                has the server's work, all rows have the column, with zeros for other runs.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fedbench import plain_files, strict_json
from fedbench.errors import RecordError
from fedbench.results import bounded_parquet, checked
from fedbench.results.consistent import check_consistent, resolve
from fedbench.results.form import check_form
from fedbench.results.record import CURVES, SERVER_CURVE, SERVER_LEDGER, Record, columns_of
from fedbench.results.store import CURVE_KINDS, SERVER_KIND, stored, write_atomically

RUNS, CURVES_FILE = "runs.parquet", "curves.parquet"
CURVES_SHA256 = b"curves_sha256"
LARGEST_FILE = 256 << 20
MOST_ROWS, MOST_RUNS = 50_000_000, 1_000_000
# Sections in columns of their own. They repeat from run to run, so their compressed columns are
# tiny.
SECTIONS = {"specification": "spec", "provenance": "provenance"}
TEXTS = ("run_id", "scenario", "selector", "state", *SECTIONS, "rest")
Load = Callable[[str], Any]
ROWS = {**dict.fromkeys(TEXTS, bounded_parquet.TEXT), "seed": "int64", "points": "int64"}


def write(folder: Path, records: Iterable[Record]) -> int:
    """Replaces the archive in the folder and returns the number of records. They are sorted by
    scenario name, scenario hash, selector, seed and id."""
    ordered = sorted(
        records, key=lambda one: (one.scenario, one.meta["spec"]["scenario_hash"], _written(one), one.seed, one.run_id)
    )
    curves = {name: stored(name, np.concatenate([one.curves[name] for one in ordered] or [np.empty(0)])) for name in CURVES}
    if any(SERVER_CURVE in one.curves for one in ordered):
        curves[SERVER_CURVE] = np.concatenate([one.curves.get(SERVER_CURVE, np.zeros(_points(one), np.int64)) for one in ordered])
    content = _parquet(pa.table(curves), use_dictionary=False)
    columns: dict[str, list[Any]] = {name: [] for name in (*TEXTS, "seed", "points")}
    for record in ordered:
        for name, value in _row(record).items():
            columns[name].append(value)
    runs = pa.table(columns).replace_schema_metadata({CURVES_SHA256: hashlib.sha256(content).hexdigest().encode()})
    write_atomically(folder / CURVES_FILE, content)
    write_atomically(folder / RUNS, _parquet(runs, use_dictionary=True))
    return len(ordered)


def _row(record: Record) -> dict[str, Any]:
    rest = {name: value for name, value in record.meta.items() if name not in SECTIONS.values()}
    return {
        "run_id": record.run_id,
        "scenario": record.scenario,
        "selector": _written(record),
        "seed": record.seed,
        "state": record.state,
        "points": _points(record),
        **{column: _json(record.meta[section]) for column, section in SECTIONS.items()},
        "rest": _json(rest),
    }


def _written(record: Record) -> str:
    """Returns the selector as the record has it, whatever the defaults are today."""
    return str(record.meta["spec"]["selector"])


def _points(record: Record) -> int:
    return len(record.curves["seconds"])


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _parquet(table: pa.Table, *, use_dictionary: bool) -> bytes:
    content = io.BytesIO()
    pq.write_table(
        table, content, compression="zstd", compression_level=15, use_dictionary=use_dictionary, write_page_checksum=True
    )
    return content.getvalue()


def is_archive(folder: Path) -> bool:
    """Returns whether the folder holds an archive, rather than a store."""
    return os.path.isfile(folder / RUNS)  # unlike Path.is_file, no error for a name that is too long


def read(folder: Path, *, check: bool = True) -> list[Record]:
    """Returns all records of an archive. With `check` every record is looked at with
    `check_record`, unless that was done on this machine before; all have the keys of today.

    Raises RecordError if a file is missing, damaged, or not of this archive.
    """
    where = f"archive {folder}"
    runs, curves = (plain_files.content(folder / name, LARGEST_FILE, "archive", RecordError) for name in (RUNS, CURVES_FILE))
    was_checked = check and checked.was_checked(runs)
    found = list(parse(runs, curves, where, json.loads if was_checked else strict_json.load))
    if not check:
        return found
    if was_checked:
        for record in found:
            resolve(record.meta, where)
        return found
    for record in found:
        check_record(record, where)
    checked.remember(runs)
    return found


def parse(runs: bytes, curves: bytes, where: str, load: Load = strict_json.load) -> Iterator[Record]:
    """Yields the records in the contents of an archive's two files. The single records are not
    checked yet, see `check_record`.

    Args:
        runs: the bytes of runs.parquet.
        curves: the bytes of curves.parquet.
        where: what the archive is, for messages.
        load: reads a JSON text.

    Raises:
        RecordError: if a file is damaged, not of this archive or too large, or if a column says
            something else than the JSON in its row.
    """
    rows = bounded_parquet.table(runs, ROWS, MOST_RUNS, f"{where}: {RUNS}")
    if (rows.schema.metadata or {}).get(CURVES_SHA256, b"") != hashlib.sha256(curves).hexdigest().encode():
        raise RecordError(f"{where}: {CURVES_FILE} is damaged, or of another archive: its checksum is not the one in {RUNS}")
    table = bounded_parquet.table(curves, CURVE_KINDS, MOST_ROWS, f"{where}: {CURVES_FILE}", optional=SERVER_KIND)
    points = rows.column("points").to_pylist()
    if min(points, default=0) < 0 or sum(points) != table.num_rows:
        raise RecordError(f"{where}: {RUNS} speaks of {sum(points):,} rows of curves, {CURVES_FILE} has {table.num_rows:,}")
    columns: dict[str, npt.NDArray[Any]] = {name: table.column(name).to_numpy() for name in columns_of(table.column_names)}
    texts = {name: bounded_parquet.texts(rows, name) for name in TEXTS}
    begin = 0
    for i, (seed, count) in enumerate(zip(rows.column("seed").to_pylist(), points, strict=True)):
        row = {name: column[i] for name, column in texts.items()} | {"seed": seed}
        yield _record(row, {name: column[begin : begin + count] for name, column in columns.items()}, where, load)
        begin += count


def check_record(record: Record, where: str) -> None:
    """Raises RecordError if a record of an archive lacks the form of a record, or contradicts
    itself."""
    place = f"{where}, run {record.run_id:.80}"
    check_form(record.meta, place)
    check_consistent(record, resolve(record.meta, place), place)


def _record(row: Mapping[str, Any], curves: dict[str, npt.NDArray[Any]], where: str, load: Load) -> Record:
    """Returns the record of a row. The columns for readers must repeat what the JSON sections say,
    because only the sections are checked."""
    place = f"{where}, run {row['run_id']:.80}"
    sections = {section: _section(row, column, place, load) for column, section in SECTIONS.items()}
    meta = _section(row, "rest", place, load) | sections
    try:
        record = Record(meta, _own(curves, meta.get("ledger"), place))
        said = {name: getattr(record, name) for name in ("run_id", "scenario", "seed", "state")} | {"selector": _written(record)}
    except RecordError as error:
        raise RecordError(f"{place}: {error}") from None
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RecordError(f"{place}: a section lacks something, or has another form ({error!s:.200})") from None
    for name, value in said.items():
        if row[name] != value:
            raise RecordError(f"{place}: column {name}: its sections give {value!r:.80}, it says {row[name]!r:.80}")
    return record


def _own(curves: dict[str, npt.NDArray[Any]], ledger: Any, place: str) -> dict[str, npt.NDArray[Any]]:
    """Returns the columns that a run itself has: one whose ledger has no work of the server has
    only zeros in that column. Raises RecordError if it has others."""
    if SERVER_CURVE not in curves or (isinstance(ledger, Mapping) and SERVER_LEDGER[0] in ledger):
        return curves
    if curves[SERVER_CURVE].any():
        raise RecordError(f"{place}: curves.{SERVER_CURVE}: expected zeros, since its ledger has no work of the server")
    return {name: curves[name] for name in CURVES}


def _section(row: Mapping[str, Any], column: str, place: str, load: Load) -> dict[str, Any]:
    try:
        found = load(row[column])
    except strict_json.RefusedJsonError as error:
        raise RecordError(f"{place}: column {column}: {error}") from None
    if not isinstance(found, dict):
        raise RecordError(f"{place}: column {column}: expected a mapping of keys, got {type(found).__name__}")
    return found
