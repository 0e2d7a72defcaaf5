"""Comparison with the best: which rows of a board may be the best, and how much more than the best
each of them costs.

Costs are compared on the logarithmic scale, target by target and seed by seed. A target that both
rows of a pair miss in a seed says nothing and is left out. A miss counts with what the run had
spent at its end, and as at least as dear as a row that arrives. Whether row i is left out in favour
of row j is decided with what is least favourable for it: there a miss of i counts with what it had
spent, however little that is.

Row i leaves the set of the best if and only if, for some j, the one-sided lower bound of the mean
of log(cost of i / cost of j), at the level 1 - 0.05 / (K - 1), is above 0. So the best row stays
in the set with a probability of at least 95 %, whatever K is. The looks of a race have levels of
their own in the place of 0.05. Sources: Hsu 1981 and 1984; Dunnett 1955.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedbench.analysis.costs import Costs, Flags, Floats
from fedbench.analysis.scatter import NOTHING, Prior, grid_variance, row_variances
from fedbench.analysis.statistics import LEAST_SEEDS, LEVEL
from fedbench.written import Ratio


@dataclass(frozen=True, eq=False)
class Comparison:
    """All pairs of the rows of a board.

    by_seed: log(cost of i / cost of j) of every seed, as the mean over targets (n, K, K); NaN where
    both rows miss all targets.
    difference: its mean over seeds (K, K); 0 where nothing is known.
    least: the same with what is least favourable for leaving row i out.
    error, freedom: its standard error and degrees of freedom (K, K); NaN with fewer than
    LEAST_SEEDS seeds in which one of the two reaches something, and without any scatter.
    is_bound: whether i misses a target that j reaches, in some seed (K, K). Then the difference is
    a lower bound.
    seeds: in how many seeds the pair is compared (K, K).
    level: the probability with which the best row stays in the set.
    """

    costs: Costs
    by_seed: Floats
    difference: Floats
    least: Floats
    error: Floats
    freedom: Floats
    is_bound: Flags
    seeds: Floats
    level: float = LEVEL

    @cached_property
    def lower(self) -> Floats:
        """Returns the one-sided lower bounds (K, K) that hold together against one row; minus
        infinity where nothing is known, and for a row and itself."""
        pairs = max(1, len(self.costs.rows) - 1)
        return np.asarray(self.least - self._quantile(1 - (1 - self.level) / pairs) * self.error_or_none)

    @cached_property
    def error_or_none(self) -> Floats:
        """Returns the standard errors, infinite where they are not known."""
        return np.where(np.isnan(self.error), np.inf, self.error)

    def _quantile(self, level: float) -> Floats:
        from scipy.special import stdtrit

        return np.asarray(stdtrit(np.where(np.isnan(self.freedom), 1.0, self.freedom), level))

    @cached_property
    def reaches(self) -> Flags:
        """Returns which rows reach a target with some seed (K,)."""
        return np.asarray(~self.costs.missed.all(axis=(0, 2)))

    @property
    def is_known(self) -> bool:
        """Returns whether there are enough seeds to tell rows apart."""
        return len(self.costs.seeds) >= LEAST_SEEDS

    @cached_property
    def in_set(self) -> Flags:
        """Returns which rows may be the best (K,): those that no other excludes, and that reach a
        target."""
        return np.asarray(~(self.lower > 0).any(axis=1) & self.reaches)

    @cached_property
    def worst(self) -> Floats:
        """Returns the largest difference of every row from another one (K,): the logarithm of its
        cost over the smallest of all others. It is negative for the cheapest row."""
        return worst(self.difference)

    @cached_property
    def order(self) -> list[int]:
        """Returns the rows from the one with the smallest regret to that with the largest. Rows
        that reach nothing come last."""
        return sorted(range(len(self.costs.rows)), key=lambda k: (not self.reaches[k], self.worst[k], self.costs.score[k]))

    @property
    def leader(self) -> int | None:
        """Returns the cheapest row, None if no row reaches a target. Where a row misses targets,
        its mean cost says too little, so the smallest regret decides."""
        return self.order[0] if self.reaches.any() else None

    def regret(self, row: int) -> Ratio:
        """Returns the cost of a row over that of the cheapest one, at least 1. The interval is
        Hsu's, of the cost over the smallest of all others: it contains 1 if and only if the row is
        in the set."""
        others = [k for k in range(len(self.costs.rows)) if k != row]
        if not others:
            return Ratio(1.0, 1.0, 1.0)
        rivals = [k for k in others if self.in_set[k]]
        value = max(0.0, float(self.worst[row]))
        low, high = float(self.lower[row, others].max()), max([value, *(-self.lower[k, row] for k in rivals)])
        if any(self.is_bound[row, k] for k in rivals):
            high = math.inf
        return Ratio(_exp(value), _exp(low), _exp(high))

    def pair(self, first: int, second: int, level: float = LEVEL) -> Ratio:
        """Returns the cost of one row over that of another, with the interval of this one pair, as
        if no other had been looked at."""
        half = float((self._quantile((1 + level) / 2) * self.error_or_none)[first, second])
        middle = float(self.difference[first, second])
        low = 0.0 if self.is_bound[second, first] else _exp(float(self.least[first, second]) - half)
        high = math.inf if self.is_bound[first, second] else _exp(half - float(self.least[second, first]))
        return Ratio(_exp(middle), low, high)


def worst(difference: Floats) -> Floats:
    """Returns the largest of the differences of every row from another one, (.., K) from
    (.., K, K); 0 for a row that is alone."""
    rows = difference.shape[-1]
    if rows == 1:
        return np.zeros(difference.shape[:-1])
    return np.asarray(np.where(np.eye(rows, dtype=bool), -np.inf, difference).max(axis=-1))


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


def compare(found: Costs, prior: Prior = NOTHING, level: float = LEVEL) -> Comparison:
    """Returns the comparison of all pairs of rows.

    Args:
        found: their costs at the targets that get a verdict; there is at least one.
        prior: what is known of the scatter of rows from elsewhere.
        level: the probability with which the best row stays in the set.
    """
    first, second = found.missed[:, :, None], found.missed[:, None]  # of the pair (i, j): (n, K, K, T)
    kept = ~(first & second)
    each = found.log[:, :, None] - found.log[:, None]
    least = np.where(second & ~first, np.minimum(each, 0), each)
    each = np.where(first & ~second, np.maximum(least, 0), least)
    seeds = kept.any(axis=3).sum(axis=0)
    by_seed = _means(each, kept)
    difference, unfavourable = (np.nansum(values, axis=0) / np.maximum(seeds, 1) for values in (by_seed, _means(least, kept)))
    variance, freedom = _variances(found, kept, by_seed, prior)
    enough = (seeds >= LEAST_SEEDS) & ~np.eye(len(found.rows), dtype=bool) & (variance > 0)
    error = np.where(enough, np.sqrt(variance / np.maximum(seeds, 1)), np.nan)
    bound = np.asarray((first & ~second).any(axis=(0, 3)))
    known = np.where(enough, freedom, np.nan)
    return Comparison(found, by_seed, difference, unfavourable, error, known, bound, np.asarray(seeds, np.float64), level)


def _means(values: Floats, kept: Flags) -> Floats:
    """Returns the means over the targets that are kept (n, K, K), NaN where none is."""
    counts = kept.sum(axis=3)
    return np.where(counts > 0, np.where(kept, values, 0).sum(axis=3) / np.maximum(counts, 1), np.nan)


def _variances(found: Costs, kept: Flags, by_seed: Floats, prior: Prior) -> tuple[Floats, Floats]:
    """Returns the variance of a difference and its degrees of freedom (K, K): the sum of both rows'
    moderated variances, and what Welch 1947 gives for it. The variances of a pair are over the
    targets and seeds that it keeps. Two rows alone have one variance, that of their difference."""
    rows, floor = len(found.rows), grid_variance(found.step)
    least = floor[:, None] + floor
    seeds = (kept.any(axis=3)).sum(axis=0)
    own = np.maximum(seeds - 1.0, 1.0)
    if rows < 3:
        mean = np.nansum(by_seed, axis=0) / np.maximum(seeds, 1)
        return np.maximum(np.nansum((by_seed - mean) ** 2, axis=0) / own, least), own
    of_first = np.maximum(_of_first(found, kept), floor[:, None])
    moderate = prior.capped(rows)
    v = moderate.moderated(of_first, own)
    freedom = own + moderate.freedom
    total = v + v.T
    return total, total**2 / np.maximum((v**2 + v.T**2) / freedom, np.finfo(np.float64).tiny)


def _of_first(found: Costs, kept: Flags) -> Floats:
    """Returns the variance of row i over what the pair (i, j) keeps (K, K)."""
    rows = len(found.rows)
    if len(found.seeds) < 2:
        return np.zeros((rows, rows))
    known: dict[bytes, Floats] = {}  # most pairs keep the same
    variances = np.empty((rows, rows))
    for i in range(rows):
        for j in range(rows):
            mask = kept[:, i, j]
            key = mask.tobytes()
            if key not in known:
                known[key] = _over(found, mask)
            variances[i, j] = known[key][i]
    return variances


def _over(found: Costs, mask: Flags) -> Floats:
    """Returns the variances of all rows over the targets of each seed in `mask` (n, T)."""
    counts = mask.sum(axis=1)
    seeds = counts > 0
    if seeds.sum() < 2:
        return np.zeros(len(found.rows))
    return row_variances(np.where(mask[seeds][:, None], found.log[seeds], 0).sum(axis=2) / counts[seeds][:, None])
