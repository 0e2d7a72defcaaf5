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
"""With so many seeds or more the band is a t-interval. With fewer its factor would be so large that
the plain range says more."""

Floats = NDArray[np.float64]
Band = Literal["none", "range", "t", "quartiles"]


@dataclass(frozen=True)
class Curve:
    """The middle of the seeds along an axis, with its band. All columns are (T,) float64.

    at: places on the axis, ascending. The other columns belong to these places. band: what `low`
    and `high` are. About a mean they are a 95 % t-interval (`t`), the least and the largest seed
    (`range`), or the mean of the only seed (`none`). About a median they are the `quartiles`.
    """

    axis: Axis
    at: Floats
    middle: Floats
    low: Floats
    high: Floats
    band: Band


def mean_curve(runs: Sequence[Record], metric: str = "test_accuracy", axis: Axis = SECONDS) -> Curve:
    """Returns the mean of a metric over `runs` (one per seed, at least one) along an axis.

    Each seed is interpolated linearly on a common grid: the union of all seeds' evaluations. The
    grid begins where the last seed begins and ends where the first seed ends. So no seed is ever
    extrapolated, and the curve cannot jump because seeds drop out of the mean. A seed ends before
    its first value that is not finite.
    """
    grid, rows = _on_one_grid(runs, metric, axis)
    mean, n = rows.mean(axis=0), len(rows)
    if n >= ENOUGH_SEEDS:
        half = t_factor(n) * rows.std(axis=0, ddof=1) / np.sqrt(n)
        return Curve(axis, grid, mean, mean - half, mean + half, band="t")
    return Curve(axis, grid, mean, rows.min(axis=0), rows.max(axis=0), band="range" if n > 1 else "none")


def median_curve(runs: Sequence[Record], metric: str = "test_accuracy", axis: Axis = SECONDS) -> Curve:
    """Returns the median and the quartiles of a metric over `runs` on the grid of `mean_curve`. A
    quartile between two seeds is interpolated linearly, which is numpy's default."""
    grid, rows = _on_one_grid(runs, metric, axis)
    low, median, high = np.quantile(rows, (0.25, 0.5, 0.75), axis=0)
    return Curve(axis, grid, median, low, high, band="quartiles")


def _on_one_grid(runs: Sequence[Record], metric: str, axis: Axis) -> tuple[Floats, Floats]:
    """Returns the common grid (T,) and the values of every run there (runs, T)."""
    seeds = [points(run, metric, axis) for run in runs]
    grid = _common([at for at, _ in seeds])
    return grid, np.stack([np.interp(grid, at, there) if len(grid) else grid for at, there in seeds])


def points(run: Record, metric: str, axis: Axis) -> tuple[Floats, Floats]:
    """Returns the places, strictly ascending, and the values of one run, up to its first value that
    is not finite. Of several evaluations at one place the last counts."""
    at, there = along(run, axis), values(run, metric)
    bad = np.flatnonzero(~np.isfinite(there))
    end = int(bad[0]) if len(bad) else len(there)
    places, backwards = np.unique(at[:end][::-1], return_index=True)
    return places, there[:end][::-1][backwards]


def value_at(run: Record, metric: str, axis: Axis, place: float) -> float | None:
    """Returns the value of the newest evaluation at or before a place, without interpolation. It is
    None outside of the run, or if the value is not finite."""
    at, there = along(run, axis), values(run, metric)
    if not len(at) or not at[0] <= place <= at[-1]:
        return None
    value = float(there[np.searchsorted(at, place, side="right") - 1])
    return value if np.isfinite(value) else None


def last_k_mean(run: Record, metric: str = "test_accuracy", k: int = 10) -> float | None:
    """Returns the mean of the last k evaluations of a run. It is None if there are fewer, if one of
    them is not finite, or if the run diverged."""
    there = values(run, metric)
    if len(there) < k or run.state == "diverged":
        return None
    mean = float(there[-k:].mean())
    return mean if np.isfinite(mean) else None


def _common(seeds: Sequence[Floats]) -> Floats:
    """Returns the union of all seeds' places, from where all have data to where all still have
    it."""
    if not all(len(at) for at in seeds):
        return np.empty(0)
    places = np.unique(np.concatenate(seeds))
    return np.asarray(places[(places >= max(at[0] for at in seeds)) & (places <= min(at[-1] for at in seeds))])
