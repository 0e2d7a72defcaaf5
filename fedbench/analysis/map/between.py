"""Places in a design that need not be at its levels.

A numeric factor takes any number within its range. A factor of kinds, such as label skew, lies
between two of its kinds if every kind has a number: its columns are then a mean of theirs, weighted
by how near their numbers are. So does what was measured halfway between two kinds not jump from one
to the other, and at a kind the columns are its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench.analysis.map.factors import Columns, Factor, Floats

Numbers = Mapping[str, Mapping[str, float]]
"""By factor of kinds, the number that stands for each kind."""


def ends(factor: Factor, points: Columns, numbers: Numbers) -> tuple[float, float]:
    """Returns the least and the largest level of a factor at some points; of kinds, their
    numbers."""
    levels = [numbers[factor.name][kind] for kind in factor.kinds] or points[factor.name]
    return float(min(levels)), float(max(levels))


def kinds_around(numbers: Mapping[str, float], value: float) -> dict[str, float]:
    """Returns the kinds next to a number with their weights, which sum to 1. Beyond the first or
    the last kind there is that one alone."""
    names = sorted(numbers, key=lambda name: numbers[name])
    values = [numbers[name] for name in names]
    place = float(np.interp(value, values, range(len(names))))
    low = min(int(place), len(names) - 2)
    weights = {names[low]: 1 - (place - low), names[low + 1]: place - low}
    return {name: weight for name, weight in weights.items() if weight > 0}


def around(factor: Factor, levels: npt.NDArray[Any], value: float, numbers: Numbers) -> list[Any]:
    """Returns the levels next to a value, of those that some points have (N,): one if it is such a
    level or beyond all of them."""
    if factor.kinds:
        return [kind for kind in kinds_around(numbers[factor.name], value) if kind in levels]
    known = np.unique(levels)
    return sorted({*known[known <= value][-1:].tolist(), *known[known >= value][:1].tolist()})


def at(columns: Callable[[Columns], Floats], factors: Sequence[Factor], place: Mapping[str, float], numbers: Numbers) -> Floats:
    """Returns the columns at one place (1, C), of a function that gives them at levels."""
    choices: list[list[tuple[Any, float]]] = [
        list(kinds_around(numbers[one.name], place[one.name]).items()) if one.kinds else [(place[one.name], 1.0)]
        for one in factors
    ]
    corners = list(itertools.product(*choices))
    levels = {one.name: [corner[k][0] for corner in corners] for k, one in enumerate(factors)}
    weights = np.array([np.prod([weight for _, weight in corner]) for corner in corners])
    return np.asarray(weights @ columns(levels))[None]
