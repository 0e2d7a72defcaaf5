"""Reads CSV and TSV files: a line with the names of the columns, then a line per row.

A CSV file is UTF-8, with or without a byte order mark. The header says whether commas, semicolons,
tabs or bars stand between its columns; a number may have a decimal comma between semicolons, as
spreadsheets write it in many countries. Cells may have quotes, and line breaks within these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from fedbench import plain_files
from fedbench.errors import UsageError, shown
from fedbench.tasks.own.arrow_columns import ArrowColumn
from fedbench.tasks.own.columns import EMPTY, Codes, Column, Floats, Place, Table, Value
from fedbench.tasks.own.limits import Limits
from fedbench.tasks.own.tables_of_arrow import reading

DELIMITERS = ",;\t|"
BLOCK = 8 << 20  # bytes that are read at a time, and the longest row
LONGEST_HEADER = 1 << 20  # bytes
INDEX = re.compile(r"(Unnamed: \d+)?")
"""The name of an index that pandas wrote, or that it gives to one that it reads."""
MISSING = frozenset((*csv.ConvertOptions().null_values, "None"))
"""Cells that stand for a missing value, whatever the column is used as."""


class Csv(Table):
    """The columns of a file. Features are read as numbers, since a column of texts takes far more
    memory; of what is no number, the column is read again to find its row."""

    def __init__(self, path: Path, part: str, limits: Limits) -> None:
        self.path, self.delimiter = path, _delimiter(path)
        self.decimal = "."
        self.schema = self._schema()
        self.names = [name for name in self.schema.names if INDEX.fullmatch(name) is None]
        self.missing = dict.fromkeys(self.names, MISSING)

    def _schema(self) -> pa.Schema:
        """Returns the columns with the types that the first rows suggest."""
        with self._opened({}) as reader:
            return reader.schema

    @contextmanager
    def _opened(self, types: Mapping[str, pa.DataType]) -> Iterator[csv.CSVStreamingReader]:
        with plain_files.opened(self.path, "task file") as file, reading(self.path, "CSV"):
            try:
                yield csv.open_csv(
                    file,
                    csv.ReadOptions(use_threads=False, block_size=BLOCK),
                    csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                    csv.ConvertOptions(
                        include_columns=list(types), column_types=types, null_values=list(MISSING), decimal_point=self.decimal
                    ),
                )
            except pa.ArrowInvalid as error:
                column = re.search(r"CSV column #(\d+): .*conversion error to double", str(error))
                if column is not None:
                    self._find_row(self.schema.names[int(column[1])])
                raise

    def batches(self, features: Sequence[str], keys: Sequence[str]) -> Iterable[Sequence[Column]]:
        if self.delimiter == ";":
            self._decide_decimal(features)
        words = {name for name in features if pa.types.is_boolean(self.schema.field(name).type)}
        types = {name: pa.bool_() if name in words else pa.float64() for name in features} | dict.fromkeys(keys, pa.string())
        row = 0
        with self._opened(types) as reader:
            for batch in reader:
                kinds = [(ArrowColumn, name) for name in features] + [(CellColumn, name) for name in keys]
                yield [kind(batch.column(name), Place(str(self.path), name, row)) for kind, name in kinds]
                row += len(batch)

    def _decide_decimal(self, features: Sequence[str]) -> None:
        """Decides what stands before decimals: the sign with which more of the features are no
        whole numbers. Columns of texts have no part in it."""
        found = {}
        for sign in ".,":
            self.decimal = sign
            found[sign] = self._schema()
        self.decimal = max(found, key=lambda sign: sum(pa.types.is_floating(found[sign].field(name).type) for name in features))
        self.schema = found[self.decimal]

    def _find_row(self, name: str) -> None:
        """Raises UsageError for the first cell of a column that is no number."""
        row = 0
        with self._opened({name: pa.string()}) as reader:
            for batch in reader:
                CellColumn(batch.column(name), Place(str(self.path), name, row)).refuse_words(self.decimal)
                row += len(batch)


def _delimiter(path: Path) -> str:
    """Returns the delimiter that cuts the header into most columns; of several, the first one. It
    is a tab in a TSV file. UsageError for a header that is too long, or not UTF-8."""
    with plain_files.opened(path, "task file") as file:
        header = file.readline(LONGEST_HEADER)
    if len(header) == LONGEST_HEADER:
        raise UsageError(f"task file {shown(path)}: expected a header of at most {LONGEST_HEADER:,} bytes, got more")
    outside_quotes = re.sub(r'"[^"]*"', "", plain_files.decoded(header, f"task file {shown(path)}"))
    return "\t" if path.name.lower().endswith(".tsv") else max(DELIMITERS, key=outside_quotes.count)


@dataclass(frozen=True)
class CellColumn:
    """Cells of a column as texts."""

    values: pa.StringArray
    place: Place

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> Floats:
        raise self.place.error("must be numbers, got texts")

    def refuse_words(self, decimal: str) -> None:
        """Raises UsageError for the first cell that is no number."""
        for row, cell in enumerate(self.values.to_pylist()):
            if cell.strip() in MISSING:
                raise self.place.error(EMPTY, row)
            try:
                pa.scalar(cell.strip().translate({ord(decimal): ".", ord("."): decimal})).cast(pa.float64())
            except pa.ArrowInvalid:
                raise self.place.error(
                    f"must be a number, got '{shown(cell, 60)}'; leave it out with task.features, or make numbers of it", row
                ) from None

    def keys(self) -> tuple[Sequence[Value], Codes]:
        return ArrowColumn(pc.utf8_trim_whitespace(self.values), self.place).keys()
