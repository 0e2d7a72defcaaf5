"""Hostile Parquet: damaged, of other columns, or much larger than it looks."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fedbench.results.archive import CURVES_FILE, CURVES_SHA256, RUNS
from tests.submissions.kinds import kind
from tests.submissions.tampering import cell, column, parquet, records, repacked, retabled, tables, written


@kind("a truncated table", "runs.parquet: cannot be read")
def _truncated(folder: Path) -> None:
    written(folder, RUNS, (folder / RUNS).read_bytes()[:-40])


@kind("a table that is none", "runs.parquet: cannot be read")
def _no_table(folder: Path) -> None:
    written(folder, RUNS, b"PAR1" + b"\0" * 1000 + b"PAR1")


@kind("a pickle in place of a table", "runs.parquet: cannot be read")
def _pickle(folder: Path) -> None:
    written(
        folder,
        RUNS,
        pickle.dumps(np.array([{}], dtype=object)),
    )


@kind("pickled objects in a column", "curves.parquet: column 'bytes': expected int64, got")
def _objects(folder: Path) -> None:
    _, curves = tables(folder)
    objects = [np.array([None], dtype=object).dumps()] * len(curves)
    retabled(folder, curves=curves.set_column(4, "bytes", pa.array(objects, pa.binary())))


@kind("a type that pyarrow once unpickled", "runs.parquet: column 'seed': expected int64, got")
def _extension(folder: Path) -> None:
    runs, _ = tables(folder)
    extension = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": b"\x80\x04."}
    field = pa.field("seed", pa.int32(), metadata=extension)
    where = runs.column_names.index("seed")
    retabled(folder, runs.set_column(where, field, runs.column("seed").cast(pa.int32())))


@kind("flipped bits in a page", "curves.parquet: cannot be read")
def _flipped(folder: Path) -> None:
    content = bytearray((folder / CURVES_FILE).read_bytes())
    content[400] ^= 0xFF
    (folder / CURVES_FILE).write_bytes(content)
    runs = pq.read_table(folder / RUNS)
    checksum = {CURVES_SHA256: hashlib.sha256(bytes(content)).hexdigest().encode()}
    written(folder, RUNS, parquet(runs.replace_schema_metadata(checksum)))


@kind("an empty archive", "runs.parquet: expected at least one record, got none")
def _empty(folder: Path) -> None:
    runs, curves = tables(folder)
    retabled(folder, runs.slice(0, 0), curves.slice(0, 0))


@kind("a column of another kind", "curves.parquet: column 'bytes': expected int64, got double")
def _column_kind(folder: Path) -> None:
    _, curves = tables(folder)
    retabled(folder, curves=column(curves, "bytes", lambda values: values, pa.float64()))


@kind("a column that is missing", "runs.parquet: column 'state': expected string, got none")
def _column_gone(folder: Path) -> None:
    retabled(folder, tables(folder)[0].drop_columns(["state"]))


@kind("a column too many", "runs.parquet: column 'rank': expected no such column, got int64")
def _column_more(folder: Path) -> None:
    runs, _ = tables(folder)
    retabled(folder, runs.append_column("rank", pa.array([1] * len(runs))))


@kind("nulls", "curves.parquet: column bytes: expected a value in every row, 1 are missing")
def _nulls(folder: Path) -> None:
    _, curves = tables(folder)
    retabled(folder, curves=column(curves, "bytes", lambda values: [None, *values[1:]]))


@kind("text that is no text", "runs.parquet: cannot be read .*UTF-?8")
def _bad_text(folder: Path) -> None:
    runs, _ = tables(folder)
    raw = pa.array([b"\xff\xfe"] * len(runs), pa.binary())
    where = runs.column_names.index("selector")
    retabled(folder, runs.set_column(where, "selector", pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())))


@kind("curves of another submission", "curves.parquet is damaged, or of another archive")
def _swapped(folder: Path) -> None:
    _, curves = tables(folder)
    written(folder, CURVES_FILE, parquet(curves.slice(0, len(curves) - 1)))


@kind("curves of other runs", r"run [0-9a-f]{16}: (digests.result|final|curves|time_to_target)")
def _curves_swapped(folder: Path) -> None:
    several = records(folder)
    curves = several[1].curves, several[0].curves
    several[:2] = [one.model_copy(update={"curves": of_other}) for one, of_other in zip(several[:2], curves, strict=True)]
    repacked(folder, several)


@kind("rows that are negative", r"runs.parquet speaks of -?[\d,]+ rows of curves")
def _negative(folder: Path) -> None:
    cell(folder, "points", lambda _: -5)


@kind("more rows than there are", r"runs.parquet speaks of [\d,]+ rows of curves, curves.parquet has")
def _too_many_rows(folder: Path) -> None:
    cell(folder, "points", lambda _: 2**62)


@kind("a text that stands in every row", "runs.parquet: column rest: expected .* bytes in all rows", apart=True)
def _dictionary(folder: Path) -> None:
    """Some kilobytes stand for 75 GB."""
    runs, curves = tables(folder)
    row = {name: runs.column(name).to_pylist()[0] for name in runs.column_names} | {"rest": "x" * (15 << 20), "points": 0}
    indices = pa.array(np.zeros(5000, np.int32))
    columns = {name: pa.DictionaryArray.from_arrays(indices, pa.array([value])) for name, value in row.items()}
    columns |= {name: columns[name].dictionary_decode() for name in ("seed", "points")}
    retabled(folder, pa.table(columns), curves.slice(0, 0), store_schema=False)


@kind("a text of gigabytes", "runs.parquet: .*(bytes when unpacked|texts of at most|cannot be read)", apart=True)
def _long_text(folder: Path) -> None:
    cell(folder, "rest", lambda _: "x" * (300 << 20))


@kind("a row a million times", "runs.parquet: expected at most 1,000,000 rows, got 1,200,000", apart=True)
def _many_rows(folder: Path) -> None:
    runs, curves = tables(folder)
    row = {name: runs.column(name).to_pylist()[0] for name in runs.column_names} | {"points": 0}
    retabled(folder, pa.table({name: pa.repeat(pa.scalar(v), 1_200_000) for name, v in row.items()}), curves.slice(0, 0))


@kind("columns of zeros without end", "curves.parquet: expected at most 50,000,000 rows, got 51,000,000", apart=True)
def _zeros(folder: Path) -> None:
    runs, curves = tables(folder)
    zeros = pa.table({f.name: np.zeros(1_000_000, f.type.to_pandas_dtype()) for f in curves.schema})
    with pq.ParquetWriter(folder / CURVES_FILE, zeros.schema) as file:
        for _ in range(51):
            file.write_table(zeros)
    checksum = {CURVES_SHA256: hashlib.sha256((folder / CURVES_FILE).read_bytes()).hexdigest().encode()}
    written(folder, RUNS, parquet(runs.replace_schema_metadata(checksum)))


@kind("a footer that lies about what unpacks to gigabytes", "runs.parquet: .*cannot be read", apart=True)
def _lying_footer(folder: Path) -> None:
    """Every row has another text of 15 MB, and the footer says 2 MB."""
    runs, _ = tables(folder)
    row = {name: runs.column(name).to_pylist()[0] for name in runs.column_names}
    with pq.ParquetWriter(folder / RUNS, runs.schema, compression="zstd") as file:
        for i in range(350):
            file.write_table(
                pa.table({name: [value] for name, value in {**row, "rest": f"{i} " * (5 << 20)}.items()}, runs.schema)
            )
    content = (folder / RUNS).read_bytes()
    about = pq.read_metadata(folder / RUNS)
    for size in {about.row_group(i).total_byte_size for i in range(about.num_row_groups)}:
        content = content.replace(_varint(size), _varint(2 << 20))
    written(folder, RUNS, content)


def _varint(value: int) -> bytes:
    """As Thrift's compact protocol has an integer of this size: four groups of seven bits."""
    doubled = 2 * value
    assert 2**21 <= doubled < 2**28
    return bytes((doubled >> 7 * i) & 0x7F | (0x80 if i < 3 else 0) for i in range(4))
