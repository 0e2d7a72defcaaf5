"""The columns of a model over factors: a constant, main effects, squares, and two-way interactions.

A numeric factor runs from -1 to 1 over the design, on its logarithm where it says so. A factor with
k kinds has k - 1 orthogonal contrasts, which treat all kinds alike. Every column but the constant
is then moved and scaled to mean 0 and standard deviation 1 over the points of the design. So the
size of a coefficient is what its term does to a log cost, and terms can be shrunk together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench.errors import UsageError, nearest, quoted, some

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Columns = Mapping[str, Sequence[Any]]
"""By name: one value for each row of a table."""

LEVEL, MAIN, SQUARE, INTERACTION = range(4)
"""The groups of terms."""


@dataclass(frozen=True)
class Factor:
    """What is changed over the points of a design.

    kinds: its values if they are no numbers; empty for a numeric factor.
    is_log: whether a numeric factor acts by its logarithm.
    has_square: whether a numeric factor has a square as well. It needs three values for that.
    """

    name: str
    kinds: tuple[str, ...] = ()
    is_log: bool = False
    has_square: bool = False


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of a model, as functions of the levels of the factors.

    points: the number of points over which columns are scaled.
    middle, half: by numeric factor, of the interval that becomes -1 to 1.
    terms: the name of every column (P,), the constant first.
    left_out: the names of those that are sums of columns before them at all possible points.
    groups: of every column (P,).
    centre, scale: of every column (P,).
    """

    factors: tuple[Factor, ...]
    interactions: tuple[tuple[str, str], ...]
    points: int
    middle: Mapping[str, float]
    half: Mapping[str, float]
    terms: tuple[str, ...]
    left_out: tuple[str, ...]
    groups: Integers
    centre: Floats
    scale: Floats

    @classmethod
    def over(
        cls, factors: Sequence[Factor], interactions: Sequence[tuple[str, str]], points: Columns, possible: Columns | None = None
    ) -> Design:
        """Returns the columns for the points of a design.

        Args:
            factors: what the points change.
            interactions: pairs of factors whose product counts.
            points: the level of every factor at the points (N,).
            possible: the same at all points that there can be. A column that is a sum of columns
                before it at all of these is left out. Without it every column counts.

        Raises:
            UsageError: for an unknown factor or kind, a level that is no finite number, a factor
                that never changes, or columns that the points do not tell apart.
        """
        known = [factor.name for factor in factors]
        for name in (one for pair in interactions for one in pair if one not in known):
            raise UsageError(f"map: an interaction names the factor {quoted(name)}{nearest(name, known)}")
        count = _length(factors, points)
        middle, half = {}, {}
        for factor in (one for one in factors if not one.kinds):
            values = _numbers(factor, points)
            middle[factor.name], half[factor.name] = (values.max() + values.min()) / 2, (values.max() - values.min()) / 2
            if not half[factor.name]:
                level = quoted(points[factor.name][0])
                raise UsageError(f"map: factor {factor.name} is {level} at all points, expected two values")
        bare = cls(
            tuple(factors), tuple(interactions), count, middle, half, (), (), np.zeros(0, np.int64), np.zeros(0), np.ones(0)
        )
        found = bare._scaled(points, () if possible is None else bare._sums(possible))
        rank, wanted = int(np.linalg.matrix_rank(found.matrix(points))), len(found.terms)
        if rank < wanted:
            told = f"map: {count} points tell {rank} of the model's {wanted} columns apart"
            raise UsageError(f"{told}; expected more points, or fewer interactions")
        return found

    def _sums(self, possible: Columns) -> tuple[str, ...]:
        """Returns the columns that are sums of columns before them at all possible points."""
        names, _, columns = zip(*self._raw(possible), strict=True)
        return tuple(name for name, keep in zip(names, _independent(np.stack(columns, axis=1)), strict=True) if not keep)

    def _scaled(self, points: Columns, left_out: tuple[str, ...]) -> Design:
        """Returns the columns but some, moved and scaled over points."""
        kept = [one for one in self._raw(points) if one[0] not in left_out]
        terms, groups, columns = zip(*kept, strict=True)
        values = np.stack(columns, axis=1)
        centre, scale = values.mean(axis=0), values.std(axis=0)
        centre[0], scale = 0, np.where(scale > 0, scale, 1)
        return replace(self, terms=terms, left_out=left_out, groups=np.array(groups), centre=centre, scale=scale)

    def matrix(self, levels: Columns) -> Floats:
        """Returns the columns at some levels, (L, P) from (L,) values of every factor. Raises
        UsageError for an unknown kind, or a level that is no finite number."""
        _length(self.factors, levels)
        columns = [column for name, _, column in self._raw(levels) if name not in self.left_out]
        return np.asarray((np.stack(columns, axis=1) - self.centre) / self.scale)

    def coordinates(self, levels: Columns) -> Floats:
        """Returns places whose distances are those of levels (L, C): the range of a numeric factor
        counts as much as two kinds that differ."""
        _length(self.factors, levels)
        return np.concatenate(
            [
                np.sqrt(2) * _kinds(factor, levels) if factor.kinds else self._coded(factor, levels)[:, None]
                for factor in self.factors
            ],
            axis=1,
        )

    def _coded(self, factor: Factor, levels: Columns) -> Floats:
        return np.asarray((_numbers(factor, levels) - self.middle[factor.name]) / self.half[factor.name])

    def _raw(self, levels: Columns) -> Iterator[tuple[str, int, Floats]]:
        """Yields name, group and values of every column before it is scaled."""
        main: dict[str, list[tuple[str, Floats]]] = {}
        for factor in self.factors:
            if factor.kinds:
                columns = _kinds(factor, levels) @ _contrasts(len(factor.kinds))
                main[factor.name] = [(f"{factor.name}.{k + 1}", columns[:, k]) for k in range(columns.shape[1])]
            else:
                main[factor.name] = [(factor.name, self._coded(factor, levels))]
        yield "1", LEVEL, np.ones(len(next(iter(main.values()))[0][1]))
        for columns_of in main.values():
            yield from ((name, MAIN, column) for name, column in columns_of)
        for factor in self.factors:
            if factor.has_square:
                yield f"{factor.name}^2", SQUARE, self._coded(factor, levels) ** 2
        for one, other in self.interactions:
            for first, column in main[one]:
                yield from ((f"{first} x {second}", INTERACTION, column * by) for second, by in main[other])


