"""The columns of a design's model."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.scenarios.problems import validated
from fedbench.suites.design.model import Model, codes, independent
from fedbench.suites.design.schema import Factor

from .conftest import levels, made


def test_numbers_have_codes_from_minus_one_to_one() -> None:
    assert codes(validated(Factor, levels(0, 0.5, 2), "here")).T.tolist() == [[-1, -0.5, 1]]
    log = validated(Factor, {**levels(1, 10, 1000), "scale": "log"}, "here")
    assert codes(log).T.tolist() == [[-1, pytest.approx(-1 / 3, abs=1e-6), 1]]


def test_texts_have_orthogonal_codes() -> None:
    found = codes(validated(Factor, levels("a", "b", "c", "d"), "here"))
    assert found.shape == (4, 3)
    assert found.sum(axis=0) == pytest.approx(0, abs=2e-6)
    assert found.T @ found == pytest.approx(np.diag([2, 1.5, 4 / 3]), abs=1e-5)


def test_the_terms_of_a_model() -> None:
    """Mean, main effects, squares of numbers with three levels, and what interacts."""
    model = Model(made({"a": levels(1, 2, 3), "b": levels("x", "y", "z"), "c": levels(0, 1)}, 9, interactions=[["a", "all"]]))
    assert [one.term for one in model.columns] == ["mean", "a", "b", "b", "c", "a squared", "a x b", "a x b", "a x c"]
    assert not model.left_out
    row = 2 * 6 + 0 * 2 + 0  # a = 3, b = x, c = 0
    assert model.values[row].tolist() == [1, 1, -1, -0.5, -1, 1, -1, -0.5, -1]


def test_what_impossible_points_leave_no_room_for_is_left_out() -> None:
    """A tie needs a spread: of the four combinations three are possible, so with their mean and two
    effects there is no room for an interaction."""
    factors = {"spread": levels(0, 1), "tied": levels(0, 0.9)}
    tied = made(factors, 3, interactions=[["spread", "tied"]], impossible=[{"spread": [0], "tied": [0.9]}])
    assert [one.term for one in Model(tied).left_out] == ["spread x tied"]
    assert Model(tied).candidates.tolist() == [0, 2, 3]


def test_independence_is_exact() -> None:
    """The third column is the sum of the first two to the last digit, the fourth misses it by one
    unit of the sixth decimal."""
    first, second = np.array([0.333333, 1, -0.5, 0.1]), np.array([1, 0.123456, 0, -1])
    columns = np.stack([first, second, first + second, first + second + [0, 0, 0, 1e-6]], axis=1)
    assert independent(columns).tolist() == [True, True, False, True]
