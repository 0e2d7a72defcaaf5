"""Reads tables of texts with labels from TSV, Parquet and Arrow files (of the library datasets), up
to a largest size.

A TSV file is UTF-8, with or without a byte order mark: a line with the names of the columns, then
one line per row. Quotes are part of the text, as in GLUE's files. Labels are whole numbers.
Anything else is a RecordError that names file, row and column.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench import plain_files
from fedbench.errors import RecordError, one_line
from fedbench.tasks.files import LARGEST

MOST_BYTES = 1 << 30  # of a Parquet file's columns, unpacked
ENDINGS = (".tsv", ".txt", ".parquet", ".arrow")


@dataclass(frozen=True)
class Texts:
    """n examples: the texts of every column, and labels int64 (n,)."""

    columns: tuple[Sequence[str], ...]
    labels: npt.NDArray[np.int64]


def read_texts(file: Path, columns: Sequence[str], label: str) -> Texts:
    """Returns these columns of a file. The ending of its name says of which kind it is. RecordError
    if it is no such file."""
    if file.suffix not in ENDINGS:
        raise RecordError(f"{file}: the name must end with {', '.join(ENDINGS)}, got {file.suffix or 'no ending'}")
    content = plain_files.content(file, LARGEST, "table of texts", RecordError)
    wanted = [*columns, label]
    rows = _tsv(file, content, wanted) if file.suffix in (".tsv", ".txt") else _arrow(file, content, wanted)
    for name, column in zip(columns, rows, strict=False):
        if (row := next((i for i, text in enumerate(column) if not isinstance(text, str)), None)) is not None:
            raise RecordError(f"{file}: column {name}, row {row + 1}: expected a text, got {column[row]!r:.60}")
    return Texts(tuple(rows[:-1]), _labels(file, label, rows[-1]))


def _indices(file: Path, header: Sequence[str], wanted: Sequence[str]) -> list[int]:
    for name in wanted:
        if header.count(name) != 1:
            raise RecordError(f"{file}: must have one column {name!r}, has {header.count(name)}; its columns are {header!s:.300}")
    return [header.index(name) for name in wanted]


def _tsv(file: Path, content: bytes, wanted: Sequence[str]) -> list[list[Any]]:
    text = plain_files.decoded(content, str(file), RecordError).removeprefix("\ufeff")
    header, *lines = [line.rstrip("\r\n") for line in io.StringIO(text, newline="\n")] or [""]
    names = header.split("\t")
    places = _indices(file, names, wanted)
    rows = []
    for number, line in enumerate(lines, 2):
        fields = line.split("\t")
        if len(fields) != len(names):
            raise RecordError(f"{file}: line {number} must have {len(names)} fields, as the header has, got {len(fields)}")
        rows.append([fields[place] for place in places])
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in wanted]


def _arrow(file: Path, content: bytes, wanted: Sequence[str]) -> list[list[Any]]:
    import pyarrow as pa  # `fedbench list` does without
    import pyarrow.parquet as pq

    try:
        if file.suffix == ".parquet":
            opened = pq.ParquetFile(pa.BufferReader(content))
            _indices(file, opened.schema_arrow.names, wanted)
            size = sum(opened.metadata.row_group(i).total_byte_size for i in range(opened.metadata.num_row_groups))
            if size > MOST_BYTES:
                raise RecordError(f"{file}: columns may have {MOST_BYTES:,} bytes when unpacked, these have {size:,}")
            table = opened.read(columns=list(wanted))
        else:
            table = pa.ipc.open_stream(content).read_all()
            _indices(file, table.column_names, wanted)
        return [table.column(name).to_pylist() for name in wanted]
    except (pa.ArrowException, OSError) as error:
        raise RecordError(f"{file}: not a {file.suffix[1:].capitalize()} file: {one_line(error)}") from None


def _labels(file: Path, name: str, column: Sequence[Any]) -> npt.NDArray[np.int64]:
    labels = np.empty(len(column), np.int64)
    for row, value in enumerate(column):
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            labels[row] = int(value)
        elif isinstance(value, int) and 0 <= value < 1_000_000_000:
            labels[row] = value
        else:
            raise RecordError(f"{file}: column {name}, row {row + 1}: a label must be a whole number from 0, got {value!r:.60}")
    return labels
