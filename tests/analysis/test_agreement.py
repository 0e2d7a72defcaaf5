"""Kendall's tau of two tables of costs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from fedbench.analysis.agreement import agreement, tau
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
