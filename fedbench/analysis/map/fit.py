"""The variances of a model, by which its coefficients are shrunk, and the fit that they give.

They maximise the likelihood of the runs with all effects integrated out, penalised a little. Each
step sets a variance to the squares of the posterior means of its effects over the number of effects
that the runs determine (MacKay 1992), which has the fixed points of the EM algorithm and needs
fewer steps. Nothing is random.

Departures from the mean over algorithms have a variance for every column, moved towards that of the
column's group. The noise of an algorithm is moved towards that of all. The penalty is that of half
an effect of PENALTY more, so that no variance becomes 0: differences of two per cent are not
resolved by any suite. Of lack of fit and luck it is one of UNKNOWN. Where most runs are censored
they determine few of these effects, and the largest likelihood would be that of none, with
intervals that are too narrow. So as far as runs cannot tell they are taken to be ten per cent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedbench.analysis.map import runs as reading
from fedbench.analysis.map.factors import Columns, Design, Factor, Floats
from fedbench.analysis.map.posterior import Errors, Posterior, Sites, Variances, posterior, renewed, settled, shared_precision
from fedbench.analysis.map.runs import Runs
from fedbench.errors import FedbenchError, UsageError, quoted

MODERATION = 4.0
"""So many degrees of freedom more has a variance, which say what its group says."""
PENALTY, UNKNOWN = 0.02**2, 0.1**2
MOST_STEPS, TOLERANCE = 400, 0.003


@dataclass(frozen=True, eq=False)
class Fit:
    """A model of log costs that was fitted to runs.

    x: the columns of the design's points (N, P).
    found: the posterior of its effects, with these variances.
    steps: how many it took to find the variances.
    """

    design: Design
    runs: Runs
    x: Floats
    variances: Variances
    sites: Sites
    found: Posterior
    steps: int

    @property
    def algorithms(self) -> tuple[str, ...]:
        return self.runs.algorithms


def fit(
    columns: Columns,
    points: Columns,
    factors: Sequence[Factor],
    interactions: Sequence[tuple[str, str]] = (),
    possible: Columns | None = None,
) -> Fit:
    """Returns the model that fits runs.

    Args:
        columns: the runs, as `runs.read` has them.
        points: the design: `point`, the name, and the level of every factor.
        factors: what the points change.
        interactions: pairs of factors whose product counts.
        possible: the levels of all points that there can be, if columns are to be left out that no
            such points tell apart.

    Raises:
        UsageError: for what `runs.read` and `Design.over` refuse, for a point that is there twice,
            and for an algorithm whose runs are all censored.
        FedbenchError: if the variances do not settle.
    """
    design, names = Design.over(factors, interactions, points, possible), list(points["point"])
    for name in (one for one, count in Counter(names).items() if count > 1):
        raise UsageError(f"map: the design has the point {quoted(name)} twice")
    runs = reading.read(columns, names)
    for k in np.flatnonzero(runs.per_algorithm(np.where(runs.is_censored, 0.0, 1.0)) == 0):
        count = int(runs.per_algorithm(np.ones(runs.log.shape))[k])
        raise UsageError(f"map: all {count} runs of {runs.algorithms[k]} are censored; leave it out")
    return refitted(design, runs, design.matrix(points))


def refitted(design: Design, runs: Runs, x: Floats, start: Variances | None = None) -> Fit:
    """Returns the fit to other runs of the same design, from where the variances may be near."""
    variances = start or Variances.start(design.groups, len(runs.algorithms))
    sites = Sites.start(runs, variances.noise)
    for step in range(1, MOST_STEPS + 1):
        found = posterior(runs, x, variances, sites)
        sites, errors = renewed(runs, variances, sites, found)
        before, variances = variances, _improved(design, runs, variances, found, errors)
        sites = sites.with_noise(runs, variances.noise)
        if step > 5 and _change(before, variances) < TOLERANCE:
            found, sites = settled(runs, x, variances, sites)
            return Fit(design, runs, x, variances, sites, found, step)
    raise FedbenchError(f"map: the variances of the model did not settle in {MOST_STEPS} steps: {runs.log.size} runs")


def _change(before: Variances, after: Variances) -> float:
    """Returns the largest relative change of a standard deviation."""
    pairs = [
        (np.atleast_1d(getattr(before, name)), np.atleast_1d(getattr(after, name)))
        for name in ("departure", "mean", "fit", "point", "seed", "tuning", "noise")
    ]
    one, other = (np.concatenate(side) for side in zip(*pairs, strict=True))
    kept = np.isfinite(one)
    return float(np.abs(np.sqrt(other[kept] / one[kept]) - 1).max())


def _variance(squares: Floats, spread: Floats, effects: Floats | float, old: Floats | float, penalty: float = PENALTY) -> Floats:
    """Returns the next value of a variance.

    Args:
        squares: the sum of the squared posterior means of its effects.
        spread: the sum of their posterior variances.
        effects: how many there are.
        old: the variance by which they were found.
        penalty: the square of the effect that is there once more.
    """
    determined = np.clip(effects - spread / old, 0, None)
    return np.asarray((squares + penalty) / (determined + 1))


def _improved(design: Design, runs: Runs, given: Variances, found: Posterior, errors: Errors) -> Variances:
    departure, mean = _of_coefficients(design, given, found)
    fit_, point = _of_shared(given, found)
    seeds = runs.is_there.any(axis=1)
    seed = _variance(
        np.asarray((found.seed[seeds] ** 2).sum()), np.asarray(found.seed_variance[seeds].sum()), float(seeds.sum()), given.seed
    )
    tuning = np.asarray(given.tuning)
    if len(found.luck):
        spread = np.diagonal(found.covariance)[-len(found.luck) :].sum()
        tuning = _variance(np.asarray((found.luck**2).sum()), np.asarray(spread), len(found.luck), given.tuning, UNKNOWN)
    return replace(
        given, departure=departure, mean=mean, fit=fit_, point=point, seed=float(seed), tuning=float(tuning),
        noise=_of_noise(runs, given, errors),
    )  # fmt: skip


def _of_coefficients(design: Design, given: Variances, found: Posterior) -> tuple[Floats, Floats]:
    """Returns the variances of departures and of means over algorithms (P,)."""
    algorithms = len(found.coefficients)
    mean = found.coefficients.mean(axis=0)
    squares = ((found.coefficients - mean) ** 2).sum(axis=0)
    own, total = np.einsum("ajaj->j", found.blocks), np.einsum("ajbj->j", found.blocks)
    spread = own - total / algorithms
    departure, pooled = np.empty(len(mean)), given.mean.copy()
    for group in np.unique(design.groups):
        here = design.groups == group
        effects = algorithms - 1.0
        shared = _variance(
            squares[here].sum(), spread[here].sum(), effects * here.sum(), _harmonic(given.departure[here], spread[here])
        )
        alone = np.clip(effects - spread[here] / given.departure[here], 0, None)
        departure[here] = (squares[here] + MODERATION * shared) / (alone + MODERATION)
        if np.isfinite(given.mean[here]).all():
            pooled[here] = _variance(
                (mean[here] ** 2).sum(), (total[here] / algorithms**2).sum(), float(here.sum()), given.mean[here][0]
            )
    return departure, pooled


def _harmonic(variances: Floats, weights: Floats) -> float:
    """Returns the one variance by which weights, divided by it, have the sum that they have with
    their own."""
    return float(weights.sum() / (weights / variances).sum())


def _of_shared(given: Variances, found: Posterior) -> tuple[float, float]:
    """Returns the variances of the lack of fit and of what all algorithms share at a point."""
    points, algorithms = found.shared.shape
    precision = shared_precision(given, algorithms)
    fits = given.fit * found.shared @ precision
    left = given.fit * np.eye(algorithms) - given.fit**2 * precision  # variance of v, if v + w is known
    total = np.trace(precision @ found.shared_covariance.sum(axis=0) @ precision) * given.fit**2
    spread = total + points * np.trace(left)
    weights = given.point * precision.sum(axis=0)
    at_points = found.shared @ weights
    spread_of_points = weights @ found.shared_covariance.sum(axis=0) @ weights
    spread_of_points += points * (given.point - given.point * weights.sum())
    return (
        float(_variance(np.asarray((fits**2).sum()), np.asarray(spread), points * algorithms, given.fit, UNKNOWN)),
        float(_variance(np.asarray((at_points**2).sum()), np.asarray(spread_of_points), points, given.point, UNKNOWN)),
    )


def _of_noise(runs: Runs, given: Variances, errors: Errors) -> Floats:
    """Returns the variance of the noise of every algorithm (K,)."""
    squares, spread = runs.per_algorithm(errors.mean**2), runs.per_algorithm(errors.variance)
    determined = np.clip(runs.per_algorithm(np.ones(errors.mean.shape)) - spread / given.noise, 0, None)
    pooled = (squares.sum() + PENALTY) / (determined.sum() + 1)
    return np.asarray((squares + MODERATION * pooled) / (determined + MODERATION))
