"""Reads CSV and TSV files: a line with the names of the columns, then a line per row.

A CSV file is UTF-8, with or without a byte order mark. The header says whether commas, semicolons,
tabs or bars stand between its columns; a number may have a decimal comma between semicolons, as
spreadsheets write it in many countries. Cells may have quotes, and line breaks within these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from fedbench import plain_files
from fedbench.errors import UsageError, shown
from fedbench.tasks.own.arrow_columns import ArrowColumn
from fedbench.tasks.own.columns import EMPTY, Column, Place, Table
from fedbench.tasks.own.limits import Limits
from fedbench.tasks.own.tables_of_arrow import reading

DELIMITERS = ",;\t|"
BLOCK = 8 << 20  # bytes that are read at a time, and the longest row
LONGEST_HEADER = 1 << 20  # bytes
INDEX = re.compile(r"(Unnamed: \d+)?")
"""The name of an index that pandas wrote, or that it gives to one that it reads."""
CELL = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to [^:]*: invalid (?:value '(.*)'|UTF8 data)", re.DOTALL
)
ROW = re.compile(r"CSV parse error: Row #(\d+): (.*)", re.DOTALL)
"""What pyarrow says of a cell or a row that it cannot read. It counts the header as the first
row."""
MISSING = frozenset((*csv.ConvertOptions().null_values, "None"))
"""Cells that stand for a missing value, whatever the column is used as."""


class Csv(Table):
    """The columns of a file. Features are read as numbers, since a column of texts takes far more
    memory."""

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
                self._refuse(str(error))
                raise

    def batches(self, features: Sequence[str], keys: Sequence[str]) -> Iterable[Sequence[Column]]:
        if self.delimiter == ";":
            self._decide_decimal(features)
        words = {name for name in features if pa.types.is_boolean(self.schema.field(name).type)}
        types = {name: pa.bool_() if name in words else pa.float64() for name in features} | dict.fromkeys(keys, pa.string())
        row = 0
        with self._opened(types) as reader:
            for batch in reader:
                columns = [(name, batch.column(name)) for name in features]
                columns += [(name, pc.utf8_trim_whitespace(batch.column(name))) for name in keys]
                yield [ArrowColumn(values, Place(str(self.path), name, row)) for name, values in columns]
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

    def _refuse(self, said: str) -> None:
        """Raises UsageError for a cell or a row of which pyarrow says what is wrong."""
        if row := ROW.fullmatch(said):
            raise UsageError(f"task file {shown(self.path)}: cannot be read as CSV: row {int(row[1]) - 2}: {shown(row[2])}")
        if cell := CELL.fullmatch(said):
            column, number, value = cell.groups()
            if value is None:
                problem = "must be texts in UTF-8, got other bytes"
            elif value.strip() in MISSING:
                problem = EMPTY
            else:
                problem = f"must be a number, got '{shown(value, 60)}'; leave it out with task.features, or make numbers of it"
            raise Place(str(self.path), self.schema.names[int(column)]).error(problem, int(number) - 2)


def _delimiter(path: Path) -> str:
    """Returns the delimiter that cuts the header into most columns; of several, the first one. It
    is a tab in a TSV file. UsageError for a header that is too long, or not UTF-8."""
    with plain_files.opened(path, "task file") as file:
        header = file.readline(LONGEST_HEADER)
    if len(header) == LONGEST_HEADER:
        raise UsageError(f"task file {shown(path)}: expected a header of at most {LONGEST_HEADER:,} bytes, got more")
    outside_quotes = re.sub(r'"[^"]*"', "", plain_files.decoded(header, f"task file {shown(path)}"))
    return "\t" if path.name.lower().endswith(".tsv") else max(DELIMITERS, key=outside_quotes.count)
