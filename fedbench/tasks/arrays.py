"""Tasks of a user's own data: a file with columns of features, a column of labels and, if there is
one, a column that says who owns an example.

A file is NumPy's `.npz` (arrays of one length), Parquet (columns) or a folder that Hugging Face
`datasets` saved to disk (its columns). Numbers are used as they are, as float32, so the user has to
scale them. Labels and owners are whole numbers or texts, which are sorted and then numbered from 0.
Nothing that a file holds is executed: arrays of Python objects are refused.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench import places
from fedbench.errors import UsageError, nearest
from fedbench.kernels.random import draw_share_of_every_class
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.task import Task

Columns = Mapping[str, npt.NDArray[Any]]
STATE = "state.json"
"""The file in which `datasets` lists the data files of a folder."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """The files and columns of a task.

    `label` and `client` name the columns of labels and of owners. `features` names the columns that
    make an example; if it is empty, they are all others. One column may have any shape (n, ..);
    several are joined to (n, f). `test` is a second file; without one, `test_share` of the examples
    of every class is for testing, the same for every seed. `sha256` has the sums of file and test,
    as fedbench.places.sha256 computes them.
    """

    name: str
    file: str
    label: str
    client: str | None = None
    features: tuple[str, ...] = ()
    test: str | None = None
    test_share: float = 0.2
    sha256: tuple[str, ...] = ()


def load(source: Source, model: str = "softmax") -> Task:
    """Returns the task of a source. MissingDataError if a file is missing; UsageError, which names
    file and column, if its sum is another one, or it is no table of numbers with labels."""
    return Task.of(dataset(source), model)


def dataset(source: Source) -> Dataset:
    """Returns the data set of a source. The errors are those of `load`."""
    files = [
        places.found(file, key) for key, file in (("task.file", source.file), ("task.test", source.test)) if file is not None
    ]
    for file, expected in zip(files, source.sha256, strict=bool(source.sha256)):
        if (found := places.sha256(file)) != expected:
            raise UsageError(f"task file {file}: its sha256 must be {expected[:16]}.., got {found[:16]}..: it is another one")
    tables = [_Table(str(file), _read(file)) for file in files]
    labels = tables[0].numbered(source.label)
    owner = None if source.client is None else tables[0].numbered(source.client).numbers
    train = Examples(tables[0].features(source), labels.numbers, owner)
    if len(tables) == 2:
        test = Examples(tables[1].features(source), tables[1].numbered(source.label, labels.values).numbers)
        return Dataset(source.name, train, test, len(labels.values))
    return Dataset(source.name, train, train, len(labels.values)).split(_test_rows(train.y, source))


def _test_rows(labels: npt.NDArray[np.int64], source: Source) -> npt.NDArray[np.int64]:
    """Returns the rows of the test examples, ascending: the rounded share of every class, by a
    permutation that is the same for every seed."""
    found = draw_share_of_every_class(labels, source.test_share, 0, 3)
    if len(found) in (0, len(labels)):
        raise UsageError(
            f"task file {source.file}: test_share {source.test_share:g} leaves {len(found)} of {len(labels)} examples for testing; "
            "there must be some on both sides"
        )
    return found


# ---- columns ----


@dataclass(frozen=True)
class _Numbered:
    """The sorted values of a column, and for every row the place of its value among them."""

    values: npt.NDArray[Any]
    numbers: npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Table:
    """Columns of one length, and the file that they are from."""

    file: str
    columns: Columns

    def __post_init__(self) -> None:
        lengths = {name: len(column) for name, column in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise UsageError(
                f"task file {self.file}: its arrays must have one length, got "
                f"{', '.join(f'{name} {length}' for name, length in lengths.items())}"
            )

    def column(self, name: str) -> npt.NDArray[Any]:
        if name not in self.columns:
            raise UsageError(f"task file {self.file}: has no column {name!r}{nearest(name, self.columns)}")
        return self.columns[name]

    def numbered(self, name: str, known: npt.NDArray[Any] | None = None) -> _Numbered:
        """Returns a column of whole numbers or texts, numbered in the order of its values, or in
        that of `known` ones. UsageError if it has values that are not known."""
        column = self.column(name)
        if column.ndim != 1 or column.dtype.kind not in "iubU":
            raise UsageError(
                f"task file {self.file}: column {name} must be whole numbers or texts (n,), got {column.dtype} {column.shape}"
            )
        values, numbers = np.unique(column, return_inverse=True)
        if known is None:
            return _Numbered(values, numbers.astype(np.int64))
        unknown = [value for value in values.tolist() if value not in set(known.tolist())]
        if unknown:
            raise UsageError(f"task file {self.file}: column {name} has {unknown[0]!r}, which the training examples do not have")
        return _Numbered(known, np.searchsorted(known, values)[numbers].astype(np.int64))

    def features(self, source: Source) -> npt.NDArray[np.float32]:
        """Returns the examples, float32 (n, ..)."""
        others = tuple(name for name in self.columns if name not in (source.label, source.client))
        names = source.features or others
        if not names:
            raise UsageError(f"task file {self.file}: has no column of features beside {source.label}")
        parts = [self._numbers(name) for name in names]
        if len(parts) > 1:
            parts = [np.hstack([part.reshape(len(part), -1) for part in parts])]
        return np.ascontiguousarray(parts[0] if parts[0].ndim > 1 else parts[0][:, None])

    def _numbers(self, name: str) -> npt.NDArray[np.float32]:
        column = self.column(name)
        if column.dtype.kind not in "iubf":
            raise UsageError(
                f"task file {self.file}: column {name} must be numbers, got {column.dtype}; leave it out with task.features, or make "
                "numbers of it"
            )
        numbers = column.astype(np.float32)
        if not np.isfinite(numbers).all():
            row = int(np.flatnonzero(~np.isfinite(numbers.reshape(len(numbers), -1)).all(axis=1))[0])
            raise UsageError(f"task file {self.file}: column {name}, row {row} is not finite; remove the example or fill it in")
        return numbers


# ---- files ----


def _read(path: Path) -> Columns:
    read = _READERS.get("folder" if path.is_dir() else path.suffix)
    if read is None:
        raise UsageError(
            f"task file {path}: expected .npz, .parquet or a folder that datasets saved to disk, got {path.suffix!r}"
        )
    return read(path)


def _npz(path: Path) -> Columns:
    try:
        with path.open("rb") as opened, zipfile.ZipFile(opened) as packed:
            return {name.removesuffix(".npy"): np.atleast_1d(_npy(packed, name)) for name in packed.namelist()}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(f"task file {path}: cannot be read as .npz: {error}") from None


def _npy(packed: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    with packed.open(name) as opened:
        return np.lib.format.read_array(opened, allow_pickle=False)


def _parquet(path: Path) -> Columns:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        return _of_table(pyarrow.parquet.read_table(path), path)
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"task file {path}: cannot be read as Parquet: {error}") from None


def _saved_dataset(folder: Path) -> Columns:
    """Reads the folder of one split, whose state.json lists files of Arrow streams."""
    import pyarrow as pa

    if (folder / "dataset_dict.json").is_file():
        names = sorted(place.name for place in folder.iterdir() if place.is_dir())
        raise UsageError(f"task file {folder}: has several splits; name one of its folders: {', '.join(names)}")
    try:
        state = json.loads((folder / STATE).read_text())
        tables = [pa.ipc.open_stream(folder / Path(one["filename"]).name).read_all() for one in state["_data_files"]]
        return _of_table(pa.concat_tables(tables), folder)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"task file {folder}: cannot be read as a folder that datasets saved to disk: {type(error).__name__}: {error}"
        ) from None


def _of_table(table: Any, path: Path) -> Columns:
    return {
        name: _of_column(table.column(name).combine_chunks(), f"task file {path}: column {name}") for name in table.column_names
    }


def _of_column(column: Any, place: str) -> npt.NDArray[Any]:
    """Returns a column as an array of numbers or texts. Lists of one length become a further
    dimension. UsageError, which begins with `place`, for other columns."""
    import pyarrow as pa

    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        raise UsageError(f"{place}, row {row} is empty; remove the example or fill it in")
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _of_column(column.dictionary_decode(), place)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.array(column.to_pylist(), np.str_)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        sizes = column.value_lengths().unique().to_pylist()
        if len(sizes) != 1:
            raise UsageError(f"{place} must hold lists of one length, got lengths {', '.join(map(str, sorted(sizes)[:5]))}")
        inside = _of_column(column.flatten(), place)
        return inside.reshape(len(column), sizes[0], *inside.shape[1:])
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    raise UsageError(f"{place} must be numbers, texts or lists of one length of them, got {kind}")


_READERS: dict[str, Callable[[Path], Columns]] = {".npz": _npz, ".parquet": _parquet, "folder": _saved_dataset}
