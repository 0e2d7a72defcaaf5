"""Kendall's tau of two tables of costs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from fedbench.analysis.agreement import order, tau_of


def test_tau_is_scipys() -> None:
    generator = np.random.default_rng(0)
    first, second = generator.integers(0, 5, (50, 8)).astype(float), generator.normal(size=(50, 8))
    expected = [kendalltau(one, other).statistic for one, other in zip(first, second, strict=True)]
    assert tau_of(order(first), order(second)) == pytest.approx(expected)
    assert tau_of(order(np.ones((2, 3))), order(np.ones((2, 3)))).tolist() == [0, 0], "rows alike have no order"


def test_what_is_not_known_of_an_order_is_a_tie() -> None:
    """Of two lower bounds, and of a bound below a value. One above a value is larger."""
    values, is_bound = np.array([1.0, 2.0, 3.0, 9.0]), np.array([False, True, False, True])
    assert order(values, is_bound).tolist() == [[0, -1, -1, -1], [1, 0, 0, 0], [1, 0, 0, -1], [1, 0, 1, 0]]
    assert order(values).tolist() == np.sign(values[:, None] - values).tolist()
    assert tau_of(order(values), order(values, is_bound)) == pytest.approx(4 / np.sqrt(6 * 4))
