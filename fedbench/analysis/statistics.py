"""Means over seeds and their 95 % Student-t intervals, paired differences and their p-values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from fedbench.results.sections import Count

LEVEL = 0.95
LEAST_SEEDS = 3
"""With fewer seeds nothing is told apart: how much they scatter is hardly known."""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds.

    n: the number of seeds that have a value.
    missing: the number of seeds that have none. They cannot enter the mean, so they are counted.
    mean: None if n = 0.
    std: the sample standard deviation with ddof 1, None if n < 2.
    half_width: of the 95 % t-interval mean +- half_width, None if n < 2.
    """

    n: Count
    missing: Count
    mean: float | None
    std: float | None
    half_width: float | None


def t_factor(n: int, level: float = LEVEL) -> float:
    """Returns the half-width of an interval of confidence `level` over n >= 2 values, in units of
    std / sqrt(n)."""
    from scipy.special import stdtrit  # all verbs start faster without it; scipy.stats would take a second

    return float(stdtrit(n - 1, (1 + level) / 2))


def estimate(values: Iterable[float | None]) -> Estimate:
    """Returns the mean of one value per seed with its standard deviation and interval. None and
    values that are not finite count as missing."""
    given = [None if value is None or not math.isfinite(value) else float(value) for value in values]
    known = np.array([value for value in given if value is not None], dtype=np.float64)
    n, missing = len(known), len(given) - len(known)
    if n == 0:
        return Estimate(0, missing, None, None, None)
    if n == 1:
        return Estimate(1, missing, float(known[0]), None, None)
    std = float(known.std(ddof=1))
    return Estimate(n, missing, float(known.mean()), std, t_factor(n) * std / math.sqrt(n))


def paired_difference(a: Mapping[int, float], b: Mapping[int, float]) -> Estimate:
    """Returns the estimate of a - b over the seeds that both have. Seeds are common random numbers,
    so the difference is free of the randomness that both share."""
    return estimate(a[seed] - b[seed] for seed in sorted(a.keys() & b.keys()))


def p_value(difference: Estimate) -> float | None:
    """Returns the two-sided p-value of the t-test that the mean difference is 0. None with fewer
    than LEAST_SEEDS seeds, if a seed has no value, or if the differences of all seeds are equal:
    how much they scatter is then not known."""
    if difference.mean is None or difference.missing or difference.n < LEAST_SEEDS or not difference.std:
        return None
    from scipy.special import stdtr  # as in t_factor

    return float(2 * stdtr(difference.n - 1, -abs(difference.mean) * math.sqrt(difference.n) / difference.std))
