"""Places between the levels of a design."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.analysis.map import between
from fedbench.analysis.map.factors import Design
from tests.analysis.map.made_up import FACTORS, PAIRS, points
from tests.analysis.map.made_up_map import NUMBERS

AT = points(np.random.Generator(np.random.Philox(31)), 24)
DESIGN = Design.over(FACTORS, PAIRS, AT)
SKEW = NUMBERS["skew"]


def columns(**place: float) -> np.ndarray:
    return between.at(DESIGN.matrix, FACTORS, {"spread": 0.5, "at_work": 10, "steps": 7, **place}, NUMBERS)[0]


@pytest.mark.parametrize("kind", SKEW)
def test_at_a_kind_the_columns_are_its_own(kind: str) -> None:
    own = DESIGN.matrix({"skew": [kind], "spread": [0.5], "at_work": [10], "steps": [7]})[0]
    assert columns(skew=SKEW[kind]).tobytes() == own.tobytes()


def test_halfway_between_two_kinds_is_their_mean() -> None:
    for one, other in pairwise(SKEW.values()):
        assert columns(skew=(one + other) / 2) == pytest.approx((columns(skew=one) + columns(skew=other)) / 2)


def test_beyond_the_last_kind_there_is_that_one() -> None:
    assert between.kinds_around(SKEW, 0.0) == {"iid": 1}
    assert between.kinds_around(SKEW, 1.0) == {"two_class": 1}
    assert between.kinds_around({"b": 2, "a": 1}, 1.25) == {"a": 0.75, "b": 0.25}


@given(st.floats(0, 1), st.floats(0, 1e-3))
def test_a_small_step_changes_little(skew: float, step: float) -> None:
    """Nothing jumps, not even the kinds."""
    assert np.abs(columns(skew=skew) - columns(skew=skew + step)).max() <= 20 * step + 1e-12


def test_the_ends_of_a_factor_are_those_of_its_levels() -> None:
    found = {factor.name: between.ends(factor, AT, NUMBERS) for factor in FACTORS}
    assert found == {"skew": (0.05, 0.8), "spread": (0, 1.2), "at_work": (5, 100), "steps": (2, 30)}
