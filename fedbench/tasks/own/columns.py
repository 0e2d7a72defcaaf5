"""A column of a user's table, or a part of it, as features or as keys.

Features are numbers. Keys are labels or owners, whole numbers or texts, of which equal ones belong
together.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fedbench.errors import UsageError, shown
from fedbench.types import Array

Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int64]
Key = int | str
Value = Key | float
"""What a file may have in the place of a key."""
LONGEST_KEY = 1000  # characters of a label or an owner
WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:\.0+)?")
"""How a whole number is written as a text; 007 is none, and stays a text."""
EMPTY = "is empty; remove the example or fill it in"


class Column(Protocol):
    """n values of one column. UsageError, which names file, column and row, for what is not asked
    for."""

    def __len__(self) -> int: ...

    def numbers(self) -> Floats:
        """Returns the values as finite numbers (n, ..)."""

    def keys(self) -> tuple[Sequence[Value], Codes]:
        """Returns different values, and for every row the place of its value among them (n,)."""


class Table(ABC):
    """A file of columns."""

    names: Sequence[str]
    """The names of the columns in their order, without an index; one may stand there twice."""
    index: Collection[str] = ()
    """The names of an index, which is no column."""
    missing: Mapping[str, Collection[Key]] = MappingProxyType({})
    """By the name of a column, the labels or owners that say that there is none."""

    @abstractmethod
    def batches(self, features: Sequence[str], keys: Sequence[str]) -> Iterable[Sequence[Column]]:
        """Yields the columns of features and then those of keys, by these names, from the first row
        to the last, some rows at a time."""


@dataclass(frozen=True)
class Place:
    """Where the values of a column are from: the file, the column's name and the first row."""

    file: str
    name: str
    row: int = 0

    def error(self, problem: str, row: int | None = None) -> UsageError:
        """Returns the error that these values are not as they must be. `row` counts from 0 within
        them."""
        where = "" if row is None else f", row {self.row + row}"
        return UsageError(f"task file {shown(self.file)}: column {shown(self.name)}{where} {problem}")

    def finite(self, values: Floats) -> Floats:
        """Returns values that are finite. UsageError names the first row in which one is not."""
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))[0])
            raise self.error("is not finite; remove the example or fill it in", row)
        return values


@dataclass(frozen=True)
class ArrayColumn:
    """A column that is a numpy array (n, ..)."""

    values: Array
    place: Place

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self) -> Floats:
        if self.values.dtype.kind not in "iubf":
            raise self.place.error(
                f"must be numbers, got {self.values.dtype}; leave it out with task.features, or make numbers of it"
            )
        with np.errstate(over="ignore"):  # what is too large becomes infinite, which is an error of its own
            return self.place.finite(np.ascontiguousarray(self.values, np.float32))

    def keys(self) -> tuple[Sequence[Value], Codes]:
        if self.values.ndim != 1 or self.values.dtype.kind not in "iubfU":
            raise self.place.error(f"must be whole numbers or texts (n,), got {self.values.dtype} {self.values.shape}")
        values, codes = np.unique(self.values, return_inverse=True)
        return values.tolist(), codes.astype(np.int64)


@dataclass
class Numbering:
    """Numbers the keys of a column in their order, whatever their type in the file: True and 1.0
    are the whole number 1. An empty text, and those in `missing`, are no keys.

    A file without types has texts alone, in which 1.0 is 1 too. They become whole numbers if all of
    them are written like some.
    """

    file: str
    name: str
    most: int
    missing: Collection[Key] = ()
    has_types: bool = True
    _known: dict[Key, int] = field(default_factory=dict)
    _codes: list[Codes] = field(default_factory=list)
    _rows: int = 0

    def add(self, column: Column) -> None:
        """Adds the next rows of the column."""
        values, codes = column.keys()
        place = Place(self.file, self.name, self._rows)
        numbers = np.zeros(len(values), np.int64)
        for i, value in enumerate(values):
            try:
                numbers[i] = self._known.setdefault(self._key(value), len(self._known))
            except ValueError as problem:
                raise place.error(str(problem), int(np.argmax(codes == i))) from None
            if len(self._known) > self.most:
                raise place.error(
                    f"has more than {self.most:,} different values; are these numbers to predict? Then give task.kind regression"
                )
        self._codes.append(numbers[codes])
        self._rows += len(codes)

    def _key(self, value: Value) -> Key:
        if isinstance(value, float):
            if value != np.trunc(value) or not np.isfinite(value):
                raise ValueError(f"must be a whole number or a text, got {value!r}; numbers to predict have task.kind regression")
            value = int(value)
        if isinstance(value, str) and len(value) > LONGEST_KEY:
            raise ValueError(f"must have at most {LONGEST_KEY} characters, got {len(value):,}")
        if value == "":
            raise ValueError(EMPTY)
        if value in self.missing:
            raise ValueError(f"is {value}, which stands for a missing value; remove the example or write another value")
        if not isinstance(value, str):
            return int(value)
        whole = None if self.has_types else WHOLE.fullmatch(value)
        return value if whole is None else str(int(whole[1]))

    def done(self) -> tuple[list[Key], Codes]:
        """Returns the values in their order, and the number of every row's value (n,)."""
        values = list(self._known)
        if not self.has_types and all(WHOLE.fullmatch(str(value)) for value in values):
            values = list(map(int, values))
        try:
            ordered = sorted((value, number) for number, value in enumerate(values))
        except TypeError:
            raise Place(self.file, self.name).error("must be whole numbers or texts, got both") from None
        codes = np.concatenate([np.empty(0, np.int64), *self._codes])
        places = np.argsort(np.array([number for _, number in ordered], np.int64))
        return [value for value, _ in ordered], places[codes] if ordered else codes
