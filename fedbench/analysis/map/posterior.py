"""What runs say of a model's coefficients and effects if its variances are known.

The log cost of algorithm a at point p with seed s and tuning draw d is

    x_p' (m + b_a) + w_p + v_ap + t_ad + u_ps + e_apsd

where x_p are the columns of the point, m the mean coefficients and b_a how algorithm a departs from
them; w_p is what all algorithms share at the point beyond the columns, v_ap the lack of fit, t_ad
the luck of a tuning, u_ps the seed, which all rows of the point share, and e the rest.

All of them are normal, so the posterior is one linear system. Seeds are eliminated first, then w
and v point by point. What remains are the coefficients and the luck of tunings.

Of a censored run it is known that its cost is larger. Expectation propagation puts a normal
observation in its place, with the mean and variance by which the posterior of its own expected log
cost gets the right moments (Minka 2001). Arrays are float64; N, U, S, K, P count points, units,
seeds, algorithms and columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fedbench.analysis.map.factors import LEVEL, MAIN, Floats, Integers
from fedbench.analysis.map.runs import Runs

DAMPING = 0.7
"""The share of a step that the observations in the place of censored runs make at once."""


@dataclass(frozen=True, eq=False)
class Variances:
    """The variances of a model.

    departure: of b, by column (P,).
    mean: of the mean coefficients over algorithms, by column (P,); infinite where nothing is
    assumed of them.
    fit, point, seed, tuning: of v, w, u and t.
    noise: of e, by algorithm (K,).
    """

    departure: Floats
    mean: Floats
    fit: float
    point: float
    seed: float
    tuning: float
    noise: Floats

    @classmethod
    def start(cls, groups: Integers, algorithms: int) -> Variances:
        """Returns where a fit begins: effects of some ten per cent."""
        departure = np.where(groups == LEVEL, 0.5, 0.03)
        return cls(departure, np.where(groups <= MAIN, np.inf, 0.03), 0.02, 0.02, 0.02, 0.02, np.full(algorithms, 0.05))

    def corrected(self, again: Variances) -> Variances:
        """Returns these variances, each times its ratio to another one."""
        mean = np.full(len(self.mean), np.inf)
        known = np.isfinite(self.mean)
        mean[known] = self.mean[known] ** 2 / again.mean[known]
        return Variances(
            self.departure**2 / again.departure, mean, self.fit**2 / again.fit, self.point**2 / again.point,
            self.seed**2 / again.seed, self.tuning**2 / again.tuning, self.noise**2 / again.noise,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Sites:
    """Normal observations, one a run: their values and precisions (N, U, S); 0 in empty places."""

    value: Floats
    precision: Floats

    @classmethod
    def start(cls, runs: Runs, noise: Floats) -> Sites:
        """Returns observations among which a censored run has the cost where it was censored."""
        return cls(runs.log, runs.is_there / noise[runs.algorithm][:, :, None])

    def with_noise(self, runs: Runs, noise: Floats) -> Sites:
        """Returns the observations if runs have another noise (K,)."""
        exact = runs.is_there / noise[runs.algorithm][:, :, None]
        return replace(self, precision=np.where(runs.is_censored, self.precision, exact))


@dataclass(frozen=True, eq=False)
class Posterior:
    """Means and covariances, given variances and observations.

    coefficients: m + b (K, P).
    luck: t (T,).
    covariance: of the coefficients, then the luck (K P + T, K P + T).
    shared: of w + v, its mean (N, K) and covariance (N, K, K).
    seed, seed_variance: of u (N, S).
    expected, expected_variance: of the expected log cost of every run, given its seed (N, U, S).
    """

    coefficients: Floats
    luck: Floats
    covariance: Floats
    shared: Floats
    shared_covariance: Floats
    seed: Floats
    seed_variance: Floats
    expected: Floats
    expected_variance: Floats

    @cached_property
    def blocks(self) -> Floats:
        """Returns the covariance of the coefficients (K, P, K, P)."""
        algorithms, columns = self.coefficients.shape
        size = algorithms * columns
        return self.covariance[:size, :size].reshape(algorithms, columns, algorithms, columns)


def posterior(runs: Runs, x: Floats, given: Variances, sites: Sites) -> Posterior:
    """Returns the posterior of all effects.

    Args:
        runs: which runs there are.
        x: the columns of every point (N, P).
        given: the variances of the model.
        sites: an observation for every run.
    """
    unit, weight = runs.of_algorithm, sites.precision
    by_seed = 1 / (1 / given.seed + weight.sum(axis=1))  # variance of u, if all else is known
    pull = weight * sites.value
    information = -np.einsum("nus,nvs->nuv", weight * by_seed[:, None], weight)
    information += np.eye(unit.shape[1]) * weight.sum(axis=2)[:, :, None]
    toward = pull.sum(axis=2) - np.einsum("nus,ns->nu", weight, by_seed * pull.sum(axis=1))

    inverse = shared_precision(given, len(runs.algorithms))
    of_shared = np.linalg.inv(inverse + np.einsum("nuk,nuv,nvl->nkl", unit, information, unit, optimize=True))
    b = np.einsum("nuk,nkl,nvl->nuv", unit, of_shared, unit, optimize=True)
    left = np.eye(unit.shape[1]) - information @ b  # what w and v leave of the information
    mean, covariance = _solved(runs, x, given, left @ information, np.einsum("nuv,nv->nu", left, toward))
    fitted, spread = _at_units(runs, x, mean, covariance)

    rest = toward - np.einsum("nuv,nv->nu", information, fitted)
    gain = np.einsum("nkl,nul->nku", of_shared, unit) @ information
    shared = np.einsum("nkl,nul,nu->nk", of_shared, unit, rest, optimize=True)
    cell = fitted + np.einsum("nuk,nk->nu", unit, shared)
    cells = left.swapaxes(1, 2) @ spread @ left + b
    seed = by_seed * np.einsum("nus,nus->ns", weight, sites.value - cell[:, :, None])
    with_seed = cells @ weight  # (N, U, S)
    seed_variance = by_seed + by_seed**2 * np.einsum("nus,nus->ns", weight, with_seed)
    size = len(runs.algorithms) * x.shape[1]
    return Posterior(
        mean[:size].reshape(-1, x.shape[1]), mean[size:], covariance,
        shared, of_shared + gain @ spread @ gain.swapaxes(1, 2),
        seed, seed_variance,
        np.where(runs.is_there, cell[:, :, None] + seed[:, None], 0),
        np.diagonal(cells, axis1=1, axis2=2)[:, :, None] + seed_variance[:, None] - 2 * by_seed[:, None] * with_seed,
    )  # fmt: skip


def shared_precision(given: Variances, algorithms: int) -> Floats:
    """Returns the precision of w + v over algorithms (K, K)."""
    share = given.point / (given.fit + algorithms * given.point)
    return np.asarray((np.eye(algorithms) - share) / given.fit)


def _solved(runs: Runs, x: Floats, given: Variances, information: Floats, toward: Floats) -> tuple[Floats, Floats]:
    """Returns mean and covariance of the coefficients and the luck of tunings."""
    unit, draws, columns = runs.of_algorithm, int(runs.tuning.max()) + 1, x.shape[1]
    algorithms = unit.shape[2]
    luck = np.eye(draws + 1)[runs.tuning][:, :, :draws]  # (N, U, T); the last row is for -1
    both = np.einsum("nuk,nuv,nvl->nkl", unit, information, unit, optimize=True)
    size = algorithms * columns
    system, right = np.empty((size + draws, size + draws)), np.empty(size + draws)
    squares = np.einsum("ni,nj->nij", x, x).reshape(len(x), -1)
    blocks = (both.reshape(len(x), -1).T @ squares).reshape(algorithms, algorithms, columns, columns)
    system[:size, :size] = (blocks.transpose(0, 2, 1, 3) + _prior(given, algorithms)).reshape(size, size)
    with_luck = information @ luck
    system[:size, size:] = np.einsum("nuk,ni,nut->kit", unit, x, with_luck, optimize=True).reshape(size, draws)
    system[size:, :size] = system[:size, size:].T
    system[size:, size:] = np.einsum("nut,nuq->tq", luck, with_luck) + np.eye(draws) / given.tuning
    right[:size] = np.einsum("nuk,nu,ni->ki", unit, toward, x, optimize=True).ravel()
    right[size:] = np.einsum("nut,nu->t", luck, toward)
    from scipy.linalg import cho_factor, cho_solve  # all verbs start faster without it

    covariance = cho_solve(cho_factor(system, lower=True), np.eye(len(system)))
    return covariance @ right, covariance


def _prior(given: Variances, algorithms: int) -> Floats:
    """Returns the precision of the coefficients before any run (K, P, K, P): departures from the
    mean over algorithms are small, and that mean is where something is assumed of it."""
    mean = np.full((algorithms, algorithms), 1 / algorithms)
    by_column = np.multiply.outer(1 / given.departure, np.eye(algorithms) - mean)
    by_column += np.multiply.outer(1 / given.mean, mean / algorithms)
    return np.asarray(np.einsum("jab,ij->aibj", by_column, np.eye(len(given.departure))))


def _at_units(runs: Runs, x: Floats, mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Returns what coefficients and luck say of every unit, as mean (N, U) and covariance
    (N, U, U)."""
    algorithms, columns = len(runs.algorithms), x.shape[1]
    size, place = algorithms * columns, np.arange(len(x))[:, None]
    of_x = mean[:size].reshape(algorithms, columns) @ x.T
    blocks = covariance[:size, :size].reshape(algorithms, columns, algorithms, columns)
    both = np.einsum("aibj,ni,nj->nab", blocks, x, x, optimize=True)
    fitted = of_x[runs.algorithm, place]
    spread = both[place[:, :, None], runs.algorithm[:, :, None], runs.algorithm[:, None]]
    if len(mean) > size:
        known = runs.tuning >= 0
        cross = np.einsum("ait,ni->nat", covariance[:size, size:].reshape(algorithms, columns, -1), x)
        cross = cross[place[:, :, None], runs.algorithm[:, :, None], runs.tuning[:, None]] * known[:, None]
        own = covariance[size:, size:][runs.tuning[:, :, None], runs.tuning[:, None]] * (known[:, :, None] & known[:, None])
        fitted = fitted + mean[size:][runs.tuning] * known
        spread = spread + cross + cross.swapaxes(1, 2) + own
    return fitted, spread


