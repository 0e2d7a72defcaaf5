"""Data sets in memory: examples with labels, split into train and test. They are checked once, when
they are made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import InitVar, dataclass

import numpy as np
import numpy.typing as npt

from fedbench.errors import UsageError
from fedbench.types import Array

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Examples:
    """n examples: features `x` float32 (n, *shape), C-contiguous, and labels `y` int64 (n,). The
    arrays are kept, not copied. Real labels are `numbers` float32 (n,); then `y` is 0, the one
    class of all examples.

    `owner` int64 (n,) numbers the owners of the examples from 0, if the data state them; the
    partition `natural` makes clients of owners. UsageError if dtypes, layout or lengths differ from
    these. Dataset checks the values.
    """

    x: Floats
    y: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64] | None = None
    numbers: Floats | None = None

    def __post_init__(self) -> None:
        _check_array("x", self.x, np.dtype(np.float32))
        _check_array("y", self.y, np.dtype(np.int64))
        if self.x.ndim < 2:
            raise UsageError(f"examples: x must be (n, features, ..), got {self.x.shape}; reshape a single feature to (n, 1)")
        if self.y.shape != self.x.shape[:1]:
            raise UsageError(f"examples: y must be ({len(self.x)},), one label per row of x {self.x.shape}, got {self.y.shape}")
        if self.owner is not None:
            _check_array("owner", self.owner, np.dtype(np.int64))
            if self.owner.shape != self.y.shape:
                raise UsageError(f"examples: owner must be ({len(self.y)},), one owner per row of x, got {self.owner.shape}")

        if self.numbers is not None:
            _check_array("numbers", self.numbers, np.dtype(np.float32))

    def __len__(self) -> int:
        return len(self.y)

    @property
    def labels(self) -> npt.NDArray[np.int64] | Floats:
        """Returns what a model learns (n,): classes, or real labels if there are some."""
        return self.y if self.numbers is None else self.numbers

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one example."""
        return self.x.shape[1:]

    def subset(self, rows: npt.NDArray[np.integer] | slice) -> Examples:
        """Returns the examples of the given rows, in the given order. A slice without a step shares
        memory; anything else is a copy."""
        owner = None if self.owner is None else np.ascontiguousarray(self.owner[rows])
        numbers = None if self.numbers is None else np.ascontiguousarray(self.numbers[rows])
        return Examples(np.ascontiguousarray(self.x[rows]), np.ascontiguousarray(self.y[rows]), owner, numbers)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Train and test examples of one shape, with labels 0 .. classes - 1, or one class if labels
    are real.

    UsageError, which names data set, part and row, if a part is empty, a feature is not finite, a
    label is out of range, or the two parts have different shapes. `check_values` is False for
    values that are known to be right. `sha256` is the sum of the files that were read, for data
    whose files have no published sums; a record keeps it. `owners` is how many owners the data
    state, of whom some may have no training example; 0 if that is not known. `features` names the
    columns of a user's own data.
    """

    name: str
    train: Examples
    test: Examples
    classes: int
    check_values: InitVar[bool] = True
    sha256: str = ""
    owners: int = 0
    features: tuple[str, ...] = ()

    def __post_init__(self, check_values: bool) -> None:
        if self.classes < 2 and self.train.numbers is None:
            raise UsageError(f"data set {self.name}: classes must be >= 2, got {self.classes}")
        for part, examples in (("train", self.train), ("test", self.test)) if check_values else ():
            _check_values(f"data set {self.name}, {part}", examples, self.classes)
        if self.train.shape != self.test.shape:
            raise UsageError(
                f"data set {self.name}: an example is {self.train.shape} in train, {self.test.shape} in test; prepare both alike"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one example."""
        return self.train.shape

    def check_apart(self, where: str) -> None:
        """Raises UsageError, which begins with `where` the test examples are, if they are the
        training examples, in whatever order. Some in common are no error."""
        if len(self.train) == len(self.test) and _rows_in_order(self.train) == _rows_in_order(self.test):
            raise UsageError(
                f"{where}: has the {len(self.test):,} examples of the training data, so that a test accuracy would be one on training "
                "examples; name other examples for testing"
            )

    def with_features(self, change: Callable[[Floats], Floats]) -> Dataset:
        """Returns a data set whose features are changed by a function of those of a part."""
        train, test = (dataclasses.replace(part, x=change(part.x)) for part in (self.train, self.test))
        return self.with_examples(train, test)

    def with_examples(self, train: Examples, test: Examples) -> Dataset:
        """Returns a data set with other examples, whose values are not checked, in the place of
        these."""
        about = self.sha256, self.owners, self.features
        return Dataset(self.name, train, test, self.classes, False, *about)

    def check_symbols(self, symbols: int) -> None:
        """Raises UsageError, which names part and place, unless all features are whole numbers from
        0 to symbols - 1."""
        for part, x in (("train", self.train.x), ("test", self.test.x)):
            known = (x >= 0) & (x < symbols) & (np.trunc(x) == x)
            if not known.all():
                place = np.unravel_index(int(np.argmin(known)), x.shape)
                raise UsageError(
                    f"data set {self.name}, {part}: x[{', '.join(map(str, place))}] must be a symbol, a whole number in "
                    f"0 .. {symbols - 1}, got {x[place]:g}"
                )

    def split(self, rows: npt.NDArray[np.int64]) -> Dataset:
        """Returns a data set whose test examples are these (ascending) rows of the training
        examples, and which trains on the other rows. Values are not checked again. UsageError if
        one of the two parts would be empty."""
        rest = np.delete(np.arange(len(self.train)), rows)
        if len(rows) == 0 or len(rest) == 0:
            raise UsageError(f"data set {self.name}: {len(rows)} of {len(self.train)} training examples leave one part empty")
        return self.with_examples(self.train.subset(rest), self.train.subset(rows))


def _check_array(name: str, array: Array, dtype: np.dtype) -> None:
    if not isinstance(array, np.ndarray):
        raise UsageError(f"examples: {name} must be a numpy array, got {type(array).__name__}; use np.asarray")
    if array.dtype != dtype or not array.flags.c_contiguous:
        layout = "C-contiguous" if array.flags.c_contiguous else "not C-contiguous"
        raise UsageError(
            f"examples: {name} must be {dtype} and C-contiguous, got {array.dtype} {array.shape}, {layout}; "
            f"use np.ascontiguousarray({name}, np.{dtype})"
        )


def _rows_in_order(examples: Examples) -> list[int]:
    """Returns a number for every example and its label, sorted."""
    return sorted(hash((x.tobytes(), label)) for x, label in zip(examples.x, examples.labels.tolist(), strict=True))


def _check_values(place: str, examples: Examples, classes: int) -> None:
    if len(examples) == 0:
        raise UsageError(f"{place}: has no examples; a data set needs at least one in train and in test")
    finite = np.isfinite(examples.x)
    if not finite.all():
        index = int(np.argmin(finite))
        row = index // (examples.x.size // len(examples))
        raise UsageError(
            f"{place}: x[{row}] is not finite ({examples.x.flat[index]}); remove the example or fill in its missing features"
        )
    if examples.owner is not None and examples.owner.min() < 0:
        row = int(np.argmin(examples.owner))
        raise UsageError(f"{place}: owner[{row}] must be at least 0, got {examples.owner[row]}; number the owners from 0")
    outside = (examples.y < 0) | (examples.y >= classes)
    if outside.any():
        row = int(np.argmax(outside))
        raise UsageError(
            f"{place}: y[{row}] must be in 0 .. {classes - 1}, got {examples.y[row]}; number the labels from 0 or raise classes"
        )
