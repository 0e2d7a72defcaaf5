"""The posterior of all effects, computed another way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from fedbench.analysis.map.factors import Design
from fedbench.analysis.map.posterior import Sites, Variances, posterior, renewed, settled
from fedbench.analysis.map.runs import Runs, read
from tests.analysis.map.made_up import FACTORS, PAIRS, World, points


def made_up(censored: float = 0.0, tuning: bool = True) -> tuple[Runs, np.ndarray, Variances]:
    """Runs of three algorithms at 24 points, of which the first has some points less, with draws of
    tunings."""
    generator = np.random.Generator(np.random.Philox(4))
    at = points(generator, 24)
    design = Design.over(FACTORS, PAIRS, at)
    truth = World(algorithms=3).truth(generator, design)
    columns = truth.runs(generator, at["point"], truth.expected(generator, at), seeds=(2, 3), censored=censored)
    if tuning:
        columns["tuning"] = [("near", "far", None)[int(point[1:]) % 3] for point in columns["point"]]
    kept = [
        k
        for k, row in enumerate(zip(columns["algorithm"], columns["point"], strict=True))
        if row not in {("a0", "p3"), ("a0", "p5")}
    ]
    columns = {name: [column[k] for k in kept] for name, column in columns.items()}
    given = Variances.start(design.groups, 3)
    return read(columns, at["point"]), design.matrix(at), given


def dense(runs: Runs, x: np.ndarray, given: Variances) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
    """The covariance of all observations, and of the coefficients with them. A flat mean has the
    variance 1e6."""
    at = np.nonzero(runs.is_there)
    n, u, s = at
    k, d = runs.algorithm[n, u], runs.tuning[n, u]
    mean = np.where(np.isfinite(given.mean), given.mean, 1e6)
    algorithms = len(runs.algorithms)
    between = np.eye(algorithms) - 1 / algorithms
    prior = np.einsum("j,ab,ij->aibj", given.departure, between, np.eye(len(mean)))
    prior = prior + np.einsum("j,ab,ij->aibj", mean, np.ones((algorithms, algorithms)), np.eye(len(mean)))
    rows = np.zeros((len(n), algorithms, len(mean)))
    rows[np.arange(len(n)), k] = x[n]
    z, prior = rows.reshape(len(n), -1), prior.reshape(algorithms * len(mean), -1)
    same = {
        "point": n[:, None] == n,
        "fit": (n[:, None] == n) & (k[:, None] == k),
        "seed": (n[:, None] == n) & (s[:, None] == s),
        "tuning": (d[:, None] == d) & (d >= 0),
    }
    expected = z @ prior @ z.T + sum(getattr(given, name) * alike for name, alike in same.items())
    return z @ prior, expected, np.diag(given.noise[k]), at


@pytest.mark.parametrize("tuning", [False, True])
def test_the_posterior_is_that_of_one_large_normal_distribution(tuning: bool) -> None:
    runs, x, given = made_up(tuning=tuning)
    found = posterior(runs, x, given, Sites.start(runs, given.noise))
    cross, expected, noise, at = dense(runs, x, given)
    gain = np.linalg.solve(expected + noise, np.concatenate([cross, expected], axis=1)).T
    size = cross.shape[1]
    assert found.coefficients.ravel() == pytest.approx(gain[:size] @ runs.log[at], abs=1e-4)
    assert found.expected[at] == pytest.approx(gain[size:] @ runs.log[at], abs=1e-6)
    assert found.expected_variance[at] == pytest.approx(np.diag(expected - gain[size:] @ expected), abs=1e-5)


def test_the_moments_of_censored_runs_are_those_of_an_integral() -> None:
    """The expected log cost of a censored run, given what all other observations say of it, and its
    error, by quadrature."""
    runs, x, given = made_up(0.3)
    found, sites = settled(runs, x, given, Sites.start(runs, given.noise), sweeps=80)
    _, errors = renewed(runs, given, sites, found)
    noise = given.noise[runs.algorithm][:, :, None] + 0 * runs.log
    grid = np.linspace(-9, 9, 6001)
    for at in np.argwhere(runs.is_censored)[::7]:
        n, u, s = at
        precision = 1 / found.expected_variance[n, u, s] - sites.precision[n, u, s]
        middle = (
            found.expected[n, u, s] / found.expected_variance[n, u, s] - sites.precision[n, u, s] * sites.value[n, u, s]
        ) / precision
        values = middle + grid
        deviation = np.sqrt(noise[n, u, s])
        beyond = (runs.log[n, u, s] - values) / deviation
        weights = norm.pdf(values, middle, precision**-0.5) * norm.sf(beyond)
        weights /= weights.sum()
        assert found.expected[n, u, s] == pytest.approx(weights @ values, abs=1e-5)
        assert found.expected_variance[n, u, s] == pytest.approx(weights @ values**2 - (weights @ values) ** 2, rel=1e-3)
        of_error = deviation * np.exp(
            norm.logpdf(beyond) - norm.logsf(beyond)
        )  # of e, if it is larger than what is left to the cost
        squares = given.noise[runs.algorithm[n, u]] + of_error * (runs.log[n, u, s] - values)
        assert errors.mean[n, u, s] == pytest.approx(weights @ of_error, abs=1e-5)
        assert errors.variance[n, u, s] == pytest.approx(weights @ squares - (weights @ of_error) ** 2, rel=1e-3)


def test_variances_are_corrected_by_their_ratio() -> None:
    given = Variances.start(np.array([0, 1, 3]), 2)
    again = Variances(
        given.departure * 2, given.mean / 4, given.fit * 2, given.point / 2, given.seed, given.tuning * 4, given.noise * 2
    )
    found = given.corrected(again)
    assert found.departure == pytest.approx(given.departure / 2)
    assert found.mean == pytest.approx([np.inf, np.inf, given.mean[2] * 4])
    assert [found.fit, found.point, found.seed, found.tuning] == pytest.approx([0.01, 0.04, 0.02, 0.005])
    assert found.noise == pytest.approx(given.noise / 2)
