"""Figures of designs that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.suites.design.figures import figures
from fedbench.suites.design.model import Model

from .conftest import levels, made


def test_a_factorial_without_one_corner() -> None:
    """Columns (1, a, b) of three corners: X'X = [[3, -1, -1], [-1, 3, -1], [-1, -1, 3]] up to
    signs, det 16, so the efficiency is 16^(1/3) / 3. Centred columns have correlation -1/2: 1 / (1
    - 1/4) = 4/3."""
    model = Model(made({"a": levels(-1, 1), "b": levels(-1, 1)}, 3))
    found = figures(model, np.array([0, 1, 2]))
    assert found.d_efficiency == pytest.approx(16 ** (1 / 3) / 3, abs=1e-3)
    assert found.condition == pytest.approx(2)  # eigenvalues 4, 4, 1
    assert found.variance_inflation == pytest.approx(4 / 3, abs=0.01)
    assert (found.aliasing, found.aliased) == (0.5, ("a", "b"))
    assert (found.points, found.effects) == (3, 3)


def test_columns_of_one_term_are_not_aliased() -> None:
    """Three texts have two codes, which are correlated if one text is there twice."""
    found = figures(Model(made({"a": levels("x", "y", "z")}, 3)), np.array([0, 0, 1, 2]))
    assert (found.aliasing, found.aliased) == (0, ("", ""))
    assert found.variance_inflation > 1


def test_the_terms_that_are_correlated_most() -> None:
    """At x0, x1, y0 and z0 the codes of a are (-1, -1, 1, 0) and (-1, -1, -1, 2) / 2, that of b is
    (-1, 1, -1, -1): centred, -1.5 / sqrt(2.75 x 3) = -0.522."""
    found = figures(Model(made({"a": levels("x", "y", "z"), "b": levels(0, 1)}, 4)), np.array([0, 1, 2, 4]))
    assert (found.aliasing, found.aliased) == (0.522, ("a", "b"))


def test_efficiency_does_not_depend_on_the_codes() -> None:
    """Of a design with a text in the place of two numbers."""
    rows = np.array([0, 1, 2, 5, 7])
    found = [
        figures(Model(made({"a": a, "b": levels(1, 2, 3, 4)}, 5)), rows).d_efficiency for a in (levels(7, 9), levels("x", "y"))
    ]
    assert found[0] == found[1] < 1
