import math

import numpy as np
import pytest

from fedbench.analysis.curves import mean_curve


def curve(values, seconds=None):
    return {"seconds": np.array(range(len(values)) if seconds is None else seconds, dtype=float), "a": np.array(values)}


def test_few_seeds_show_their_range_where_all_have_a_value():
    result = mean_curve([curve([0.0, 0.2, 0.4]), curve([0.2, 0.6])], "a")
    assert result.band == "range"
    np.testing.assert_array_equal(result.seconds, [0.0, 1.0])
    np.testing.assert_allclose(result.mean, [0.1, 0.4])
    np.testing.assert_allclose(result.low, [0.0, 0.2])
    np.testing.assert_allclose(result.high, [0.2, 0.6])


def test_five_seeds_show_the_t_interval():
    # 1..5: mean 3, std sqrt(2.5), t(4) = 2.776445: half-width 2.776445 * sqrt(0.5)
    result = mean_curve([curve([float(i)]) for i in range(1, 6)], "a")
    assert result.band == "t"
    assert result.mean[0] == 3.0
    assert result.high[0] - result.mean[0] == pytest.approx(2.776445 * math.sqrt(0.5), rel=1e-6)
    assert result.mean[0] - result.low[0] == pytest.approx(result.high[0] - result.mean[0])


def test_one_seed_has_no_band_and_ends_before_it_is_not_finite():
    result = mean_curve([curve([0.1, 0.2, math.nan, 0.3])], "a")
    assert result.band == "none"
    np.testing.assert_array_equal(result.mean, [0.1, 0.2])
    np.testing.assert_array_equal(result.low, result.high)


def test_only_times_that_all_seeds_share():
    result = mean_curve([curve([1.0, 2.0, 3.0], [0, 5, 7]), curve([3.0, 4.0, 5.0], [0, 5, 10])], "a")
    np.testing.assert_array_equal(result.seconds, [0.0, 5.0])
    np.testing.assert_array_equal(result.mean, [2.0, 3.0])


def test_no_points():
    assert len(mean_curve([curve([]), curve([0.1])], "a").seconds) == 0
