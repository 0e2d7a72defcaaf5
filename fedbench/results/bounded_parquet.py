"""Parquet that anybody may have written: its columns, kinds, rows and sizes are looked at before
and while it is read.

A small file can promise any number of rows, and one long text in a dictionary can stand in a
million rows. Rows are counted in the footer, and texts stay in their dictionaries until their sum
is known. Whoever does not trust the footer reads in a process of its own, whose memory the system
bounds: a page may unpack to more than the footer says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fedbench.errors import RecordError

TEXT = "string"
MOST_BYTES = 1 << 30  # of a file's columns, as its footer has them, and of a column's texts
LONGEST_TEXT = 16 << 20  # bytes of one text


def table(content: bytes, kinds: Mapping[str, str], most_rows: int, where: str, *, missing: Collection[str] = ()) -> pa.Table:
    """Returns the table in the content of a file; columns of texts are dictionaries, see `texts`.

    Args: content: the bytes of the file. kinds: the columns that it must have, no others, with the
        kinds of their values, as pyarrow calls them. most_rows: the largest number of rows that is
        read. where: what the file is, for messages. missing: the columns in which values may be
        missing.

    Raises: RecordError: if it is no Parquet file, is damaged, has other columns, a row without a
        value, or more than is read.
    """
    own = [name for name, kind in kinds.items() if kind == TEXT]
    try:
        _check_promise(pq.ParquetFile(pa.BufferReader(content), pre_buffer=False), kinds, most_rows, where)
        opened = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False, page_checksum_verification=True, read_dictionary=own)
        # By this thread alone: a thread of pyarrow that lets go of `content` while the interpreter
        # ends would end the program with it.
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


def _check_promise(opened: pq.ParquetFile, kinds: Mapping[str, str], most_rows: int, where: str) -> None:
    about = opened.metadata
    if not 0 <= about.num_rows <= most_rows:
        raise RecordError(f"{where}: expected at most {most_rows:,} rows, got {about.num_rows:,}")
    schema = opened.schema_arrow
    got = {name: str(kind).replace("<item: ", "<element: ") for name, kind in zip(schema.names, schema.types, strict=True)}
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
        total += int(lengths[chunk.indices.to_numpy()].sum())
    if total > MOST_BYTES:
        raise RecordError(f"{where}: expected at most {MOST_BYTES:,} bytes in all rows, got {total:,}")


def texts(found: pa.Table, name: str) -> list[str]:
    """Returns a column of texts row by row; equal ones share their memory."""
    column: list[str] = []
    for chunk in found.column(name).chunks:
        values = chunk.dictionary.to_pylist()
        column += [values[i] for i in chunk.indices.to_pylist()]
    return column
