"""D-optimal designs of small problems are those of the textbooks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fedbench.errors import UsageError
from fedbench.suites.design.exchange import RIDGE, _ratios, _updated, d_optimal, inverted
from fedbench.suites.design.figures import figures
from fedbench.suites.design.model import Model

from .conftest import levels, made


def cells(model: Model, seed: int = 0, starts: int = 5) -> list[tuple[int, ...]]:
    rows = d_optimal(model, model.design.points.design, seed, starts)
    return [tuple(map(int, place)) for place in np.transpose(np.unravel_index(rows, model.possible.shape))]


def test_two_factors_at_two_levels_make_the_factorial() -> None:
    model = Model(made({"a": levels(1, 2), "b": levels(1, 2)}, 4, interactions=[["a", "b"]]))
    assert cells(model) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert figures(model, d_optimal(model, 4, 0, 1)).d_efficiency == 1


def test_a_quadratic_in_one_factor_is_measured_at_both_ends_and_in_the_middle() -> None:
    """Of 19 levels from -1 to 1. Source: the D-optimal weights are thirds at -1, 0 and 1."""
    model = Model(made({"a": levels(*range(-9, 10))}, 3))
    for seed in range(3):
        assert cells(model, seed) == [(0,), (9,), (18,)]
    assert figures(model, d_optimal(model, 3, 0, 1)).d_efficiency == pytest.approx(1, abs=2e-3)


def test_a_half_fraction_of_three_factors_is_regular() -> None:
    """Four points for a mean and three main effects: no two columns are correlated."""
    model = Model(made({name: levels(-1, 1) for name in "abc"}, 4))
    found = figures(model, d_optimal(model, 4, 3, 5))
    assert (found.d_efficiency, found.aliasing, found.variance_inflation, found.condition) == (1, 0, 1, 1)


def test_no_design_of_a_small_problem_is_better() -> None:
    """Over all 1,287 sets of five of thirteen possible points."""
    factors = {"a": levels(1, 2, 3), "b": levels(0, 1, 5), "c": levels("x", "y")}
    model = Model(made(factors, 5, impossible=[{"a": [1], "c": ["y"]}, {"b": [5], "c": ["y"]}]))
    model.columns, model.values = model.columns[:4], model.values[:, :4]  # main effects alone
    assert len(model.candidates) == 13

    def determinant(rows: object) -> float:
        x = model.values[np.array(rows)]
        return float(np.linalg.det(x.T @ x))

    best = max(determinant(rows) for rows in itertools.combinations(model.candidates.tolist(), 5))
    found = d_optimal(model, 5, 1, 30)
    assert len(set(found.tolist())) == 5
    assert set(found.tolist()) <= set(model.candidates.tolist())
    assert determinant(found) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("size", [2, 5])
def test_too_few_points_for_the_effects_or_too_many_for_the_factors(size: int) -> None:
    model = Model(made({"a": levels(1, 2), "b": levels(1, 2)}, size))
    with pytest.raises(UsageError, match=f"points.design: expected at least 3, .* at most 4, the possible points, got {size}"):
        d_optimal(model, size, 0, 1)


def test_the_arithmetic_is_that_of_determinants() -> None:
    rng = np.random.default_rng(5)
    points = rng.normal(size=(9, 4))
    inverse, logarithm = inverted(points)
    m = points.T @ points + RIDGE * np.eye(4)
    assert inverse == pytest.approx(np.linalg.inv(m), rel=1e-9)
    assert logarithm == pytest.approx(np.linalg.slogdet(m)[1])
    old, new = points[3], rng.normal(size=(2, 4))
    for ratio, x in zip(_ratios(inverse, old, new), new, strict=True):
        changed = m - np.outer(old, old) + np.outer(x, x)
        assert ratio == pytest.approx(np.linalg.det(changed) / np.linalg.det(m), rel=1e-9)
        assert _updated(_updated(inverse, x, 1.0), old, -1.0) == pytest.approx(np.linalg.inv(changed), rel=1e-6)
