"""Reads Parquet files that anybody may have written. Columns, kinds of values, numbers of rows and
sizes are checked before and while a file is read.

A small file can promise any number of rows, so rows are counted in the footer first. One long text
in a dictionary can stand in a million rows, so texts stay in their dictionaries until their total
size is known. A page may unpack to more than the footer says. A caller who does not trust the
footer therefore reads in another process, whose memory the system bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fedbench.errors import RecordError
from fedbench.results import arrow

TEXT = "string"
MOST_BYTES = 1 << 30  # of a file's columns, as its footer has them, and of a column's texts
LONGEST_TEXT = 16 << 20  # bytes of one text


def table(
    content: bytes,
    kinds: Mapping[str, str],
    most_rows: int,
    where: str,
    *,
    missing: Collection[str] = (),
    optional: Mapping[str, str] | None = None,
) -> pa.Table:
    """Returns the table in the content of a file. Columns of texts are dictionaries; `texts` turns
    one into a list.

    Args:
        content: the bytes of the file.
        kinds: the columns that it must have, and no others, with the kinds of their values as
            pyarrow calls them.
        most_rows: the largest number of rows that is read.
        where: what the file is, for messages.
        missing: the columns in which values may be missing.
        optional: columns that it may have beside them.

    Raises:
        RecordError: if it is no Parquet file, is damaged, has other columns, lacks a value, or is
            too large.
    """
    own = [name for name, kind in kinds.items() if kind == TEXT]
    try:
        promised = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
        there = set(promised.schema_arrow.names)
        kinds = {**kinds, **{name: values for name, values in (optional or {}).items() if name in there}}
        _check_promise(promised, kinds, most_rows, where)
        opened = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False, page_checksum_verification=True, read_dictionary=own)
        # Without pyarrow's threads: if one of them releases `content` while the interpreter ends,
        # it takes the whole program down.
        found = opened.read(use_threads=False)
        found.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise RecordError(f"{where}: cannot be read ({' '.join(str(error).split()):.300})") from None
    for name in kinds:
        if name not in missing and found.column(name).null_count:
            raise RecordError(
                f"{where}: column {name}: expected a value in every row, {found.column(name).null_count} are missing"
            )
    for name in own:
        _check_texts(found.column(name), f"{where}: column {name}")
    return found


def kind(values: pa.DataType) -> str:
    """Returns the kind of values as `table` takes it: pyarrow's name for it, in which the values of
    a list are always called `element`, and not sometimes `item`."""
    return str(values).replace("<item: ", "<element: ")


def _check_promise(opened: pq.ParquetFile, kinds: Mapping[str, str], most_rows: int, where: str) -> None:
    about = opened.metadata
    if not 0 <= about.num_rows <= most_rows:
        raise RecordError(f"{where}: expected at most {most_rows:,} rows, got {about.num_rows:,}")
    schema = opened.schema_arrow
    got = {name: kind(values) for name, values in zip(schema.names, schema.types, strict=True)}
    for name in dict.fromkeys([*kinds, *got]):
        if got.get(name) != kinds.get(name):
            raise RecordError(
                f"{where}: column {name!r:.60}: expected {kinds.get(name, 'no such column')}, got {got.get(name, 'none')!s:.80}"
            )
    if len(schema.names) != len(got):
        raise RecordError(f"{where}: expected every column once, got {len(schema.names)} columns of {len(got)} names")
    size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    if not 0 <= size <= MOST_BYTES:
        raise RecordError(f"{where}: expected at most {MOST_BYTES:,} bytes when unpacked, got {size:,}")


def _check_texts(column: pa.ChunkedArray, where: str) -> None:
    total = 0
    for chunk in column.chunks:
        lengths = np.array([len(one.as_buffer()) for one in chunk.dictionary], np.int64)
        if lengths.size and lengths.max() > LONGEST_TEXT:
            raise RecordError(f"{where}: expected texts of at most {LONGEST_TEXT:,} bytes, got {lengths.max():,}")
        total += int(lengths[arrow.part(chunk.indices)].sum())
    if total > MOST_BYTES:
        raise RecordError(f"{where}: expected at most {MOST_BYTES:,} bytes in all rows, got {total:,}")


def texts(found: pa.Table, name: str) -> list[str]:
    """Returns a column of texts row by row. Equal texts share their memory."""
    column: list[str] = []
    for chunk in found.column(name).chunks:
        values = chunk.dictionary.to_pylist()
        column += [values[i] for i in chunk.indices.to_pylist()]
    return column
