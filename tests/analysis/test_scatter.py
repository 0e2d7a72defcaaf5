"""Variances of rows: by hand, without bias, and moderated as far as rows resemble each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import digamma, polygamma

from fedbench.analysis.scatter import NOTHING, Prior, _inverse_trigamma, grid_variance, mean_squares, prior_of, row_variances
from tests.analysis.boards_made_up import costs_of, drawn


def test_by_hand() -> None:
    """Rows (1, 3), (2, 2), (6, 4): the seed effect takes away nothing, S is 2, 0, 2, and
    K / (K - 2) = 3: 3 (2 - 4 / 6) = 4, 3 (0 - 2 / 3) = -2, 4. Negative estimates are left as they
    are."""
    values = np.array([[1.0, 2.0, 6.0], [3.0, 2.0, 4.0]])
    assert mean_squares(values).tolist() == pytest.approx([2, 0, 2])
    assert row_variances(values).tolist() == pytest.approx([4, -2, 4])


def test_what_all_rows_share_is_no_scatter() -> None:
    generator = np.random.default_rng(0)
    values = generator.normal(size=(8, 5))
    shared = 100 * generator.normal(size=(8, 1))
    assert row_variances(values + shared) == pytest.approx(row_variances(values), rel=1e-6)


def test_they_are_unbiased() -> None:
    generator = np.random.default_rng(1)
    scatter = np.array([0.1, 0.5, 1.0, 2.0])
    found = np.mean([row_variances(scatter * generator.normal(size=(5, 4))) for _ in range(20_000)], axis=0)
    assert found == pytest.approx(scatter**2, abs=0.06)


def test_the_grid_has_a_variance_of_its_own() -> None:
    assert grid_variance(np.full((3, 2, 1), 0.6)).tolist() == pytest.approx([0.03, 0.03])


def test_moderation_is_a_weighted_mean() -> None:
    prior = Prior(variance=4.0, freedom=6.0)
    assert prior.moderated(np.array([1.0, 4.0]), 2.0).tolist() == [3.25, 4.0]
    assert prior.capped(4).moderated(np.array([1.0]), 3.0).tolist() == [2.5], "four rows count as three degrees of freedom"
    assert NOTHING.moderated(np.array([1.0]), 2.0).tolist() == [1.0]


def test_rows_that_scatter_alike_make_a_strong_prior() -> None:
    generator = np.random.default_rng(2)
    boards = [drawn(generator, 5, np.zeros(12), np.full(12, 0.3), correlation=0.5) for _ in range(8)]
    alike = prior_of(boards)
    assert alike.variance == pytest.approx(0.3**2 * 0.5, rel=0.15)
    assert alike.freedom > 30
    unlike = prior_of([drawn(generator, 5, np.zeros(12), np.exp(np.linspace(-3, 0, 12))) for _ in range(8)])
    assert unlike.freedom < 4


def test_a_prior_is_learnt_from_whole_rows_of_boards_with_some() -> None:
    generator = np.random.default_rng(3)
    whole = drawn(generator, 5, np.zeros(6), np.full(6, 0.3))
    missing = np.zeros((5, 6), bool)
    missing[0, 0] = True
    spoilt = costs_of(np.concatenate([1e6 * np.ones((5, 1)), whole.spent[:, 1:, 0]], axis=1), missing)
    assert prior_of([spoilt]) == prior_of([whole.among(whole.rows[1:])]), "the row that misses a target teaches nothing"
    assert prior_of([whole.among(["a", "b"])]) == NOTHING
    assert prior_of([]) == NOTHING
    assert prior_of([costs_of(whole.spent[:1])]) == NOTHING, "one seed has no scatter"


def test_the_fit_is_smyths() -> None:
    """For chi-square variances with d degrees of freedom over a scaled inverse chi-square with d0
    and s0^2: the mean of log v is log s0^2 + digamma(d / 2) - digamma(d0 / 2) - log(d / d0), and
    its variance is trigamma(d / 2) + trigamma(d0 / 2)."""
    generator = np.random.default_rng(4)
    d0, s0 = 8.0, 0.04
    boards = []
    for _ in range(60):
        scatter = np.sqrt(s0 * d0 / generator.chisquare(d0, 30))
        boards.append(drawn(generator, 9, np.zeros(30), scatter))
    found = prior_of(boards)
    assert found.freedom == pytest.approx(d0, rel=0.25)
    assert found.variance == pytest.approx(s0, rel=0.1)


@pytest.mark.parametrize("value", [1e-3, 0.1, 1.0, 50.0])
def test_the_inverse_of_trigamma(value: float) -> None:
    y = _inverse_trigamma(value)
    assert float(polygamma(1, y)) == pytest.approx(value, rel=1e-9)
    assert math.isfinite(float(digamma(y)))
