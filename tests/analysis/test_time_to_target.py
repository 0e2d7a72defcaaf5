import math

import numpy as np
import pytest

from fedbench.analysis.time_to_target import Attempt, TimeToTarget, first_hit


def over(*attempts):
    return TimeToTarget("test_accuracy", 0.8, tuple(Attempt(*attempt) for attempt in attempts))


def test_first_hit_is_a_grid_value():
    seconds = np.array([0.0, 5.0, 10.0, 15.0])
    assert first_hit(seconds, np.array([0.1, 0.79, 0.9, 0.7]), 0.8) == 10.0
    assert first_hit(seconds, np.array([0.1, math.nan, 0.8, 0.9]), 0.8) == 10.0
    assert first_hit(seconds, np.array([0.1, 0.2, 0.3, 0.79]), 0.8) is None


def test_a_float32_curve_reaches_its_own_target():
    assert first_hit(np.array([1.0]), np.array([0.7], dtype=np.float32), 0.7) == 1.0


def test_all_hit():
    time = over((4.0, 20.0), (6.0, 20.0), (5.0, 20.0))
    assert (time.hits, time.total, time.median, time.beyond, time.lower_bound) == (3, 3, 5.0, None, False)
    assert time.restricted_mean.mean == 5.0
    assert time.restricted_mean.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)


def test_one_miss_moves_the_median_and_the_mean():
    time = over((4.0, 20.0), (None, 20.0), (5.0, 20.0))
    assert (time.hits, time.total, time.median, time.lower_bound) == (2, 3, 5.0, True)
    assert time.restricted_mean.mean == pytest.approx(29 / 3)


@pytest.mark.parametrize("attempts", [((4.0, 20.0), (None, 18.0), (None, 20.0)), ((4.0, 20.0), (None, 18.0))])
def test_the_median_of_mostly_misses_is_beyond_the_first_censoring(attempts):
    time = over(*attempts)
    assert (time.hits, time.total, time.median, time.beyond) == (1, len(attempts), None, 18.0)


def test_even_number_of_hits():
    assert over((4.0, 20.0), (7.0, 20.0)).median == 5.5
