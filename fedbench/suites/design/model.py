"""The model that a design is for: its terms, and their columns for points.

A column is a product of at most two codes. A factor of numbers has one code, from -1 to 1 over its
levels or their logarithms; one of L texts has L - 1, which are orthogonal if all levels are there
equally often (Helmert's contrasts). Codes are rounded to six decimals, so that no last bit of a
logarithm matters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fedbench.suites.design.schema import Design, Factor
from fedbench.types import Weights

Rows = npt.NDArray[np.int64]
PRIME = 2**31 - 1
DECIMALS = 6


@dataclass(frozen=True)
class Column:
    """A column of the model: the term to which it belongs, and the codes that are multiplied, as
    pairs of factor and number of the code."""

    term: str
    parts: tuple[tuple[int, int], ...]


def codes(factor: Factor) -> Weights:
    """Returns the codes of the levels (levels, codes)."""
    numbers = factor.numbers
    if numbers is not None:
        places = [math.log(number) for number in numbers] if factor.scale == "log" else numbers
        middle, half = (places[0] + places[-1]) / 2, (places[-1] - places[0]) / 2
        return np.array([[round((place - middle) / half, DECIMALS)] for place in places])
    count = len(factor.levels)
    contrasts = [[-1 / j] * j + [1.0] + [0.0] * (count - 1 - j) for j in range(1, count)]
    return np.round(np.array(contrasts).T, DECIMALS)


class Model:
    """The columns of a design's model, and their values at every combination of levels.

    Attributes
    ----------
    possible : bool array, an axis for every factor
        Whether there is such a point.
    columns : list of Column
        Those that can be estimated, the mean first.
    left_out : list of Column
        Those that are, at all possible points, sums of columns before them.
    values : float64 array (combinations, columns)
        The columns at every combination of levels, the last factor fastest.
    """

    def __init__(self, design: Design) -> None:
        self.design = design
        self.possible = design.possible()
        self._codes = [codes(factor) for factor in design.factors.values()]
        several = list(self._columns())
        values = np.stack([self._column(one) for one in several], axis=1)
        kept = independent(values[self.candidates])
        self.columns = [one for one, keep in zip(several, kept, strict=True) if keep]
        self.left_out = [one for one, keep in zip(several, kept, strict=True) if not keep]
        self.values = np.ascontiguousarray(values[:, kept])

    @cached_property
    def candidates(self) -> Rows:
        """The possible points, as numbers of combinations."""
        return np.flatnonzero(self.possible)

    def _columns(self) -> Iterator[Column]:
        yield Column("mean", ())
        factors = list(self.design.factors)
        widths = [code.shape[1] for code in self._codes]
        for f, name in enumerate(factors):
            yield from (Column(name, ((f, c),)) for c in range(widths[f]))
        for f, (name, factor) in enumerate(self.design.factors.items()):
            if factor.numbers is not None and len(factor.levels) > 2:
                yield Column(f"{name} squared", ((f, 0), (f, 0)))
        for a, b in self.design.pairs():
            f, g = factors.index(a), factors.index(b)
            for c, d in itertools.product(range(widths[f]), range(widths[g])):
                yield Column(f"{a} x {b}", ((f, c), (g, d)))

    def _column(self, column: Column) -> Weights:
        found = np.ones(self.possible.shape)
        for f, c in column.parts:
            along = [1] * found.ndim
            along[f] = -1
            found = found * self._codes[f][:, c].reshape(along)
        return found.ravel()


def independent(values: Weights) -> npt.NDArray[np.bool_]:
    """Returns which columns (n, columns) are no sums of columns before them.

    The values are whole numbers of 1e-12, and they are reduced modulo a prime, where elimination is
    exact. So no tolerance decides.
    """
    rest = np.round(values * 10.0 ** (2 * DECIMALS)).astype(np.int64) % PRIME
    kept = np.zeros(rest.shape[1], np.bool_)
    for column in range(rest.shape[1]):
        rows = np.flatnonzero(rest[:, column])
        if len(rows) == 0:
            continue
        kept[column] = True
        pivot = rest[rows[0]] * pow(int(rest[rows[0], column]), -1, PRIME) % PRIME
        for at in range(column + 1, rest.shape[1]):  # a column at a time, so that products fit into 64 bits
            rest[:, at] = (rest[:, at] - rest[:, column] * pivot[at]) % PRIME
        rest[:, column] = 0
    return kept
