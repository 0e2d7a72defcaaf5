"""Percentile intervals of statistics over several scenarios: seeds are drawn again within each scenario, the same for all algorithms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from fedbench.analysis.statistics import LEVEL
from fedbench.errors import UsageError

DRAWS = 2000
Strata = Mapping[str, npt.NDArray[np.float64]]
"""By scenario: values (seeds, ..)."""


def interval(
    strata: Strata, statistic: Callable[[Strata], float], *, draws: int = DRAWS, seed: int = 0, level: float = LEVEL
) -> tuple[float, float]:
    """Low and high of the percentile bootstrap. Scenarios are fixed: what is said holds for these, not for others like them.

    Args:
        strata: of every scenario the values of its seeds, along the first axis; what belongs to one seed is drawn together.
        statistic: of strata that were drawn again.
        draws: how many times; the same seed gives the same draws.

    UsageError for a scenario with fewer than two seeds.
    """
    for scenario, values in strata.items():
        if len(values) < 2:
            raise UsageError(f"bootstrap: scenario {scenario} has {len(values)} seeds, expected at least 2")
    generator = np.random.Generator(np.random.Philox(seed))
    found = []
    for _ in range(draws):
        again = {name: values[generator.integers(len(values), size=len(values))] for name, values in sorted(strata.items())}
        found.append(statistic(again))
    low, high = np.quantile(found, ((1 - level) / 2, (1 + level) / 2)).tolist()
    return float(low), float(high)


def mean_of_scenarios(strata: Strata) -> float:
    """Every scenario counts alike, whatever its number of seeds."""
    means: Sequence[float] = [float(values.mean()) for values in strata.values()]
    return float(np.mean(means))
