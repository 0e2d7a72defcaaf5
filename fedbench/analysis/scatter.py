"""How much rows scatter over seeds, beyond what all rows of a board share.

A seed is the same data, speeds and absences for all rows, so some seeds are harder for all. This
effect is removed, and what is left of a row has a variance of its own. With few seeds such a
variance is known badly. It is moved towards that of the other rows, as far as the rows' variances
resemble each other. Sources: Grubbs 1948, the variances of rows of a table; Smyth 2004, the
moderation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fedbench.analysis.costs import Costs, Floats

LEAST_ROWS = 3
"""From so few rows, or from fewer, nothing is learnt about the variances of others."""


@dataclass(frozen=True)
class Prior:
    """What the rows of a suite say of a variance: it is as if `freedom` degrees of freedom more had
    shown the variance `variance`."""

    variance: float
    freedom: float

    def capped(self, rows: int) -> Prior:
        """Returns the prior for a board of so many rows. They share seeds, so that they count as at
        most one degree of freedom less than there are rows."""
        return Prior(self.variance, min(self.freedom, rows - 1.0))

    def moderated(self, variance: Floats, freedom: float) -> Floats:
        """Returns variances that were found with `freedom` degrees of freedom, moved towards the
        prior."""
        return np.asarray((self.freedom * self.variance + freedom * variance) / (self.freedom + freedom))


NOTHING = Prior(0.0, 0.0)


def row_variances(values: Floats) -> Floats:
    """Returns the variance of each row about the seed effect that all rows share, (K,), from a
    value for each seed and row (n, K). There are at least two seeds and three rows. The estimates
    are unbiased, so that they may be negative.

    Row k has K / (K - 2) (S_k - sum of S / (K (K - 1))), with S of `mean_squares`.
    """
    own, rows = mean_squares(values), values.shape[1]
    return np.asarray(rows / (rows - 2) * (own - own.sum() / (rows * (rows - 1))))


def mean_squares(values: Floats) -> Floats:
    """Returns for each row the sum over seeds, by n - 1, of the squares of its values less their
    means over rows and over seeds (K,)."""
    left = values - values.mean(axis=1, keepdims=True)
    left = left - left.mean(axis=0)
    return np.asarray((left**2).sum(axis=0) / (len(values) - 1))


def grid_variance(step: Floats) -> Floats:
    """Returns the variance that the grid of evaluations alone makes: that of a uniform error of one
    step. It is the least variance of a row (K,), as the mean over seeds and targets."""
    return np.asarray((step**2).mean(axis=(0, 2)) / 12)


def prior_of(boards: Iterable[Costs]) -> Prior:
    """Returns the prior of a suite from the rows of all of its boards that miss no target. From
    boards with few rows or seeds nothing is learnt. A row's variance is here S K / (K - 1), with S
    of `mean_squares`: it is never negative, and is right where all rows scatter alike."""
    groups = []
    for one in boards:
        whole = np.asarray(~one.missed.any(axis=(0, 2)))
        if len(one.seeds) > 1 and whole.sum() >= LEAST_ROWS:
            kept = one.among([row for row, is_whole in zip(one.rows, whole, strict=True) if is_whole])
            found = mean_squares(kept.log.mean(axis=2)) * len(kept.rows) / (len(kept.rows) - 1)
            found = np.maximum(found, grid_variance(kept.step))
            groups.append((len(one.seeds) - 1, found[found > 0]))
    return _fitted(groups)


def _fitted(groups: list[tuple[int, Floats]]) -> Prior:
    """Returns the prior under which the logarithms of the variances have the mean and the variance
    that they have (Smyth 2004, section 6.2)."""
    from scipy.special import digamma, polygamma

    if sum(len(found) for _, found in groups) <= LEAST_ROWS:
        return NOTHING
    centred = np.concatenate([np.log(found) - digamma(d / 2) + math.log(d / 2) for d, found in groups])
    noise = float(np.mean(np.concatenate([np.full(len(found), polygamma(1, d / 2)) for d, found in groups])))
    spread, mean = float(centred.var(ddof=1)) - noise, float(centred.mean())
    if spread <= 0:
        return Prior(math.exp(mean), math.inf)
    freedom = 2 * _inverse_trigamma(spread)
    return Prior(math.exp(mean + digamma(freedom / 2) - math.log(freedom / 2)), freedom)


def _inverse_trigamma(value: float) -> float:
    """Returns the y > 0 whose trigamma function is `value`, by Newton's method (Smyth 2004,
    appendix)."""
    from scipy.special import polygamma

    y = 0.5 + 1 / value
    for _ in range(50):
        now = float(polygamma(1, y))
        change = now * (1 - now / value) / float(polygamma(2, y))
        y += change
        if abs(change) < 1e-12 * y:
            break
    return y
