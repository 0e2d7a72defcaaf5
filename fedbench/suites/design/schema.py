"""The schema of a design: factors, how their levels change a scenario, and the table of points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fedbench.errors import nearest
from fedbench.scenarios import problems
from fedbench.scenarios.base import Float, Integer, Part, PositiveFloat
from fedbench.scenarios.problems import read

LIBRARY = Path(__file__).with_name("library")
ALL = "all"
CLIENTS = "clients"
MOST_CELLS = 200_000  # combinations of levels
Kind = Literal["design", "held_out", "other_clients"]
KINDS: tuple[Kind, ...] = ("design", "held_out", "other_clients")
Value = Annotated[Float, Field(ge=-1e9, le=1e9)] | Annotated[str, Field(min_length=1, max_length=60)]
Cell = tuple[Value, ...]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class Level(Part):
    """One level of a factor: what it is in words, the keys of the scenario that it sets, and those
    whose value in the scenario it multiplies."""

    level: Value
    words: Annotated[str, Field(max_length=200)] = ""
    set: dict[str, object] = Field(default={})
    times: dict[str, PositiveFloat] = Field(default={})


class Factor(Part):
    """What differs between points. Levels are numbers of a `unit`, which ascend, or texts. With
    `scale: log` the logarithm of the number counts."""

    unit: Annotated[str, Field(max_length=100)] = ""
    scale: Literal["linear", "log"] = "linear"
    levels: Annotated[tuple[Level, ...], Field(min_length=2, max_length=20)]

    @property
    def values(self) -> list[Value]:
        return [one.level for one in self.levels]

    @property
    def numbers(self) -> list[float] | None:
        """Returns the levels, or None if they are texts."""
        found = [value for value in self.values if isinstance(value, float | int)]
        return found if len(found) == len(self.levels) else None

    def _check(self) -> None:
        if len(set(self.values)) < len(self.levels):
            raise ValueError(f"levels: every level once, got {self.values}")
        numbers = self.numbers
        if numbers is None:
            if self.scale == "log" or not all(isinstance(value, str) for value in self.values):
                raise ValueError(f"levels: expected numbers alone, or texts alone and no scale: log, got {self.values}")
        elif numbers != sorted(numbers) or (self.scale == "log" and numbers[0] <= 0):
            raise ValueError(f"levels: numbers ascend, and are > 0 with scale: log, got {self.values}")


class Sizes(Part):
    """How many points are drawn of every kind."""

    design: Annotated[Integer, Field(ge=1, le=500)]
    held_out: Annotated[Integer, Field(ge=0, le=200)] = 0
    other_clients: Annotated[Integer, Field(ge=0, le=200)] = 0


class Figures(Part):
    """How well n points tell the p effects of the model apart.

    - d_efficiency: (det(X'X) / n^p / det(M))^(1/p) at least, where M is the best information of a
      point that any weights on the possible points give. It does not depend on codes. 1 is the
      best, which no design need have.
    - condition: of the columns, scaled to length 1: the largest singular value over the smallest.
    - variance_inflation: the largest factor by which the variance of an effect grows since its
      column is correlated with others, of the term `inflated`.
    - aliasing: the largest correlation of columns of two terms, which are `aliased`.
    - left_out: by term, how many of its columns the impossible points leave no room for.
    """

    points: int
    effects: int
    d_efficiency: float
    condition: float
    variance_inflation: float
    inflated: str
    aliasing: float
    aliased: tuple[str, str]
    left_out: dict[str, int]


class Drawn(Part):
    """The table of points, as it was drawn with this seed. A row has a level of every factor, in
    their order; rows with other numbers of clients have that number first."""

    seed: Annotated[Integer, Field(ge=0, le=2**63 - 1)]
    starts: Annotated[Integer, Field(ge=1, le=100_000)]
    figures: Figures
    design: tuple[Cell, ...]
    held_out: tuple[Cell, ...] = ()
    other_clients: tuple[Cell, ...] = ()


class Design(Part):
    """Factors, the effects that are to be told apart, and the points drawn for that.

    The model of a cost has the main effects of all factors, squares of numbers with three levels or
    more, and `interactions`: pairs of factors, where `all` stands for every other one. A point
    that has all levels of an entry of `impossible` does not exist. `other_clients` is a factor that
    is not in the model, whose levels are other numbers of clients than the scenario's.
    """

    schema_version: Literal[1] = Field(alias="schema")
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,99}$")]
    about: Annotated[str, Field(max_length=10_000)] = ""
    factors: Annotated[dict[Name, Factor], Field(min_length=1, max_length=20)]
    other_clients: Factor | None = None
    interactions: Annotated[tuple[tuple[Name, Name], ...], Field(max_length=400)] = ()
    impossible: Annotated[tuple[dict[Name, tuple[Value, ...]], ...], Field(max_length=400)] = ()
    points: Sizes
    drawn: Drawn | None = None

    def _check(self) -> None:
        known = self.factors | ({} if self.other_clients is None else {CLIENTS: self.other_clients})
        if CLIENTS in self.factors or ALL in self.factors:
            raise ValueError(f"factors: {CLIENTS} and {ALL} have other meanings, so no factor is called so")
        cells = math.prod(len(factor.levels) for factor in known.values())
        if cells > MOST_CELLS:
            raise ValueError(f"factors: expected at most {MOST_CELLS:,} combinations of levels, got {cells:,}")
        if self.points.other_clients and self.other_clients is None:
            raise ValueError(
                f"points.other_clients: {self.points.other_clients} points need the factor other_clients, which is missing"
            )
        self._check_interactions()
        self._check_impossible(known)
        self._check_keys(known)
        self._check_rows()

    def _check_interactions(self) -> None:
        for i, pair in enumerate(self.interactions):
            for name in pair:
                if name not in self.factors and name != ALL:
                    raise ValueError(f"interactions.{i}: unknown factor {name!r}{nearest(name, [*self.factors, ALL])}")
            if pair[0] == pair[1] or pair[0] == ALL:
                raise ValueError(f"interactions.{i}: expected two factors, or one and {ALL}, got {list(pair)}")

    def _check_impossible(self, known: Mapping[str, Factor]) -> None:
        for i, cell in enumerate(self.impossible):
            for name, values in cell.items():
                if name not in known:
                    raise ValueError(f"impossible.{i}: unknown factor {name!r}{nearest(name, known)}")
                for value in values:
                    if value not in known[name].values:
                        raise ValueError(f"impossible.{i}.{name}: expected some of {known[name].values}, got {value!r}")

    def _check_keys(self, known: Mapping[str, Factor]) -> None:
        for (one, a), (other, b) in itertools.combinations(known.items(), 2):
            both = {key for level in a.levels for key in level.set} & {key for level in b.levels for key in level.set}
            if both:
                raise ValueError(f"factors: {one} and {other} both set {min(both)}, so the second would hide the first")

    def _check_rows(self) -> None:
        for kind, rows in self.rows().items():
            order = self.order(kind)
            if self.drawn is not None and len(rows) != getattr(self.points, kind):
                raise ValueError(f"drawn.{kind}: expected {getattr(self.points, kind)} points, got {len(rows)}")
            for i, row in enumerate(rows):
                levels = dict(zip(order, row, strict=False))
                if len(row) != len(order) or any(value not in order[name].values for name, value in levels.items()):
                    raise ValueError(f"drawn.{kind}.{i}: expected a level each of {', '.join(order)}, got {list(row)}")
                if self.is_impossible(levels):
                    raise ValueError(f"drawn.{kind}.{i}: expected a possible point, got {list(row)}")
        several = [row for kind in ("design", "held_out") for row in self.rows().get(kind, ())]
        if len(set(several)) < len(several):
            raise ValueError("drawn: every point of design and held_out once")

    def order(self, kind: Kind) -> dict[str, Factor]:
        """Returns the factors of a row of this kind, in their order."""
        first = {CLIENTS: self.other_clients} if kind == "other_clients" and self.other_clients is not None else {}
        return first | self.factors

    def rows(self) -> dict[Kind, tuple[Cell, ...]]:
        """Returns the drawn rows of every kind; none if nothing is drawn."""
        return {} if self.drawn is None else {kind: getattr(self.drawn, kind) for kind in KINDS}

    def is_impossible(self, levels: Mapping[str, Value]) -> bool:
        """Returns whether a point with these levels does not exist."""
        return any(all(levels.get(name) in values for name, values in cell.items()) for cell in self.impossible)

    def possible(self, at: Mapping[str, Value] | None = None) -> npt.NDArray[np.bool_]:
        """Returns for every combination of levels whether there is such a point: an array with an
        axis for every factor. `at` has levels of what is no factor of the model."""
        found = np.ones([len(factor.levels) for factor in self.factors.values()], np.bool_)
        for cell in self.impossible:
            if all((at or {}).get(name) in values for name, values in cell.items() if name not in self.factors):
                axes = [
                    [value in cell.get(name, factor.values) for value in factor.values] for name, factor in self.factors.items()
                ]
                found[np.ix_(*map(np.array, axes))] = False
        return found

    def pairs(self) -> list[tuple[str, str]]:
        """Returns the pairs of factors that interact, each once, in order."""
        found: dict[frozenset[str], tuple[str, str]] = {}
        for a, b in self.interactions:
            for other in [name for name in self.factors if name != a] if b == ALL else [b]:
                found.setdefault(frozenset((a, other)), (a, other))
        return list(found.values())


def load(design: str | Path, beside: Sequence[Path] = ()) -> Design:
    """Returns a design by its name in the library, or by the path to a YAML file, which is looked
    for in the folders `beside` first.

    Raises UsageError for a file that cannot be read, an unknown key, or a value out of range.
    """
    return read(Design, file_of(design, beside), LIBRARY, "design")


def file_of(design: str | Path, beside: Sequence[Path] = ()) -> Path:
    """Returns the file of a design; see `load`."""
    file = problems.file_of(design, LIBRARY, "design")
    return next((folder / file for folder in beside if (folder / file).is_file()), file)
