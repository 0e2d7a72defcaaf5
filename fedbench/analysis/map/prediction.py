"""Whether a map predicts points that it has not seen, and better than simpler ways.

What is measured at such a point comes from its runs alone: the log cost of each algorithm, with the
effects of seeds removed by least squares, so that algorithms with other numbers of seeds can be
compared. A censored run counts with what it certainly cost. So an algorithm with one has a lower
bound: it is never the best. A prediction above the bound is no error; one below it is as wrong as
it lies below. The mean of squared errors is over the costs that are known, so that bounds can make
it larger only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from fedbench.analysis.map import runs as reading
from fedbench.analysis.map.answers import CLOSE, predicted_set, regrets
from fedbench.analysis.map.draws import Draws
from fedbench.analysis.map.factors import Columns, Floats
from fedbench.analysis.map.runs import Flags, Runs
from fedbench.errors import UsageError, nearest, quoted, some

MOST_ERROR, MOST_ROWS, LEAST_HITS = 0.20, 5, 10 / 12


@dataclass(frozen=True, eq=False)
class Measured:
    """Log costs at points (N, K), NaN without runs; which of them are lower bounds (N, K); and
    their variances by seeds (N, K), of which those of all algorithms at a point are pooled, NaN
    where they cannot be known."""

    log: Floats
    is_bound: Flags
    variance: Floats


def measured(runs: Runs) -> Measured:
    """Returns what runs say of every algorithm at every point, by themselves."""
    shape = (len(runs.points), len(runs.algorithms))
    log, is_bound, variance = np.full(shape, np.nan), np.zeros(shape, np.bool_), np.full(shape, np.nan)
    for n in range(shape[0]):
        units, seeds = np.nonzero(runs.is_there[n])
        algorithms = runs.algorithm[n, units]
        here = np.unique(algorithms)
        rows = np.concatenate([algorithms[:, None] == here, seeds[:, None] == np.unique(seeds)], axis=1).astype(np.float64)
        # The shortest solution is that of seeds whose effects have the mean 0 once it is moved
        # there.
        effects, _, rank, _ = np.linalg.lstsq(rows, runs.least[n, units, seeds], rcond=None)
        log[n, here] = effects[: len(here)] + effects[len(here) :].mean()
        is_bound[n, algorithms[runs.is_censored[n, units, seeds]]] = True
        if (freedom := len(units) - rank) > 0:
            squares = np.square(runs.least[n, units, seeds] - rows @ effects).sum()
            variance[n, here] = squares / freedom / rows[:, : len(here)].sum(axis=0)
    return Measured(log, is_bound, variance)


def over_seeds(runs: Runs, noise: Floats) -> Floats:
    """Returns the variance of a measured log cost (N, K), as the mean over the seeds of algorithms
    whose runs have these variances (K,)."""
    seeds = np.einsum("nus,nuk->nk", runs.is_there.astype(np.float64), runs.of_algorithm)
    return np.asarray(noise / np.maximum(seeds, 1))


def of_nearest(draws: Draws, points: Columns, levels: Columns, wanted: Flags) -> Floats:
    """Returns for each of some levels what was measured at the nearest point of the design (L, K)
    at which all that are `wanted` (L, K) have runs; the first of those that are equally near.
    Raises UsageError if there is no such point."""
    between = draws.design.coordinates(levels)[:, None] - draws.design.coordinates(points)
    distance = np.round(np.square(between).sum(axis=2), 9)  # equal distances stay equal
    log = measured(draws.fit.runs).log
    distance[(wanted[:, None] & np.isnan(log)).any(axis=2)] = np.inf
    for level in np.flatnonzero(np.isinf(distance).all(axis=1)):
        names = [name for name, is_wanted in zip(draws.algorithms, wanted[level], strict=True) if is_wanted]
        raise UsageError(f"map: no point of the design has runs of all of {some(names)}")
    return np.asarray(log[distance.argmin(axis=1)])


@dataclass(frozen=True, eq=False)
class Verdict:
    """How well points are predicted.

    error: the root mean square error of log(cost / best), by the map.
    nearest, main: the same by the nearest point of the design, and by main effects alone.
    rows: how many algorithms the predicted set has at each point (N,).
    hits: whether one of them is within CLOSE of the best (N,).
    exact, bounds, too_low: of how many costs the errors are, how many others are lower bounds, and
    how many of these the map predicts too low.
    """

    error: float
    nearest: float
    main: float
    rows: tuple[int, ...]
    hits: tuple[bool, ...]
    exact: int = 0
    bounds: int = 0
    too_low: int = 0

    @property
    def predicts(self) -> bool:
        """Returns whether the map may be interpolated: else it is a table of points."""
        return bool(
            self.error <= MOST_ERROR
            and self.error < min(self.nearest, self.main)
            and np.median(self.rows) <= MOST_ROWS
            and np.mean(self.hits) >= LEAST_HITS
        )


def judged(
    draws: Draws, main: Draws, columns: Columns, points: Columns, held_out: Columns, in_sets: Mapping[str, Collection[str]]
) -> Verdict:
    """Returns how well a map predicts points that were held out.

    Args:
        draws: of the model with interactions.
        main: of the one without.
        columns: the runs at the points that were held out, as `runs.read` has them.
        points: those to which both models were fitted, as `fit` has them.
        held_out: the others.
        in_sets: by point, the algorithms that are in the set of the best on some axis. Only they
            count for errors, and the best is one of them: a row that a race dropped has fewer
            seeds, and so fewer chances of a miss.

    Raises:
        UsageError: for an algorithm that the model does not have, a point without a set, or one at
            which every algorithm in a set has a censored run.
    """
    found = reading.read(columns, list(held_out["point"]))
    for name in (one for one in found.algorithms if one not in draws.algorithms):
        raise UsageError(f"map: the points held out have runs of {quoted(name)}{nearest(name, draws.algorithms)}")
    for point in (one for one in found.points if not in_sets.get(one)):
        raise UsageError(f"map: no set of the best is given for the point {quoted(point)}")
    seen = _spread(draws, found)
    there = ~np.isnan(seen.log)
    counts = there & np.array([[name in in_sets[point] for name in draws.algorithms] for point in found.points])
    exact = np.where(counts & ~seen.is_bound, seen.log, np.inf).min(axis=1)
    if not np.isfinite(exact).all():
        raise UsageError(
            f"map: every algorithm in a set of the best has a censored run at the point "
            f"{quoted(found.points[int(np.isinf(exact).argmax())])}"
        )
    ratio = seen.log - exact[:, None]
    exactly = int((counts & ~seen.is_bound).sum())

    def too_low(predicted: Floats) -> Flags:
        return np.asarray(counts & seen.is_bound & (predicted < ratio))

    def error(predicted: Floats) -> float:
        off = (predicted - ratio)[(counts & ~seen.is_bound) | too_low(predicted)]
        return float(np.sqrt(np.square(off).sum() / exactly))

    costs = draws.at(held_out)
    chosen = predicted_set(costs, there)
    hits = (chosen & ~seen.is_bound & (np.nan_to_num(ratio, nan=np.inf) <= np.log(CLOSE))).any(axis=1)
    by_nearest, by_map = of_nearest(draws, points, held_out, counts), regrets(costs, there).mean(axis=0)
    return Verdict(
        error(by_map),
        error(regrets(np.where(there, by_nearest, np.nan))),
        error(regrets(main.at(held_out), there).mean(axis=0)),
        tuple(int(count) for count in chosen.sum(axis=1)),
        tuple(bool(hit) for hit in hits),
        exactly,
        int((counts & seen.is_bound).sum()),
        int(too_low(by_map).sum()),
    )


def _spread(draws: Draws, found: Runs) -> Measured:
    """Returns what was measured, with a column for every algorithm of the model."""
    own = measured(found)
    shape = (len(found.points), len(draws.algorithms))
    log, is_bound, variance = np.full(shape, np.nan), np.zeros(shape, np.bool_), np.full(shape, np.nan)
    at = [draws.algorithms.index(name) for name in found.algorithms]
    log[:, at], is_bound[:, at], variance[:, at] = own.log, own.is_bound, own.variance
    return Measured(log, is_bound, variance)
