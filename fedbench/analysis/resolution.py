"""The smallest ratio of costs that a board can show, and whether its leader depends on the seeds
that happened to be drawn."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt

from fedbench.analysis.best import Comparison, worst
from fedbench.analysis.costs import Floats

POWER = 0.8
"""The probability with which a ratio of the size of the resolution is shown."""
MOST_SPLITS = 1000


def resolution(found: Comparison) -> float | None:
    """Returns the ratio of costs at which a row leaves the set of the best with the probability
    POWER, if its difference from the best scatters as that of the median pair does. None if nothing
    can be told apart.

    With t the quantile of the set's bounds, e the standard error and f the degrees of freedom of
    the median pair, it is exp(d e / c), where a noncentral t of f degrees of freedom and of the
    noncentrality d exceeds t with the probability POWER. An estimate of a standard error is too
    small on average, by the factor c = sqrt(2 / f) Gamma((f + 1) / 2) / Gamma(f / 2).
    """
    from scipy.special import gammaln, nctdtrinc, stdtrit

    k = len(found.costs.rows)
    whole = ~found.costs.missed.all(axis=(0, 2))
    pairs = np.triu(np.outer(whole, whole), 1) & np.isfinite(found.error)
    if not pairs.any():
        return None
    error, freedom = float(np.median(found.error[pairs])), float(np.median(found.freedom[pairs]))
    quantile = float(stdtrit(freedom, 1 - (1 - found.level) / (k - 1)))
    bias = math.sqrt(2 / freedom) * math.exp(gammaln((freedom + 1) / 2) - gammaln(freedom / 2))
    return math.exp(min(700.0, float(nctdtrinc(freedom, 1 - POWER, quantile)) * error / bias))


def stability(found: Comparison) -> float | None:
    """Returns in what share of all splits of the seeds into two halves the cheapest row of one half
    is also that of the other; None with fewer than four seeds, where a half is one seed. Of an odd
    number, one half has a seed more. A half in which nobody reaches a target has no cheapest row.
    With more than MOST_SPLITS splits, so many are drawn, always the same ones."""
    n = len(found.costs.seeds)
    if n < 4:
        return None
    if math.comb(n, n // 2) <= MOST_SPLITS:
        halves = np.array(list(itertools.combinations(range(n), n // 2)))
    else:
        generator = np.random.Generator(np.random.Philox(0))
        halves = np.argsort(generator.random((MOST_SPLITS, n)), axis=1)[:, : n // 2]
    inside = np.zeros((len(halves), n))
    inside[np.arange(len(halves))[:, None], halves] = 1
    one, other = _leaders(found, inside), _leaders(found, 1 - inside)
    return float(((one == other) & (one >= 0)).mean())


def _leaders(found: Comparison, inside: Floats) -> npt.NDArray[np.int64]:
    """Returns the cheapest row of every choice of seeds (H,), -1 where nobody reaches a target.

    Args:
        found: the comparison.
        inside: 1 for the seeds of a choice, 0 for the others (H, n).
    """
    known = ~np.isnan(found.by_seed)
    counts = np.einsum("hn,nij->hij", inside, known.astype(np.float64))
    sums = np.einsum("hn,nij->hij", inside, np.where(known, found.by_seed, 0))
    reaches = inside @ (~found.costs.missed).any(axis=2) > 0  # (H, K)
    regret = np.where(reaches, worst(sums / np.maximum(counts, 1)), np.inf)
    return np.where(reaches.any(axis=1), regret.argmin(axis=1), -1)