def _length(factors: Sequence[Factor], levels: Columns) -> int:
    """Returns the number of rows that all factors have."""
    counts = {}
    for factor in factors:
        if factor.name not in levels:
            raise UsageError(f"map: factor {factor.name} has no level; given: {some(levels)}")
        counts[factor.name] = len(levels[factor.name])
    if len(set(counts.values())) != 1 or not min(counts.values()):
        shown = ", ".join(f"{count} of {name}" for name, count in counts.items())
        raise UsageError(f"map: expected as many levels of every factor, and at least one, got {shown or 'no factor'}")
    return next(iter(counts.values()))


def _numbers(factor: Factor, levels: Columns) -> Floats:
    values = np.array(
        [value if isinstance(value, (int, float, np.number)) else np.nan for value in levels[factor.name]], np.float64
    )
    wrong = ~np.isfinite(values) | (factor.is_log & (values <= 0))
    if wrong.any():
        wanted = "a number above 0, since it acts by its logarithm" if factor.is_log else "a finite number"
        raise UsageError(f"map: factor {factor.name} is {quoted(levels[factor.name][int(wrong.argmax())])}, expected {wanted}")
    return np.log(values) if factor.is_log else values


def _kinds(factor: Factor, levels: Columns) -> Floats:
    """Returns which kind every row has, as zeros and ones (L, k)."""
    for value in (one for one in levels[factor.name] if one not in factor.kinds):
        raise UsageError(f"map: factor {factor.name} is {quoted(value)}{nearest(str(value), factor.kinds)}")
    return np.eye(len(factor.kinds))[[factor.kinds.index(value) for value in levels[factor.name]]]


def _independent(values: Floats) -> npt.NDArray[np.bool_]:
    """Returns which columns (n, P) are no sums of columns before them."""
    basis = np.zeros((len(values), 0))
    kept = np.zeros(values.shape[1], np.bool_)
    for k, column in enumerate(values.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)  # once more, for what rounding left
        size = np.linalg.norm(rest)
        if size > 1e-6 * np.linalg.norm(column):
            kept[k] = True
            basis = np.column_stack([basis, rest / size])
    return kept


def _contrasts(kinds: int) -> Floats:
    """Returns orthogonal contrasts of equal length (k, k - 1), those of Helmert: every kind with
    the mean of those before it."""
    found = np.zeros((kinds, kinds - 1))
    for k in range(1, kinds):
        found[:k, k - 1], found[k, k - 1] = -1, k
    return np.asarray(found / np.sqrt((found**2).mean(axis=0)))
