"""Mean curves over seeds, with a band."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedbench.analysis.statistics import t_factor

ENOUGH_SEEDS = 5
"""From here on the band is a t-interval; with fewer seeds its factor is so large that the plain range says more."""

Curves = Mapping[str, NDArray[Any]]
Band = Literal["none", "range", "t"]


@dataclass(frozen=True)
class MeanCurve:
    """seconds, mean, low, high: (T,) float64. band: what low and high are (none: one seed, both equal the mean)."""

    seconds: NDArray[np.float64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    band: Band


def mean_curve(curves: Sequence[Curves], column: str) -> MeanCurve:
    """The mean of a column over `curves` (one per seed, at least one), at the virtual times at which all have a finite value.

    So the mean ends where the first seed ends: a mean over fewer and fewer seeds would jump for no reason of the algorithm.
    """
    seeds = [_finite(one, column) for one in curves]
    seconds = functools.reduce(np.intersect1d, [times for times, _ in seeds])
    rows = np.stack([values[np.searchsorted(times, seconds)] for times, values in seeds])
    mean = rows.mean(axis=0)
    n = len(rows)
    if n >= ENOUGH_SEEDS:
        half = t_factor(n) * rows.std(axis=0, ddof=1) / np.sqrt(n)
        return MeanCurve(seconds, mean, mean - half, mean + half, band="t")
    return MeanCurve(seconds, mean, rows.min(axis=0), rows.max(axis=0), band="range" if n > 1 else "none")


def _finite(curves: Curves, column: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times (strictly increasing) and values, up to the first value that is not finite; the last of equal times counts."""
    seconds = np.asarray(curves.get("seconds", ()), dtype=np.float64)
    values = np.asarray(curves.get(column, ()), dtype=np.float64)
    if len(seconds) != len(values):
        return np.empty(0), np.empty(0)
    bad = np.flatnonzero(~np.isfinite(values))
    end = int(bad[0]) if len(bad) else len(values)
    times, backwards = np.unique(seconds[:end][::-1], return_index=True)
    return times, values[:end][::-1][backwards]
