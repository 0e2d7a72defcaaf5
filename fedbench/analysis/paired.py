"""Compares all pairs of algorithms: paired differences over common seeds, with intervals that hold
together, and classes of algorithms that cannot be told apart.

Seeds are common random numbers, so a difference is taken seed by seed. Each of the m intervals of a
board has the confidence 1 - alpha / m (Bonferroni), so the chance that any of them misses the true
difference is at most alpha. p-values are adjusted by Holm, which rejects at least as much. The
intervals are Student's; the tests simulate how well they hold for times on a grid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from fedbench.analysis.holm import holm
from fedbench.analysis.statistics import LEVEL, p_value, paired_difference, t_factor

LEAST_FOR_P = 10
"""With fewer seeds no p-value is given: they say little about the tails on which it rests."""
POWER = 0.8
"""The probability with which a difference of the size of the resolution is shown."""
BySeed = Mapping[int, float]


@dataclass(frozen=True)
class Pair:
    """The difference a - b over the seeds that both have.

    difference, half_width: the interval is difference +- half_width. Both are None with fewer than
    two common seeds.
    level: the confidence of the interval, chosen so that all intervals of the board hold together.
    p_adjusted: the p-value adjusted by Holm, None below LEAST_FOR_P seeds.
    """

    a: str
    b: str
    seeds: int
    difference: float | None
    half_width: float | None
    level: float
    p_adjusted: float | None

    @property
    def differs(self) -> bool:
        """Returns whether the interval excludes 0."""
        return self.difference is not None and self.half_width is not None and abs(self.difference) > self.half_width


def pairs(values: Mapping[str, BySeed], *, least: float = 0.0, alpha: float = 1 - LEVEL) -> list[Pair]:
    """Returns every pair of names, in the order of `values`.

    Args:
        values: for every name its value by seed.
        least: the smallest half-width, such as one step of the grid on which times are measured.
            The grid alone can make smaller differences.
        alpha: the chance that any of the intervals misses its true difference.
    """
    names = list(itertools.combinations(values, 2))
    differences = {pair: paired_difference(values[pair[0]], values[pair[1]]) for pair in names}
    level = 1 - alpha / max(1, len(names))
    tested = {pair: p for pair, one in differences.items() if one.n >= LEAST_FOR_P and (p := p_value(one)) is not None}
    adjusted = dict(zip(tested, (one.p for one in holm(list(tested.values()), alpha)), strict=True))
    found = []
    for pair, one in differences.items():
        half = None
        if one.std is not None:
            half = max(least, t_factor(one.n, level) * one.std / math.sqrt(one.n))
        found.append(Pair(*pair, one.n, one.mean if half is not None else None, half, level, adjusted.get(pair)))
    return found


def tie_classes(values: Mapping[str, BySeed], found: Sequence[Pair], *, higher_is_better: bool) -> list[list[str]]:
    """Returns the names from the best mean to the worst, in classes. A class begins with the best
    name that is not in a class yet. It goes on until a name can be told from that first one. So no
    name is shown to be behind the first of its class."""
    sign = -1.0 if higher_is_better else 1.0
    order = sorted(values, key=lambda name: sign * float(np.mean(list(values[name].values()))))
    apart = {frozenset((one.a, one.b)) for one in found if one.differs}
    classes: list[list[str]] = []
    for name in order:
        if classes and frozenset((classes[-1][0], name)) not in apart:
            classes[-1].append(name)
        else:
            classes.append([name])
    return classes


def resolution(
    values: Mapping[str, BySeed],
    entrants: int,
    *,
    least: float = 0.0,
    alpha: float = 1 - LEVEL,
    still: Set[str] = frozenset(),
) -> float | None:
    """Returns the smallest true difference that a pair of a board shows with probability POWER. Its
    differences are taken to scatter over seeds as those of the median pair of `values`. None with
    fewer than two names or seeds.

    It is h + t(0.8) s / sqrt(n) with n - 1 degrees of freedom, where h = t(1 - alpha / 2m) s /
    sqrt(n), at least `least`, is the half-width of the pair's interval, and m = entrants (entrants
    - 1) / 2 is the number of pairs.

    Args:
        values: for every name its value by seed.
        entrants: the number of rows of the board.
        least: the smallest half-width, as in `pairs`.
        alpha: of all intervals together, as in `pairs`.
        still: names whose pairs with each other say nothing about scatter, such as rows that never
            arrive.
    """
    differences = [paired_difference(values[a], values[b]) for a, b in itertools.combinations(values, 2) if {a, b} - still]
    scatter = [one.std for one in differences if one.std is not None]
    if not scatter:
        return None
    s, n = float(np.median(scatter)), min(one.n for one in differences if one.std is not None)
    m = max(1, entrants * (entrants - 1) // 2)
    error = s / math.sqrt(n)
    return max(least, t_factor(n, 1 - alpha / m) * error) + t_factor(n, 2 * POWER - 1) * error
