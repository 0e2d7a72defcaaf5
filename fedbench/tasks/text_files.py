"""Reads tables of texts with labels from TSV, Parquet and Arrow files (of the library datasets), up
to a largest size.

A TSV file is UTF-8, with or without a byte order mark: a line with the names of the columns, then
one line per row. Quotes are part of the text, as in GLUE's files. Labels are whole numbers.
Anything else is a RecordError that names file, row and column.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fedbench import plain_files
from fedbench.errors import RecordError, UsageError, shown
from fedbench.tasks.files import LARGEST
from fedbench.tasks.own import bounded
from fedbench.tasks.own.limits import Limits

MOST_ROWS = 5_000_000
LONGEST_TEXT = 100_000  # characters
LONGEST_LINE = 1 << 20  # bytes, of a TSV file
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
        raise RecordError(f"{shown(file)}: the name must end with {', '.join(ENDINGS)}, got {file.suffix or 'no ending'}")
    wanted = [*columns, label]
    rows = _tsv(file, wanted) if file.suffix in (".tsv", ".txt") else _arrow(file, wanted)
    return Texts(tuple(rows[:-1]), _labels(file, label, rows[-1]))


def check_columns(file: Path, header: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Returns the places of the wanted columns. RecordError if one is not there once."""
    for name in wanted:
        if header.count(name) != 1:
            raise RecordError(
                f"{shown(file)}: must have one column {name!r}, has {header.count(name)}; its columns are {header!s:.300}"
            )
    return [header.index(name) for name in wanted]


def check_text(file: Path, column: str, row: int, text: object) -> None:
    """Raises RecordError, in which rows count from 0, unless this is a text that is not too
    long."""
    if not isinstance(text, str):
        raise RecordError(f"{shown(file)}: column {column}, row {row}: expected a text, got {text!r:.60}")
    if len(text) > LONGEST_TEXT:
        raise RecordError(
            f"{shown(file)}: column {column}, row {row}: expected a text of at most {LONGEST_TEXT:,} characters, got {len(text):,}"
        )


def _tsv(file: Path, wanted: Sequence[str]) -> list[list[str]]:
    content = plain_files.content(file, LARGEST, "table of texts", RecordError)
    ends = np.flatnonzero(np.frombuffer(content + b"\n", np.uint8) == ord("\n"))
    longest = int(np.diff(ends, prepend=-1).max())
    if longest > LONGEST_LINE or len(ends) > MOST_ROWS:
        raise RecordError(
            f"{shown(file)}: expected at most {MOST_ROWS:,} lines of at most {LONGEST_LINE:,} bytes, got {len(ends):,} of up to {longest:,}"
        )
    text = plain_files.decoded(content, shown(file), RecordError).removeprefix("\ufeff")
    header, *lines = [line.rstrip("\r\n") for line in io.StringIO(text, newline="\n")] or [""]
    names = header.split("\t")
    places = check_columns(file, names, wanted)
    rows = []
    for number, line in enumerate(lines, 2):
        fields = line.split("\t")
        if len(fields) != len(names):
            raise RecordError(f"{shown(file)}: line {number} must have {len(names)} fields, as the header has, got {len(fields)}")
        rows.append([fields[place] for place in places])
        for name, place in zip(wanted[:-1], places, strict=False):
            check_text(file, name, number - 2, fields[place])
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in wanted]


def _arrow(file: Path, wanted: Sequence[str]) -> list[list[str]]:
    """Returns the columns of a Parquet or Arrow file, which another process reads."""
    with plain_files.opened(file, "table of texts", RecordError) as opened:
        size = os.fstat(opened.fileno()).st_size
    if size > LARGEST:
        raise RecordError(f"{shown(file)}: expected at most {LARGEST:,} bytes, got {size:,}")
    try:
        _, lines = bounded.done("texts", Limits(file, size), columns=list(wanted))
    except UsageError as error:
        raise RecordError(str(error)) from None
    parts = [json.loads(line) for line in bytes(lines).splitlines()]
    return [[value for part in parts for value in part[i]] for i in range(len(wanted))]


def _labels(file: Path, name: str, column: Sequence[object]) -> npt.NDArray[np.int64]:
    labels = np.empty(len(column), np.int64)
    for row, value in enumerate(column):
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            labels[row] = int(value)
        elif isinstance(value, int) and 0 <= value < 1_000_000_000:
            labels[row] = value
        else:
            raise RecordError(
                f"{shown(file)}: column {name}, row {row}: a label must be a whole number from 0, got {value!r:.60}"
            )
    return labels
