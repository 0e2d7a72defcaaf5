"""Curves over an axis: the value at a place, and means over seeds with a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedbench.analysis.axes import SECONDS, Axis, along
from fedbench.analysis.metrics import values
from fedbench.analysis.statistics import t_factor
from fedbench.results.record import Record

ENOUGH_SEEDS = 5
"""From here on the band is a t-interval; with fewer seeds its factor is so large that the plain
range says more."""

Floats = NDArray[np.float64]
Band = Literal["none", "range", "t"]


@dataclass(frozen=True)
class MeanCurve:
    """A mean over seeds.

    at: places on the axis, ascending; mean, std, low, high: there; all (T,) float64. std: sample
    standard deviation, ddof 1, NaN with one seed. band: what low and high are (none: one seed, both
    equal the mean).
    """

    axis: Axis
    at: Floats
    mean: Floats
    std: Floats
    low: Floats
    high: Floats
    band: Band


def mean_curve(runs: Sequence[Record], metric: str = "test_accuracy", axis: Axis = SECONDS) -> MeanCurve:
    """Returns the mean of a metric over `runs` (one per seed, at least one) against an axis.

    Each seed is interpolated linearly on a common grid: the union of all seeds' evaluations. The
    grid begins where the last seed begins and ends where the first seed ends, so no seed is ever
    extrapolated, and a mean over fewer and fewer seeds cannot jump for no reason of the algorithm.
    A seed ends before its first value that is not finite.
    """
    grid, rows = _on_one_grid(runs, metric, axis)
    mean, n = rows.mean(axis=0), len(rows)
    std = rows.std(axis=0, ddof=1) if n > 1 else np.full(len(grid), np.nan)
    if n >= ENOUGH_SEEDS:
        half = t_factor(n) * std / np.sqrt(n)
        return MeanCurve(axis, grid, mean, std, mean - half, mean + half, band="t")
    return MeanCurve(axis, grid, mean, std, rows.min(axis=0), rows.max(axis=0), band="range" if n > 1 else "none")


@dataclass(frozen=True)
class MedianCurve:
    """A median over seeds with the quartiles; at: places on the axis, ascending; all (T,)
    float64."""

    axis: Axis
    at: Floats
    median: Floats
    low: Floats
    high: Floats


def median_curve(runs: Sequence[Record], metric: str = "test_accuracy", axis: Axis = SECONDS) -> MedianCurve:
    """Returns the median and the quartiles of a metric over `runs` on the grid of `mean_curve`.
    Between two seeds they are linear, as numpy has them."""
    grid, rows = _on_one_grid(runs, metric, axis)
    low, median, high = np.quantile(rows, (0.25, 0.5, 0.75), axis=0)
    return MedianCurve(axis, grid, median, low, high)


def _on_one_grid(runs: Sequence[Record], metric: str, axis: Axis) -> tuple[Floats, Floats]:
    """Returns the common grid (T,) and the values of every run there (runs, T)."""
    seeds = [points(run, metric, axis) for run in runs]
    grid = _common([at for at, _ in seeds])
    return grid, np.stack([np.interp(grid, at, there) if len(grid) else grid for at, there in seeds])


def points(run: Record, metric: str, axis: Axis) -> tuple[Floats, Floats]:
    """Places (strictly ascending) and values of one run, up to the first value that is not finite;
    of equal places the last counts."""
    at, there = along(run, axis), values(run, metric)
    bad = np.flatnonzero(~np.isfinite(there))
    end = int(bad[0]) if len(bad) else len(there)
    places, backwards = np.unique(at[:end][::-1], return_index=True)
    return places, there[:end][::-1][backwards]


def value_at(run: Record, metric: str, axis: Axis, place: float) -> float | None:
    """The newest evaluation at or before a place, without interpolation; None beyond the end of the
    run, or if it is not finite."""
    at, there = along(run, axis), values(run, metric)
    if not len(at) or not at[0] <= place <= at[-1]:
        return None
    value = float(there[np.searchsorted(at, place, side="right") - 1])
    return value if np.isfinite(value) else None


def last_k_mean(run: Record, metric: str = "test_accuracy", k: int = 10) -> float | None:
    """The mean of the last k evaluations of a run; None if it has fewer, if one of them is not
    finite, or if the run diverged."""
    there = values(run, metric)
    if len(there) < k or run.state == "diverged":
        return None
    mean = float(there[-k:].mean())
    return mean if np.isfinite(mean) else None


def _common(seeds: Sequence[Floats]) -> Floats:
    """The union of all seeds' places where all have data."""
    if not all(len(at) for at in seeds):
        return np.empty(0)
    places = np.unique(np.concatenate(seeds))
    return np.asarray(places[(places >= max(at[0] for at in seeds)) & (places <= min(at[-1] for at in seeds))])
