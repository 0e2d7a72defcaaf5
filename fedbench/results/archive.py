"""An archive: many records in two Parquet files. Writing and reading again changes no bit.

runs.parquet    one row a run. run_id, scenario, selector, seed and state are there for readers.
                The columns `specification`, `provenance` and `rest` are JSON, and hold all sections
                of the record. `points` is the number of rows that the run has in curves.parquet.
curves.parquet  the curves of all runs one after the other, in the order of the runs. If one of them
                has the server's work, all rows have the column, with zeros for other runs. So it is
                with metrics of one's own, of which other runs have NaN.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fedbench import plain_files, strict_json
from fedbench.errors import RecordError, UsageError
from fedbench.results import arrow, bounded_parquet, checked
from fedbench.results.consistent import check_consistent
from fedbench.results.record import CURVES, SERVER_CURVE, Curves, Record, columns_of, of_json, own_curves, own_curves_in
from fedbench.results.sections import SERVER_LEDGER
from fedbench.results.store import CURVE_KINDS, SERVER_KIND, Store, own_kinds, stored, write_atomically

RUNS, CURVES_FILE = "runs.parquet", "curves.parquet"
CURVES_SHA256 = b"curves_sha256"
LARGEST_FILE = 256 << 20
MOST_ROWS, MOST_RUNS = 50_000_000, 1_000_000
# Sections in columns of their own. They repeat from run to run, so their compressed columns are
# tiny.
SECTIONS = {"specification": "spec", "provenance": "provenance"}
TEXTS = ("run_id", "scenario", "selector", "state", *SECTIONS, "rest")
Load = Callable[[str], object]
ROWS = {**dict.fromkeys(TEXTS, bounded_parquet.TEXT), "seed": "int64", "points": "int64"}


def check_clean(records: Iterable[Record]) -> None:
    """Raises UsageError for a record that was made from code with local changes, which nobody else
    can run again."""
    for record in records:
        if record.provenance.dirty:
            raise UsageError(
                f"record {record.run_id}: it was made from code with local changes; commit or undo them, move it away, and run again"
            )


def write(folder: Path, records: Iterable[Record]) -> int:
    """Replaces the archive in the folder and returns the number of records. They are sorted by
    scenario name, scenario hash, selector, seed and id."""
    ordered = sorted(records, key=lambda one: (one.scenario, one.spec.scenario_hash, one.spec.selector, one.seed, one.run_id))
    curves = {name: stored(name, np.concatenate([one.curves[name] for one in ordered] or [np.empty(0)])) for name in CURVES}
    if any(SERVER_CURVE in one.curves for one in ordered):
        curves[SERVER_CURVE] = np.concatenate([one.curves.get(SERVER_CURVE, np.zeros(_points(one), np.int64)) for one in ordered])
    for name in dict.fromkeys(name for one in ordered for name in own_curves(one.spec.scenario)):
        curves[name] = np.concatenate([one.curves.get(name, np.full(_points(one), np.nan, np.float32)) for one in ordered])
    content = _parquet(arrow.table(curves), use_dictionary=False)
    rows = [_row(record) for record in ordered]
    columns = {name: [row[name] for row in rows] for name in ROWS}
    runs = pa.table(columns).replace_schema_metadata({CURVES_SHA256: hashlib.sha256(content).hexdigest().encode()})
    write_atomically(folder / CURVES_FILE, content)
    write_atomically(folder / RUNS, _parquet(runs, use_dictionary=True))
    return len(ordered)


def _row(record: Record) -> dict[str, str | int]:
    rest = record.as_dict()
    sections = {column: json.dumps(rest.pop(section), sort_keys=True, allow_nan=False) for column, section in SECTIONS.items()}
    return _said(record) | sections | {"points": _points(record), "rest": json.dumps(rest, sort_keys=True, allow_nan=False)}


def _said(record: Record) -> dict[str, str | int]:
    """Returns what the columns for readers repeat. The selector is the one that was written,
    whatever the defaults are today."""
    return {
        "run_id": record.run_id,
        "scenario": record.scenario,
        "selector": record.spec.selector,
        "state": record.state,
        "seed": record.seed,
    }


def _points(record: Record) -> int:
    return len(record.curves["seconds"])


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
    """Returns all records of an archive. With `check` it is checked whether a record contradicts
    itself, unless that was done on this machine before.

    Raises RecordError if a file is missing, damaged, or not of this archive, or if a record has not
    the form of one.
    """
    where = f"archive {folder}"
    runs, curves = (plain_files.content(folder / name, LARGEST_FILE, "archive", RecordError) for name in (RUNS, CURVES_FILE))
    was_checked = check and checked.was_checked(runs)
    found = list(parse(runs, curves, where, json.loads if was_checked else strict_json.load))
    if check and not was_checked:
        for record in found:
            check_consistent(record, f"{where}, run {record.run_id}")
        checked.remember(runs)
    return found


def unpack(folder: Path, store: Store) -> tuple[int, int]:
    """Writes those records of an archive into a store that it lacks. Returns how many they are, and
    how many the archive has. Raises RecordError as `read` does."""
    records = read(folder)
    absent = [one for one in records if not store.has(one.scenario, one.spec.algorithm.name, one.run_id)]
    for record in absent:
        store.write(record)
    return len(absent), len(records)


def parse(runs: bytes, curves: bytes, where: str, load: Load = strict_json.load) -> Iterator[Record]:
    """Yields the records in the contents of an archive's two files. Whether one contradicts itself
    is not checked yet, see `check_consistent`.

    Args:
        runs: the bytes of runs.parquet.
        curves: the bytes of curves.parquet.
        where: what the archive is, for messages.
        load: reads a JSON text.

    Raises:
        RecordError: if a file is damaged, not of this archive or too large, if a record has not the
            form of one, or if a column says something else than the JSON in its row.
    """
    rows = bounded_parquet.table(runs, ROWS, MOST_RUNS, f"{where}: {RUNS}")
    if (rows.schema.metadata or {}).get(CURVES_SHA256, b"") != hashlib.sha256(curves).hexdigest().encode():
        raise RecordError(f"{where}: {CURVES_FILE} is damaged, or of another archive: its checksum is not the one in {RUNS}")
    texts = {name: bounded_parquet.texts(rows, name) for name in TEXTS}
    own = dict.fromkeys(name for text in set(texts["specification"]) if '"metrics"' in text for name in _own_in(text, load))
    optional = SERVER_KIND | own_kinds(own)
    table = bounded_parquet.table(curves, CURVE_KINDS, MOST_ROWS, f"{where}: {CURVES_FILE}", optional=optional)
    points = rows.column("points").to_pylist()
    if min(points, default=0) < 0 or sum(points) != table.num_rows:
        raise RecordError(f"{where}: {RUNS} speaks of {sum(points):,} rows of curves, {CURVES_FILE} has {table.num_rows:,}")
    columns: Curves = {name: arrow.numbers(table.column(name)) for name in columns_of(table.column_names)}
    begin = 0
    for i, (seed, count) in enumerate(zip(rows.column("seed").to_pylist(), points, strict=True)):
        row: dict[str, object] = {name: column[i] for name, column in texts.items()} | {"seed": seed}
        yield _record(row, {name: column[begin : begin + count] for name, column in columns.items()}, where, load)
        begin += count


def _record(row: Mapping[str, object], curves: Curves, where: str, load: Load) -> Record:
    """Returns the record of a row. The columns for readers must repeat what the JSON sections say,
    because only the sections are checked."""
    place = f"{where}, run {row['run_id']!s:.80}"
    sections = {section: _section(row, column, place, load) for column, section in SECTIONS.items()}
    content = _section(row, "rest", place, load) | sections
    record = of_json(content, _own(curves, content, place), place)
    for name, value in _said(record).items():
        if row[name] != value:
            raise RecordError(f"{place}: column {name}: its sections give {value!r:.80}, it says {row[name]!r:.80}")
    return record


def _own_in(text: str, load: Load) -> list[str]:
    """Returns the metrics of one's own in the text of a specification; none if it cannot be read,
    which is said where its record is made."""
    try:
        return own_curves_in(load(text))
    except ValueError:
        return []


def _own(curves: Curves, content: Mapping[str, object], place: str) -> Curves:
    """Returns the columns that a run itself has: one whose ledger has no work of the server has
    only zeros in that column, and only NaN in those of others' metrics. Raises RecordError if it
    has something else there."""
    ledger, own = content.get("ledger"), own_curves_in(content.get("spec"))
    names = [*CURVES, *(name for name in own if name in curves)]
    if SERVER_CURVE in curves and isinstance(ledger, Mapping) and SERVER_LEDGER[0] in ledger:
        names.append(SERVER_CURVE)
    for name in set(curves) - set(names):
        if name == SERVER_CURVE and curves[name].any():
            raise RecordError(f"{place}: curves.{name}: expected zeros, since its ledger has no work of the server")
        if name != SERVER_CURVE and not np.isnan(curves[name]).all():
            raise RecordError(f"{place}: curves.{name}: expected NaN, since its scenario has no such metric")
    return {name: curves[name] for name in columns_of(names)}


def _section(row: Mapping[str, object], column: str, place: str, load: Load) -> dict[str, object]:
    try:
        found = load(str(row[column]))
    except strict_json.RefusedJsonError as error:
        raise RecordError(f"{place}: column {column}: {error}") from None
    if not isinstance(found, dict):
        raise RecordError(f"{place}: column {column}: expected a mapping of keys, got {type(found).__name__}")
    return found
