"""Compares rows with the best mean: which ones cannot be told from it, and which are behind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fedbench.analysis.holm import Holm, holm
from fedbench.analysis.statistics import LEVEL, Estimate, p_value, paired_difference, t_factor
from fedbench.results.sections import Count

ALPHA = 1 - LEVEL
LEAST_FOR_P = 10
"""Seeds below which no p-value is shown, by the rules of comparison (`fedbench rules`)."""

Relation = Literal["best", "tied", "behind", "ahead", "unknown", "reference"]


@dataclass(frozen=True)
class Comparison:
    """How one row compares with the best mean.

    standing: `tied` if it cannot be told from the best mean, `unknown` if it was not compared; see
    `standings` for the others.
    seeds: the number of seeds that both have.
    difference: the mean of own - best over these seeds.
    half_width: of the interval of the difference at confidence `level`, adjusted by Holm.
    p, p_adjusted: of the paired t-test, before and after the adjustment by Holm.

    The last five are None for the best itself and for rows that were not compared.
    """

    standing: Relation
    seeds: Count = 0
    difference: float | None = None
    half_width: float | None = None
    level: float | None = None
    p: float | None = None
    p_adjusted: float | None = None

    def shown(self) -> Comparison:
        """Returns it without p-values if it has fewer than LEAST_FOR_P seeds."""
        return self if self.seeds >= LEAST_FOR_P else replace(self, p=None, p_adjusted=None)


UNKNOWN = Comparison("unknown")


def standings(values: Mapping[str, Mapping[int, float]], *, higher_is_better: bool) -> dict[str, Comparison]:
    """Compares each name with the best mean by a paired t-test over common seeds. `values` has, for
    each name that may be compared, its value per seed.

    - `best`: the best mean; of equal ones the first in the order of `values`.
    - `behind`: worse than the best mean, and the p-value, adjusted by Holm over all comparisons
      with the best, is below 0.05.
    - `ahead`: likewise, but better over the common seeds. This only happens if the best mean has
      seeds that the row lacks.
    - `unknown`: fewer than three common seeds, differences that do not scatter, or nobody to
      compare with.
    - `tied`: all others.

    The best mean is chosen by the same data, so it may owe its place to chance, and a name that is
    tied with it may be as good.
    """
    sign = 1.0 if higher_is_better else -1.0
    means = {name: sign * float(np.mean(list(seeds.values()))) for name, seeds in values.items() if seeds}
    best = max(means, key=lambda name: means[name], default=None)
    result = dict.fromkeys(values, UNKNOWN)
    if best is None:
        return result
    differences = {name: paired_difference(values[name], values[best]) for name in values if name != best}
    p_values = {name: p for name, one in differences.items() if (p := p_value(one)) is not None}
    adjusted = dict(zip(p_values, holm(list(p_values.values()), ALPHA), strict=True))
    result |= {name: _compared(differences[name], sign, p_values[name], adjusted[name]) for name in p_values}
    if p_values:
        result[best] = Comparison("best", seeds=len(values[best]))
    return result


def _compared(difference: Estimate, sign: float, p: float, adjusted: Holm) -> Comparison:
    assert difference.mean is not None
    assert difference.std is not None
    standing: Relation = "tied"
    if adjusted.p < ALPHA:
        standing = "behind" if sign * difference.mean < 0 else "ahead"
    return Comparison(
        standing,
        seeds=difference.n,
        difference=difference.mean,
        half_width=t_factor(difference.n, adjusted.level) * difference.std / math.sqrt(difference.n),
        level=adjusted.level,
        p=p,
        p_adjusted=adjusted.p,
    )
