"""Reads Parquet files, shards of them, and folders that Hugging Face `datasets` saved to disk, a
part at a time."""

from __future__ import annotations

import contextlib
import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fedbench import own_files, plain_files
from fedbench.errors import UsageError, one_line, shown, some
from fedbench.tasks.own.arrow_columns import TEXTS, ArrowColumn, is_one_of
from fedbench.tasks.own.columns import Place, Table
from fedbench.tasks.own.limits import Limits
from fedbench.tasks.own.pictures import Pictures

LARGEST_FOOTER = 16 << 20  # bytes of what a Parquet file says about its columns
BATCH_BYTES = 16 << 20
ARROW_FILE = b"ARROW1"
"""How an Arrow file begins, which is a stream with a list of its parts behind it."""
MOST_ROWS = 65_536  # of a batch
BROKEN = (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError, TypeError)


@contextlib.contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Makes a UsageError of what pyarrow raises for a file that is none."""
    try:
        yield
    except BROKEN as error:
        why = shown(one_line(error)) or type(error).__name__
        raise UsageError(f"task file {shown(path)}: cannot be read as {what}: {why}") from None


class _OfArrow(Table):
    """What all of these have: names and types of columns, and pandas' and `datasets`' notes about
    them."""

    files: Sequence[Path]

    def __init__(self, path: Path, schema: pa.Schema, limits: Limits) -> None:
        self.path, self.schema, self.limits = path, schema, limits
        self.names, self.index = _without_index(schema), _index_of_pandas(schema)
        self.missing = dict.fromkeys(_class_labels(schema), (-1,))
        self.pictures = {name: Pictures(limits) for name in schema.names}

    @abstractmethod
    def _batches_of(self, file: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yields the rows of one of the files, some at a time, with at least these columns."""

    def batches(self, features: Sequence[str], keys: Sequence[str]) -> Iterable[Sequence[ArrowColumn]]:
        names, row = [*features, *keys], 0
        for file in self.files:
            for batch in self._batches_of(file, names):
                yield [ArrowColumn(batch.column(name), Place(str(self.path), name, row), self.pictures[name]) for name in names]
                row += len(batch)


class Parquet(_OfArrow):
    """A Parquet file, or several, one after the other, which have all columns that are read."""

    def __init__(self, path: Path, part: str, limits: Limits) -> None:
        self.files = own_files.files_of(path, part)
        with _opened(self.files[0]) as first:
            super().__init__(path, first.schema_arrow, limits)
        for file in self.files[1:]:
            with _opened(file) as other:  # a column of some files alone is refused if it is read, not left out
                self.names = list((Counter(self.names) | Counter(_without_index(other.schema_arrow))).elements())

    def _batches_of(self, file: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        texts = [field.name for field in self.schema if field.name in names and is_one_of(field.type, TEXTS)]
        with _opened(file, texts) as opened:
            lacking = [name for name in names if name not in opened.schema_arrow.names]
            if lacking:
                raise UsageError(
                    f"task file {shown(file)}: lacks {some(lacking)}, which other files of its folder have; task.features names the "
                    "columns that count"
                )
            rows = self._rows_at_a_time(opened, names)
            with reading(file, "Parquet"):
                yield from opened.iter_batches(rows, columns=list(names), use_threads=False)

    def _rows_at_a_time(self, opened: pq.ParquetFile, names: Sequence[str]) -> int:
        """Returns how many rows are read at once. The footer says how many values a column has, and
        so how many bytes; of texts and images it says what they take in the file."""
        about, taken = opened.metadata, 0
        rows = max(1, int(about.num_rows))
        columns = [i for i in range(about.num_columns) if about.schema.column(i).path.split(".")[0] in names]
        for group in range(about.num_row_groups):
            for i in columns:
                column = about.row_group(group).column(i)
                width = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4}.get(column.physical_type, 8)
                is_of_bytes = column.physical_type.endswith("BYTE_ARRAY")
                taken += max(0, column.total_uncompressed_size) if is_of_bytes else max(0, column.num_values) * width
        self.limits.unpacked(taken)
        return max(1, min(MOST_ROWS, BATCH_BYTES // max(1, taken // rows)))


@contextlib.contextmanager
def _opened(file: Path, as_dictionary: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
    """Gives an opened Parquet file. Columns of texts stay dictionaries, since one long text can
    stand in a million rows."""
    with plain_files.opened(file, "task file") as plain, reading(file, "Parquet"):
        plain.seek(max(0, plain.seek(0, 2) - 8))
        footer = int.from_bytes(plain.read(4), "little")
        if plain.read(4) != b"PAR1":
            raise pa.ArrowInvalid("it does not end as such a file does")
        if footer > LARGEST_FOOTER:
            raise UsageError(f"task file {shown(file)}: expected a footer of at most {LARGEST_FOOTER:,} bytes, got {footer:,}")
        with pq.ParquetFile(plain, read_dictionary=list(as_dictionary), pre_buffer=False) as opened:
            yield opened


class Saved(_OfArrow):
    """The data files of one split that `datasets` saved to disk: Arrow streams."""

    def __init__(self, path: Path, part: str, limits: Limits) -> None:
        self.files = own_files.files_of(path, part)
        if not self.files:
            raise UsageError(f"task file {shown(path)}: expected at least one data file, got none")
        with self._stream(path, self.files[0]) as first:
            super().__init__(path, first.schema, limits)

    @contextlib.contextmanager
    def _stream(self, path: Path, file: Path) -> Iterator[pa.ipc.RecordBatchStreamReader]:
        with plain_files.opened(file, "task file") as plain, reading(path, "a stream of Arrow"):
            if plain.peek(len(ARROW_FILE)).startswith(ARROW_FILE):
                raise UsageError(
                    f"task file {shown(file)}: expected a stream of Arrow, as datasets saves it, got an Arrow file; write it as .parquet, "
                    "or with save_to_disk"
                )
            yield pa.ipc.open_stream(plain)

    def _batches_of(self, file: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with self._stream(self.path, file) as stream:
            if not stream.schema.equals(self.schema):
                raise UsageError(f"task file {shown(file)}: has other columns than {self.files[0].name}")
            for batch in stream:
                batch.validate(full=True)
                yield batch


def _without_index(schema: pa.Schema) -> list[str]:
    index = _index_of_pandas(schema)
    return [name for name in schema.names if name not in index]


def _index_of_pandas(schema: pa.Schema) -> set[str]:
    """Returns the names of the columns that are the index of a data frame, as its metadata say."""
    about = _metadata(schema, b"pandas")
    found = about.get("index_columns", []) if isinstance(about, dict) else []
    return {name for name in found if isinstance(name, str)} if isinstance(found, list) else set()


def _class_labels(schema: pa.Schema) -> list[str]:
    """Returns the columns of the type ClassLabel of `datasets`, in which -1 stands for no label."""
    match _metadata(schema, b"huggingface"):
        case {"info": {"features": dict(features)}}:
            return [name for name, kind in features.items() if isinstance(kind, dict) and kind.get("_type") == "ClassLabel"]
    return []


def _metadata(schema: pa.Schema, key: bytes) -> object:
    """Returns what another library wrote about the columns; None if that is not what it writes."""
    try:
        return json.loads((schema.metadata or {}).get(key, b"null"))
    except (ValueError, RecursionError):
        return None
