"""Percentile intervals of statistics over several scenarios: seeds are drawn again within each scenario, the same for all algorithms.

Source: Efron and Tibshirani 1993, chapter 13.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fedbench.analysis.statistics import LEVEL
from fedbench.errors import UsageError

DRAWS = 2000
Floats = npt.NDArray[np.float64]
Strata = Mapping[str, Floats]
"""By scenario: values (seeds, ..); what belongs to one seed is drawn together."""
Statistic = Callable[[Strata], Floats]
"""From the means over seeds, (draws, ..) of every scenario, to one number a draw, (draws,)."""


class Interval(NamedTuple):
    """A value, and the low and the high end of its interval."""

    value: float
    low: float
    high: float


def estimate(strata: Strata, statistic: Statistic, *, draws: int = DRAWS, seed: int = 0, level: float = LEVEL) -> Interval:
    """Returns a statistic with its percentile interval. Scenarios are fixed: what is said holds for these, not for others like them.

    Args:
        strata: the values of every scenario.
        statistic: of means over seeds.
        draws: how many times seeds are drawn again; the same `seed` gives the same draws.
        seed: of the draws.
        level: of the interval.

    Raises:
        UsageError: for a scenario with fewer than two seeds.
    """
    for scenario, values in strata.items():
        if len(values) < 2:
            raise UsageError(f"bootstrap: scenario {scenario} has {len(values)} seeds, expected at least 2")
    generator = np.random.Generator(np.random.Philox(seed))
    again = {}
    for name, values in sorted(strata.items()):
        drawn = generator.integers(len(values), size=(draws, len(values)))
        again[name] = values[drawn].mean(axis=1)
    (value,) = statistic({name: values.mean(axis=0, keepdims=True) for name, values in sorted(strata.items())})
    low, high = np.quantile(statistic(again), ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(value), float(low), float(high))


def mean_of_scenarios(means: Strata) -> Floats:
    """Every scenario counts alike, whatever its number of seeds."""
    by_scenario = [values.reshape(len(values), -1).mean(axis=1) for values in means.values()]
    return np.asarray(np.mean(by_scenario, axis=0), np.float64)
