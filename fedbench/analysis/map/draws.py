"""How uncertain a fit is: draws of coefficients and variances that the runs allow.

The bootstrap is parametric. A design is chosen so that each of its points is needed; a cluster
bootstrap that draws 60 points with replacement leaves out 22 of them, and the model's columns can
then not be told apart. Three seeds drawn with replacement scatter too little by a third. So the
lack of fit of the points, their seeds, departures and noise are drawn from the fit itself, for the
runs that there are, and the variances are fitted again. By the ratio by which a variance fitted
again differs from the one that was fitted, that one may differ from the true one. With variances
corrected by this ratio follows a posterior from the real runs, and from it some draws. So intervals
have in them how badly variances are known. Source: Laird and Louis 1987, the bootstrap of type III;
they do not correct.

In made-up runs a censored run is censored again at the same cost. Whether another run could have
been is not known, so it is not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedbench.analysis.map.factors import Columns, Design, Floats
from fedbench.analysis.map.fit import Fit, refitted
from fedbench.analysis.map.posterior import settled
from fedbench.analysis.map.runs import Runs
from fedbench.analysis.statistics import LEVEL

REPLICATES, DRAWS = 40, 25


@dataclass(frozen=True, eq=False)
class Band:
    """Values with the ends of their 95 % intervals; all have the same shape."""

    value: Floats
    low: Floats
    high: Floats


def band(drawn: Floats, value: Floats | None = None) -> Band:
    """Returns the interval over draws, the first axis, around a value: their mean unless it is
    given."""
    low, high = np.quantile(drawn, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0)
    return Band(np.asarray(drawn.mean(axis=0) if value is None else value), np.asarray(low), np.asarray(high))


@dataclass(frozen=True, eq=False)
class Draws:
    """What log costs may be, as far as the runs tell; all draws are equally likely.

    coefficients: of every draw (B, K, P).
    own: the standard deviation of what an algorithm costs at a point beyond its columns: lack of
    fit, and the luck of one tuning if the runs show it (B,).
    shared: of what all algorithms share at a point beyond the columns (B,).
    """

    fit: Fit
    seed: int
    coefficients: Floats
    own: Floats
    shared: Floats

    @property
    def algorithms(self) -> tuple[str, ...]:
        return self.fit.algorithms

    @property
    def design(self) -> Design:
        return self.fit.design

    def at(self, levels: Columns) -> Floats:
        """Returns the expected log costs of all algorithms, tuned once, at points with these levels
        (B, L, K)."""
        return expected(self.coefficients, self.own, self.shared, self.seed, self.design.matrix(levels))

    def costs(self, levels: Columns) -> Band:
        """Returns the expected log costs of all algorithms at points with these levels (L, K)."""
        return band(self.at(levels), self.design.matrix(levels) @ self.fit.found.coefficients.T)


def expected(coefficients: Floats, own: Floats, shared: Floats, seed: int, x: Floats) -> Floats:
    """Returns the expected log costs of all algorithms where the model has the columns x (L, P), as
    (B, L, K). The other arguments are those of `Draws`."""
    generator = np.random.Generator(np.random.Philox([seed, 2]))
    found = np.einsum("bkp,lp->blk", coefficients, x, optimize=True)
    found += shared[:, None, None] * generator.standard_normal((*found.shape[:2], 1))
    return np.asarray(found + own[:, None, None] * generator.standard_normal(found.shape))


def drawn(fit: Fit, *, seed: int = 0, replicates: int = REPLICATES, draws: int = DRAWS) -> Draws:
    """Returns draws of what was fitted: `draws` for each of the bootstrap's `replicates`. The same
    seed gives the same bits, with as many threads of the BLAS: with more, last digits differ."""
    rows = [_replicate(fit, np.random.Generator(np.random.Philox([seed, 1, number])), draws) for number in range(replicates)]
    coefficients, own, shared = zip(*rows, strict=True)
    return Draws(fit, seed, np.concatenate(coefficients), np.repeat(own, draws), np.repeat(shared, draws))


def _replicate(fit: Fit, generator: np.random.Generator, draws: int) -> tuple[Floats, float, float]:
    """Returns draws of the coefficients, and the standard deviations of what an algorithm and all
    algorithms have of their own at a point."""
    from scipy.linalg import cholesky  # late, as in posterior.py

    again = refitted(fit.design, made_up(fit, generator), fit.x, fit.variances).variances
    variances = fit.variances.corrected(again)
    found, _ = settled(fit.runs, fit.x, variances, fit.sites)
    mean = np.concatenate([found.coefficients.ravel(), found.luck])
    around = generator.standard_normal((draws, len(mean))) @ cholesky(found.covariance)
    coefficients = (mean + around)[:, : found.coefficients.size].reshape(draws, *found.coefficients.shape)
    own = variances.fit + (variances.tuning if len(found.luck) else 0.0)
    return coefficients, float(np.sqrt(own)), float(np.sqrt(variances.point))


def made_up(fit: Fit, generator: np.random.Generator) -> Runs:
    """Returns runs of the same units and seeds whose effects are drawn from the fit."""
    runs, given, normal = fit.runs, fit.variances, generator.standard_normal
    places, units, seeds = runs.log.shape
    algorithms, columns = fit.found.coefficients.shape
    departure = normal((algorithms, columns)) * np.sqrt(given.departure)
    coefficients = fit.found.coefficients.mean(axis=0) + departure - departure.mean(axis=0)
    cell = fit.x @ coefficients.T + np.sqrt(given.fit) * normal((places, algorithms)) + np.sqrt(given.point) * normal((places, 1))
    luck = np.append(np.sqrt(given.tuning) * normal(len(fit.found.luck)), 0.0)  # the last one for -1
    log = cell[np.arange(places)[:, None], runs.algorithm] + luck[runs.tuning]
    log = log[:, :, None] + np.sqrt(given.seed) * normal((places, 1, seeds))
    log = log + np.sqrt(given.noise)[runs.algorithm][:, :, None] * normal((places, units, seeds))
    is_censored = runs.is_censored & (log > runs.log)
    log = np.where(is_censored, runs.log, log)
    return replace(runs, log=np.where(runs.is_there, log, 0), is_censored=is_censored)
