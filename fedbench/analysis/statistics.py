"""Means over seeds and their 95 % Student-t intervals, paired differences, and who is tied with the best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit  # scipy.stats would take a second to import

LEVEL = 0.95

Standing = Literal["best", "tied", "behind", "unknown", "reference"]


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds.

    n: seeds that have a value; missing: seeds that have none (they cannot enter a mean, so they are counted);
    mean: None if n = 0; std: sample standard deviation, ddof 1, None if n < 2;
    half_width: of the 95 % t-interval mean +- half_width, None if n < 2.
    """

    n: int
    missing: int
    mean: float | None
    std: float | None
    half_width: float | None


def t_factor(n: int) -> float:
    """The half-width of a 95 % interval over n >= 2 values, in units of std / sqrt(n)."""
    return float(stdtrit(n - 1, (1 + LEVEL) / 2))


def estimate(values: Iterable[float | None]) -> Estimate:
    """Mean, sample std and 95 % t-interval of one value per seed. None and non-finite values count as missing."""
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
    """a - b over the seeds that both have. Seeds are common random numbers, so pairing removes what they share."""
    return estimate(a[seed] - b[seed] for seed in sorted(a.keys() & b.keys()))


def standings(values: Mapping[str, Mapping[int, float]], *, higher_is_better: bool) -> dict[str, Standing]:
    """Who has the best mean, who cannot be told from it, who is behind.

    values: for each name that may be compared, its value per seed. `tied`: the 95 % interval of the paired difference to
    the best mean does not lie wholly on the worse side of 0. `unknown`: fewer than two common seeds, or nobody to compare with.
    The intervals are not adjusted for the number of comparisons. Equal means: the first name in the order of `values` is `best`.
    """
    sign = 1.0 if higher_is_better else -1.0
    means = {name: sign * float(np.mean(list(seeds.values()))) for name, seeds in values.items() if seeds}
    best = max(means, key=lambda name: means[name], default=None)
    if best is None or len(means) < 2:
        return dict.fromkeys(values, "unknown")
    result: dict[str, Standing] = {name: _against(values[name], values[best], sign) for name in values}
    result[best] = "best" if any(standing != "unknown" for name, standing in result.items() if name != best) else "unknown"
    return result


def _against(one: Mapping[int, float], best: Mapping[int, float], sign: float) -> Standing:
    difference = paired_difference(one, best)
    if difference.mean is None or difference.half_width is None:
        return "unknown"
    return "tied" if sign * difference.mean + difference.half_width >= 0 else "behind"