@dataclass(frozen=True, eq=False)
class Errors:
    """Mean and variance of e of every run (N, U, S), given the runs."""

    mean: Floats
    variance: Floats


def renewed(runs: Runs, given: Variances, sites: Sites, found: Posterior, damping: float = DAMPING) -> tuple[Sites, Errors]:
    """Returns better observations in the place of censored runs, and the errors of all runs."""
    from scipy.special import log_ndtr  # late, as in _solved

    noise = given.noise[runs.algorithm][:, :, None]
    without = 1 / np.maximum(1 / found.expected_variance - sites.precision * runs.is_censored, 1e-9)
    middle = without * (found.expected / found.expected_variance - sites.precision * sites.value * runs.is_censored)
    scale = without + noise
    beyond = (runs.log - middle) / np.sqrt(scale)
    hazard = np.exp(-0.5 * beyond**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(-beyond))
    curve = np.maximum(hazard * (hazard - beyond), 1e-12)  # between 0 and 1
    precision = curve / (scale - curve * without)
    value = middle + np.sqrt(scale) * hazard / curve
    damped = sites.precision + damping * (precision - sites.precision)
    pull = sites.precision * sites.value + damping * (precision * value - sites.precision * sites.value)
    fresh = Sites(
        np.where(runs.is_censored, pull / np.where(damped > 0, damped, 1), runs.log),
        np.where(runs.is_censored, damped, runs.is_there / noise),
    )
    share = noise / np.sqrt(scale)
    return fresh, Errors(
        np.where(runs.is_censored, share * hazard, runs.log - found.expected),
        np.where(runs.is_censored, noise - share**2 * curve, found.expected_variance),
    )


def settled(runs: Runs, x: Floats, given: Variances, sites: Sites, sweeps: int = 8) -> tuple[Posterior, Sites]:
    """Returns the posterior after some rounds of better observations, with the variances as they
    are."""
    sites = sites.with_noise(runs, given.noise)
    found = posterior(runs, x, given, sites)
    for _ in range(sweeps if runs.is_censored.any() else 0):
        sites, _ = renewed(runs, given, sites, found)
        found = posterior(runs, x, given, sites)
    return found, sites
