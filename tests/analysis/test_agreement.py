"""Kendall's tau of two tables of costs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from fedbench.analysis.agreement import agreement, order, tau, tau_of
from tests.analysis.boards_made_up import costs_of


def test_tau_is_scipys() -> None:
    generator = np.random.default_rng(0)
    first, second = generator.integers(0, 5, (50, 8)).astype(float), generator.normal(size=(50, 8))
    expected = [kendalltau(one, other).statistic for one, other in zip(first, second, strict=True)]
    assert tau(first, second) == pytest.approx(expected)
    assert tau(np.ones((2, 3)), np.ones((2, 3))).tolist() == [0, 0], "rows alike have no order"


def test_rows_that_both_have_are_compared() -> None:
    one = costs_of([[1, 2, 3, 9], [1, 2, 3, 9], [2, 3, 4, 9]])
    assert agreement(one, one.among(["c", "b", "a"])) == (1, 1, 1)
    assert agreement(one.among(["a", "b"]), one) is None


def test_what_is_not_known_of_an_order_is_a_tie() -> None:
    """Of two lower bounds, and of a bound below a value. One above a value is larger."""
    values, is_bound = np.array([1.0, 2.0, 3.0, 9.0]), np.array([False, True, False, True])
    assert order(values, is_bound).tolist() == [[0, -1, -1, -1], [1, 0, 0, 0], [1, 0, 0, -1], [1, 0, 1, 0]]
    assert order(values).tolist() == np.sign(values[:, None] - values).tolist()
    assert tau_of(order(values), order(values, is_bound)) == pytest.approx(4 / np.sqrt(6 * 4))
