"""Bootstrap intervals of statistics over several scenarios. A draw takes the same seeds, with
replacement, for all algorithms and scenarios.

A percentile interval of a mean of n values is too short by the factor sqrt((n - 1) / n) z / t.
Wider percentiles make up for it: with them, the interval of a mean of normal values has the stated
level. Source: Hesterberg 2015, the expanded percentile interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fedbench.analysis.statistics import LEVEL, t_factor
from fedbench.errors import UsageError

DRAWS = 10_000
LEAST = 5
"""With fewer values an interval is no wider than the values themselves: of the mean of three normal
ones it has the true mean in 75 % of cases, of five in 93 %."""
Floats = npt.NDArray[np.float64]
Strata = Mapping[str, Floats]
"""By scenario: the values of all seeds, (seeds, ..)."""
Statistic = Callable[[Strata], Floats]
"""Turns the means over seeds of every scenario, (draws, ..), into one number a draw, (draws,)."""


class Interval(NamedTuple):
    """A value, and the low and the high end of its interval."""

    value: float
    low: float
    high: float


def estimate(strata: Strata, statistic: Statistic, *, draws: int = DRAWS, seed: int = 0, level: float = LEVEL) -> Interval:
    """Returns a statistic with its expanded percentile interval. Scenarios are not drawn: the
    interval holds for these scenarios, not for others like them.

    Args:
        strata: the values of every scenario. Scenarios with equally many seeds have the same seeds,
            which are drawn together.
        statistic: a function of the means over seeds.
        draws: how many times seeds are drawn.
        seed: of the random numbers; the same one gives the same draws.
        level: the confidence of the interval.

    Raises:
        UsageError: for a scenario with fewer than two seeds.
    """
    for scenario, values in strata.items():
        if len(values) < 2:
            raise UsageError(f"bootstrap: scenario {scenario} has {len(values)} seeds, expected at least 2")
    generator = np.random.Generator(np.random.Philox(seed))
    drawn = {n: generator.integers(n, size=(draws, n)) for n in sorted({len(values) for values in strata.values()})}
    again = {name: values[drawn[len(values)]].mean(axis=1) for name, values in sorted(strata.items())}
    (value,) = statistic({name: values.mean(axis=0, keepdims=True) for name, values in sorted(strata.items())})
    tail = _tail(min(drawn), level)
    low, high = np.quantile(statistic(again), (tail, 1 - tail))
    return Interval(float(value), float(low), float(high))


def _tail(n: int, level: float) -> float:
    """Returns the share of draws that lie beyond each end of the interval, for n seeds."""
    from scipy.special import ndtr

    return float(ndtr(-math.sqrt(n / (n - 1)) * t_factor(n, level)))
