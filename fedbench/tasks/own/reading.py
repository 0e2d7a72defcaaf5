"""Reads the columns of a data set that are asked for: examples one after the other, then the codes
of their labels and owners."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fedbench import own_files
from fedbench.errors import UsageError, shown
from fedbench.tasks.own.choice import Wanted, features_of
from fedbench.tasks.own.columns import Codes, Floats, Key, Numbering, Place, Table
from fedbench.tasks.own.limits import Limits

MOST_CLASSES = 100_000
MOST_OWNERS = 10_000_000


@dataclass(frozen=True)
class Keys:
    """The values of a column of labels or owners in their order, and the place of every row's value
    among them (n,)."""

    values: Sequence[Key]
    codes: Codes


@dataclass(frozen=True)
class Read:
    """One part of a data set: the names of the features, n examples x (n, ..) of them joined,
    labels, and owners if they were asked for and are there. Real labels are `numbers` (n,), and
    belong to one class."""

    features: tuple[str, ...]
    x: Floats
    labels: Keys
    owners: Keys | None
    numbers: Floats | None = None


@dataclass(frozen=True)
class Answer:
    """What is said of a part of a data set that was written, as values for JSON: the names of the
    features, the shape of the examples, the values of labels and owners, and whether labels are
    real. Also the parts that a data set has, or the error of reading it."""

    features: Sequence[str] = ()
    shape: Sequence[int] = ()
    keys: Sequence[Sequence[Key]] = ()
    real: bool = False
    parts: Sequence[str] = ()
    error: str = ""
    message: str = ""


def parts(path: Path) -> list[str]:
    """Returns the parts that a data set has by itself: train, and test if there is one."""
    if own_files.kind_of(path) == "archive":
        from fedbench.tasks.own.image_files import parts_of_archive

        return parts_of_archive(path)
    return list(own_files.parts_of(path))


def write(path: Path, part: str, wanted: Wanted, out: BinaryIO) -> Answer:
    """Writes the examples of one part of a data set to a file, then its real labels or the codes of
    its labels, and the codes of owners. Returns what `read_back` needs to know. UsageError names
    file, column and row."""
    limits = Limits(path, own_files.total_bytes(path, own_files.parts_of(path)))
    table = _opened(path, part, limits)
    where = f"task file {shown(path)}"
    has_owners = wanted.client is not None and (not wanted.exact or wanted.client in table.names)
    owners = [wanted.client] if has_owners and wanted.client else []
    _refuse_index(table, [wanted.label, *owners, *wanted.features], where)
    features = features_of(table.names, wanted, where, has_owners=has_owners)
    reals, names = ([wanted.label], owners) if wanted.real else ([], [wanted.label, *owners])
    has_types = own_files.kind_of(path) not in WITHOUT_TYPES
    numberings = [
        Numbering(str(path), name, MOST_CLASSES if name == wanted.label else MOST_OWNERS, table.missing.get(name, ()), has_types)
        for name in names
    ]
    numbers: list[Floats] = []
    rows, shape = 0, None
    for batch in table.batches([*features, *reals], names):
        for numbering, column in zip(numberings, batch[len(features) + len(reals) :], strict=True):
            numbering.add(column)
        if wanted.real:
            numbers.append(_single(batch[len(features)].numbers(), Place(str(path), wanted.label)))
        x = _joined([column.numbers() for column in batch[: len(features)]])
        if shape not in (None, x.shape[1:]):
            raise UsageError(f"{where}: the examples from row {rows} on have shape {x.shape[1:]}, those before {shape}")
        shape = x.shape[1:]
        rows += len(x)
        limits.unpacked(rows * int(np.prod(shape, dtype=np.int64)) * x.itemsize)
        out.write(x.data.cast("B") if x.size else b"")
    if not rows or shape is None:
        raise UsageError(f"{where}: has no rows")
    for one in numbers:
        out.write(one.data.cast("B"))
    keys = [numbering.done() for numbering in numberings]
    for _, codes in keys:
        out.write(codes.data.cast("B"))
    return Answer(features, (rows, *shape), [values for values, _ in keys], wanted.real)


def _refuse_index(table: Table, names: Sequence[str], where: str) -> None:
    for name in names:
        if name in table.index and name not in table.names:
            raise UsageError(
                f"{where}: '{shown(name, 60)}' is the index of its data frame, which is no column; reset_index() makes one of it"
            )


def read_back(about: Answer, content: bytes | mmap) -> Read:
    """Returns what `write` wrote. The examples share the memory of `content`."""
    shape = tuple(about.shape)
    x = np.frombuffer(content, np.float32, int(np.prod(shape, dtype=np.int64))).reshape(shape)
    at, keys, numbers = x.nbytes, [], None
    if about.real:
        numbers = np.frombuffer(content, np.float32, shape[0], at)
        at += numbers.nbytes
        keys.append(Keys([0], np.zeros(shape[0], np.int64)))
    for values in about.keys:
        keys.append(Keys(values, np.frombuffer(content, np.uint8, 8 * shape[0], at).copy().view(np.int64)))
        at += 8 * shape[0]
    return Read(tuple(about.features), x, keys[0], keys[1] if len(keys) > 1 else None, numbers)


def _single(numbers: Floats, place: Place) -> Floats:
    """Returns numbers (n,). UsageError for lists of them."""
    if numbers.ndim > 1:
        raise place.error(f"must hold one number in a row with task.kind regression, got {numbers.shape[1:]} of them")
    return numbers


def _joined(columns: list[Floats]) -> Floats:
    """Returns one column in its shape, (n, 1) for single numbers, or several side by side (n,
    f)."""
    if len(columns) > 1:
        return np.hstack([column.reshape(len(column), -1) for column in columns])
    return columns[0] if columns[0].ndim > 1 else columns[0][:, None]


WITHOUT_TYPES = ("csv", "images", "archive")
"""Kinds of data sets whose labels are texts, whatever they are meant to be."""
READERS = {
    "npz": "npz:Npz",
    "parquet": "tables_of_arrow:Parquet",
    "shards": "tables_of_arrow:Parquet",
    "datasets": "tables_of_arrow:Saved",
    "csv": "csv_table:Csv",
    "leaf": "leaf:Leaf",
    "images": "image_files:Images",
    "archive": "image_files:Images",
}
"""The module and class that read data sets of a kind, given the path, the part and the limits.
They are imported when they are needed, since the libraries behind some take a while."""


def _opened(path: Path, part: str, limits: Limits) -> Table:
    module, name = READERS[own_files.kind_of(path)].split(":")
    table: Table = getattr(importlib.import_module(f"fedbench.tasks.own.{module}"), name)(path, part, limits)
    return table
