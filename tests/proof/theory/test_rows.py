"""Lines of the theory table by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.proof.theory.rows import bound, bound_by, exact, slope, value


def test_a_bound_needs_its_conditions_and_little_transient() -> None:
    terms = {"transient": 0.5, "noise": 1.5}
    assert bound("b", 1.0, terms).holds
    assert dict(bound("b", 1.0, terms).shares) == {"transient": 0.25, "noise": 0.75}
    assert not bound("b", 3.0, terms).holds
    assert not bound("b", 1.0, terms, conditions=False).holds
    assert not bound("b", 1.0, {"transient": 1.1, "noise": 0.9}).holds
    assert not bound("b", float("nan"), terms).holds
    assert bound_by("b", 1.0, 1.0).holds
    assert not bound_by("b", 1.1, 1.0).holds


def test_a_value_is_near_on_both_sides() -> None:
    assert value("v", 0.9, 1.0, 0.2).holds
    assert not value("v", 0.7, 1.0, 0.2).holds
    assert not value("v", 1.3, 1.0, 0.2).holds
    assert not value("v", float("nan"), 1.0, 0.2).holds


def test_the_whole_interval_must_be_near() -> None:
    narrow = exact("e", [1.98, 2.0, 2.02], 2.0)
    assert narrow.holds
    assert narrow.measured == pytest.approx(1.0)
    assert not exact("e", [1.6, 2.0, 2.4], 2.0).holds  # the mean is right, the interval says little
    assert not exact("e", [1.88, 1.88, 1.8801], 2.0).holds
    assert not exact("e", [2.12, 2.12, 2.1201], 2.0).holds
    assert not exact("e", [2.0, float("nan"), 2.0], 2.0).holds  # a run that diverged is not left out
    assert exact("e", [1.0, 2.0], [1.0, 2.0001]).holds
    with pytest.raises(ValueError, match="at least two seeds"):
        exact("e", [2.0], 2.0)


def test_slopes_by_hand() -> None:
    x = [1.0, 2.0, 4.0]
    two = slope("s", x, np.array([[1 / v for v in x], [2 / v for v in x]]), -1.0, 0.1)
    assert (two.measured, two.low, two.high) == pytest.approx((-1.0, -1.0, -1.0))
    assert two.holds
    assert two.points == ((1.0, 1.5), (2.0, 0.75), (4.0, 0.375))
    assert not slope("s", x, np.array([[1 / v for v in x], [1.01 / v for v in x]]), -0.5, 0.1).holds
    assert not slope("s", x, np.array([[v**-0.7 for v in x], [v**-1.3 for v in x]]), -1.0, 0.1).holds  # a wide interval
    assert not slope("s", x, np.array([[1.0, np.nan, 1.0], [1 / v for v in x]]), -1.0, 0.1).holds
    assert slope("s", x, np.array([1 / v for v in x]), -1.0, 0.1).holds  # without chance


def test_a_slope_keeps_the_sign_of_what_it_measures() -> None:
    """All values below 0 have the exponent of their sizes; mixed signs have none."""
    x = [1.0, 2.0, 4.0]
    below = slope("s", x, np.array([-1 / v for v in x]), -1.0, 0.1)
    assert (below.measured, below.sign, below.holds) == (pytest.approx(-1.0), -1, True)
    assert below.points == ((1.0, -1.0), (2.0, -0.5), (4.0, -0.25))
    assert below.as_dict()["sign"] == -1
    above = slope("s", x, np.array([1 / v for v in x]), -1.0, 0.1)
    assert (above.sign, above.as_dict()["sign"]) == (1, 1)
    mixed = slope("s", x, np.array([-1.0, 0.5, 0.25]), -1.0, 0.1)
    assert (mixed.sign, mixed.holds) == (1, False)
    assert not slope("s", x, np.array([0.0, 0.0, 0.0]), -1.0, 0.1).holds
