"""What a map says to somebody who has to choose an algorithm.

All of it is computed in every draw by itself, and the draws are summed up last. So what is
uncertain about one algorithm and the next, such as a seed or a column, is never counted twice.
Levels may leave out algorithms that do not run there: those are NaN, and never the best.
"""

from __future__ import annotations

import numpy as np

from fedbench.analysis.map.draws import Band, Draws, band
from fedbench.analysis.map.factors import Columns, Floats
from fedbench.analysis.map.runs import Flags
from fedbench.errors import UsageError

CLOSE = 1.1
"""A cost of so many times the smallest is as good as the best."""
SURE = 0.9
"""With this probability the predicted set has a row within CLOSE of the best."""


def regrets(costs: Floats, runs_there: Flags | None = None) -> Floats:
    """Returns log(cost / cost of the best) of log costs (.., L, K); NaN where an algorithm does not
    run, by `runs_there` (L, K). Raises UsageError where none does."""
    if runs_there is not None:
        if not runs_there.any(axis=1).all():
            raise UsageError(f"map: no algorithm runs at the levels number {int((~runs_there.any(axis=1)).argmax()) + 1}")
        costs = np.where(runs_there, costs, np.nan)
    return np.asarray(costs - np.nanmin(costs, axis=-1, keepdims=True))


def close_to_best(costs: Floats, runs_there: Flags | None = None) -> Floats:
    """Returns with which probability each algorithm is within CLOSE of the best (L, K), from draws
    of log costs (B, L, K); 0 for one that does not run."""
    return np.asarray((regrets(costs, runs_there) <= np.log(CLOSE)).mean(axis=0))


def predicted_set(costs: Floats, runs_there: Flags | None = None, sure: float = SURE) -> Flags:
    """Returns the algorithms to try (L, K): those that are most often close to the best come first,
    each one in the draws in which those before it are not, until with probability `sure` one of
    them is."""
    close = regrets(costs, runs_there) <= np.log(CLOSE)
    chosen = np.zeros(close.shape[1:], np.bool_)
    for level in range(close.shape[1]):
        open_ = np.ones(len(close), np.bool_)
        while open_.mean() > 1 - sure + 1e-12:
            best = int(close[open_, level].sum(axis=0).argmax())
            chosen[level, best] = True
            open_ &= ~close[:, level, best]
    return chosen


def always(draws: Draws, levels: Columns, runs_there: Flags | None = None) -> Band:
    """Returns what it costs to use one algorithm at all levels, by algorithm (K,), as the geometric
    mean of its cost over that of the best; NaN for one that does not run at all of them."""
    each = regrets(draws.at(levels), runs_there)
    return _ratios(each.mean(axis=1), np.asarray(~np.isnan(each).any(axis=(0, 1))))


def _ratios(drawn: Floats, kept: Flags) -> Band:
    """Returns the band of ratios whose logarithms were drawn (B, ..)."""
    found = band(drawn)
    return Band(*(np.where(kept, np.exp(part), np.nan) for part in (found.value, found.low, found.high)))


def waiting(draws: Draws, waits: Flags, levels: Columns, runs_there: Flags) -> Band:
    """Returns the price of waiting at all levels (L,): the cost of the best algorithm that waits
    for a cohort (K,) over that of the best one that does not. Where one side has no algorithm that
    runs (L, K), it is infinite, 0 or NaN."""
    costs = np.where(runs_there, draws.at(levels), np.inf)
    price = costs[:, :, waits].min(axis=2) - costs[:, :, ~waits].min(axis=2)
    return _ratios(price, np.ones(price.shape[1:], np.bool_))
