"""All pairs of algorithms at once: paired differences over common seeds, with intervals that hold
together, and what cannot be told apart.

Seeds are common random numbers, so a difference is taken seed by seed. The m intervals of a board
have the confidence 1 - alpha / m each (Bonferroni), so the chance that any of them misses its truth
is at most alpha. p-values are adjusted by Holm, which rejects at least as much. Intervals are
Student's; how well they hold for times on a grid is simulated in the tests.
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
"""Seeds below which no p-value is given: so few say little about the tails on which it rests."""
POWER = 0.8
BySeed = Mapping[int, float]


@dataclass(frozen=True)
class Pair:
    """a - b over the seeds that both have. The interval is [difference - half_width, difference +
    half_width]; its confidence `level` makes all intervals of the board hold together. None with
    fewer than two common seeds. p_adjusted: by Holm; None below 10 seeds."""

    a: str
    b: str
    seeds: int
    difference: float | None
    half_width: float | None
    level: float
    p_adjusted: float | None

    @property
    def differs(self) -> bool:
        """Does the interval exclude 0?"""
        return self.difference is not None and self.half_width is not None and abs(self.difference) > self.half_width


def pairs(values: Mapping[str, BySeed], *, least: float = 0.0, alpha: float = 1 - LEVEL) -> list[Pair]:
    """Every pair of names, in their order. `least`: what a half-width is at least, such as one step
    of the grid on which times are measured: differences within it are of the grid. alpha: of all
    intervals together."""
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
    """Names from the best mean to the worst, in classes. A class begins with the best name that is
    in none, and goes on while a name cannot be told from that first one; nobody within a class is
    shown to be behind its first."""
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
    """The smallest true difference that a pair of a board with so many entrants shows with
    probability 0.8, if its differences scatter over seeds as the median pair of `values` does; None
    with fewer than two names or seeds. `still`: names whose pairs with each other say nothing about
    scatter, such as those of rows that never arrive.

    h + t(0.8) s / sqrt(n) with n - 1 degrees of freedom, where h, at least `least`, is the
    half-width of the pair's interval, t(1 - alpha / 2m) s / sqrt(n), and m = entrants (entrants -
    1) / 2.
    """
    differences = [paired_difference(values[a], values[b]) for a, b in itertools.combinations(values, 2) if {a, b} - still]
    scatter = [one.std for one in differences if one.std is not None]
    if not scatter:
        return None
    s, n = float(np.median(scatter)), min(one.n for one in differences if one.std is not None)
    m = max(1, entrants * (entrants - 1) // 2)
    error = s / math.sqrt(n)
    return max(least, t_factor(n, 1 - alpha / m) * error) + t_factor(n, 2 * POWER - 1) * error
