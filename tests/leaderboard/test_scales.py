"""The scales of a chart: which numbers they have, and where they begin and end."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.leaderboard.pictures.scales import LogScale, Scale, nice_step, place_scale, value_scale


@pytest.mark.parametrize(("span", "step"), [(20.0, 5.0), (1.0, 0.2), (3600.0, 1000.0), (0.012, 0.002), (6.0, 1.0), (14.0, 2.5)])
def test_nice_step(span: float, step: float) -> None:
    assert nice_step(span, 6) == pytest.approx(step)


def test_ticks_and_labels_of_a_linear_scale() -> None:
    scale = Scale(0.0, 14.0, 2.5)
    assert [scale.label(tick) for tick in scale.ticks] == ["0.0", "2.5", "5.0", "7.5", "10.0", "12.5"]
    assert Scale(0, 0.1, 0.025).label(0.025) == "0.025"


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.2, 97, [0.3, 1, 3, 10, 30]),
        (1, 1e4, [1, 10, 100, 1000, 10_000]),
        (0.5, 20, [0.5, 1, 2, 5, 10, 20]),
        (10, 15, [10, 11, 12, 13, 14, 15]),
        (1e-3, 1e9, [1e-3, 1, 1e3, 1e6, 1e9]),
    ],
)
def test_ticks_are_round_and_few(low: float, high: float, ticks: list[float]) -> None:
    assert LogScale(low, high).ticks == pytest.approx(ticks)


@given(st.floats(1e-3, 1e9), st.floats(1.02, 1e9))
def test_there_are_always_some_ticks_inside(low: float, ratio: float) -> None:
    scale = LogScale(low, low * ratio)
    assert 2 <= len(scale.ticks) <= 12
    shares = [scale.share(tick) for tick in scale.ticks]
    assert shares == sorted(shares)
    assert -1e-9 <= shares[0] <= shares[-1] <= 1 + 1e-6


def test_a_place_scale_begins_where_a_line_is_about_to_rise_and_ends_with_the_longest() -> None:
    early = ([0.0, 1.0, 2.0, 4.0], [0.1, 0.1, 0.11, 0.5])
    late = ([0.0, 2.0, 4.0, 30.0], [0.1, 0.1, 0.1, 0.8])
    assert place_scale([early, late]) == LogScale(2.0, 30.0)
    assert place_scale([early, late], until=10.0) == LogScale(2.0, 10.0)
    assert place_scale([early, late], until=100.0) == LogScale(2.0, 30.0)


def test_a_line_that_rises_at_once_begins_before_its_first_place_above_zero() -> None:
    assert place_scale([([0.0, 4.0, 8.0], [0.1, 0.9, 0.9])]) == LogScale(2.0, 8.0)


@pytest.mark.parametrize("places", [[0.0], [5.0], [0.0, 0.0]])
def test_a_line_that_goes_nowhere_has_a_scale(places: list[float]) -> None:
    scale = place_scale([(places, [0.5] * len(places))])
    assert 0 < scale.low < scale.high


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.lists(st.floats(0.1, 0.99), max_size=3))
def test_the_value_scale_holds_values_and_targets_in_whole_units(values: list[float], targets: list[float]) -> None:
    scale = value_scale(values, targets)
    assert 0 <= scale.low <= min([*values, *targets]) + 1e-4
    assert 1 >= scale.high >= max([*values, *targets]) - 1e-4
    assert math.isclose(scale.high, round(scale.high, 4))
    assert scale.ticks


def test_the_value_scale_is_cut_to_what_happens() -> None:
    scale = value_scale([0.113, 0.827], [0.6, 0.8])
    assert (scale.low, scale.high) == (pytest.approx(0.1), pytest.approx(0.85))
