"""Reads CSV and TSV files: a line with the names of the columns, then a line per row.

A CSV file is UTF-8, with or without a byte order mark. The header says whether commas, semicolons,
tabs or bars stand between its columns; a number may have a decimal comma between semicolons, as
spreadsheets write it in many countries. Cells may have quotes, and line breaks within these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from fedbench import plain_files
from fedbench.errors import UsageError, shown
from fedbench.tasks.own.columns import Codes, Floats, Key, Place
from fedbench.tasks.own.limits import Limits
from fedbench.tasks.own.tables_of_arrow import reading

DELIMITERS = ",;\t|"
BLOCK = 8 << 20  # bytes that are read at a time, and the longest row
LONGEST_HEADER = 1 << 20  # bytes
INDEX = re.compile(r"(Unnamed: \d+)?")
"""The name of an index that pandas wrote, or that it gives to one that it reads."""
EMPTY = ("", "NA", "N/A", "nan", "NaN", "null", "None")
WORDS = {"true": 1.0, "false": 0.0}


class Csv:
    """The columns of a file, whose cells are all texts."""

    def __init__(self, path: Path, part: str, limits: Limits) -> None:
        self.path, self.delimiter = path, "\t" if path.name.lower().endswith(".tsv") else _delimiter(path)
        self.missing: dict[str, Key] = {}
        with self._opened() as reader:
            self.names = [name for name in reader.schema.names if INDEX.fullmatch(name) is None]

    @contextmanager
    def _opened(self, names: Sequence[str] = ()) -> Iterator[csv.CSVStreamingReader]:
        with plain_files.opened(self.path, "task file") as file, reading(self.path, "CSV"):
            yield csv.open_csv(
                file,
                csv.ReadOptions(use_threads=False, block_size=BLOCK),
                csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                csv.ConvertOptions(include_columns=list(names), column_types=dict.fromkeys(names, pa.string())),
            )

    def batches(self, names: Sequence[str]) -> Iterable[Sequence[CellColumn]]:
        row = 0
        with self._opened(names) as reader:
            for batch in reader:
                yield [CellColumn(batch.column(name), Place(str(self.path), name, row), self.delimiter == ";") for name in names]
                row += len(batch)


def _delimiter(path: Path) -> str:
    """Returns the delimiter that cuts the header into most columns; of several, the first one."""
    with plain_files.opened(path, "task file") as file:
        header = file.readline(LONGEST_HEADER)
    if len(header) == LONGEST_HEADER:
        raise UsageError(f"task file {shown(path)}: expected a header of at most {LONGEST_HEADER:,} bytes, got more")
    outside_quotes = re.sub(rb'"[^"]*"', b"", header)
    return max(DELIMITERS, key=lambda one: outside_quotes.count(one.encode()))


@dataclass(frozen=True)
class CellColumn:
    """Cells of a column, of which nobody knows whether they are numbers before that is asked
    for."""

    values: pa.StringArray
    place: Place
    has_decimal_commas: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> Floats:
        cells = pc.utf8_trim_whitespace(self.values)
        self._refuse(pc.is_in(cells, pa.array(EMPTY)))
        if self.has_decimal_commas:
            cells = pc.replace_substring(cells, ",", ".")
        try:
            found = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            found = np.array([self._number(row, cell) for row, cell in enumerate(cells.to_pylist())])
        with np.errstate(over="ignore"):
            return self.place.finite(found.astype(np.float32))

    def _number(self, row: int, cell: str) -> float:
        if cell.lower() in WORDS:
            return WORDS[cell.lower()]
        try:
            return float(pa.scalar(cell).cast(pa.float64()).as_py())
        except pa.ArrowInvalid:
            raise self.place.error(
                f"must be a number, got {shown(cell, 60)!r}; leave it out with task.features, or make numbers of it", row
            ) from None

    def keys(self) -> tuple[Sequence[Any], Codes]:
        coded = pc.dictionary_encode(pc.utf8_trim_whitespace(self.values))
        self._refuse(pc.equal(coded.dictionary_decode(), ""))
        return coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)

    def _refuse(self, empty: pa.BooleanArray) -> None:
        rows = np.flatnonzero(empty.to_numpy(zero_copy_only=False))
        if len(rows):
            raise self.place.error("is empty; remove the example or fill it in", int(rows[0]))
