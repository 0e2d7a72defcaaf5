import math

import numpy as np
import pytest

from fedbench.analysis.axes import AXES, SECONDS
from fedbench.analysis.curves import last_k_mean, mean_curve, value_at
from fedbench.errors import UsageError

UPDATES = AXES["updates"]


def test_few_seeds_show_their_range_up_to_the_end_of_the_first(record):
    result = mean_curve([record(curve=[0.0, 0.2, 0.4]), record(curve=[0.2, 0.6])])
    assert result.band == "range"
    np.testing.assert_array_equal(result.at, [0.0, 5.0])
    np.testing.assert_allclose(result.middle, [0.1, 0.4], rtol=1e-6)
    np.testing.assert_allclose(result.low, [0.0, 0.2], rtol=1e-6)
    np.testing.assert_allclose(result.high, [0.2, 0.6], rtol=1e-6)


def test_five_seeds_show_the_t_interval(record):
    # 0.1..0.5: mean 0.3, std sqrt(0.025), t(4) = 2.776445: half-width 0.2776445 * sqrt(0.5)
    result = mean_curve([record(curve=[i / 10]) for i in range(1, 6)])
    assert result.band == "t"
    assert result.middle[0] == pytest.approx(0.3)
    assert result.high[0] - result.middle[0] == pytest.approx(0.2776445 * math.sqrt(0.5), rel=1e-6)
    assert result.middle[0] - result.low[0] == pytest.approx(result.high[0] - result.middle[0])


def test_one_seed_has_no_band_and_ends_before_it_is_not_finite(record):
    result = mean_curve([record(curve=[0.1, 0.2, math.nan, 0.3])])
    assert result.band == "none"
    np.testing.assert_allclose(result.middle, [0.1, 0.2], rtol=1e-6)
    np.testing.assert_array_equal(result.low, result.high)


def test_each_seed_is_interpolated_on_a_common_grid(record):
    """By hand: at 6 updates the first seed is at 0.2 + (0.6 - 0.2) 4 / 8, at 10 the second at 0.1 +
    (0.5 - 0.1) 4 / 12; the first ends at 10, so nothing is said of 18."""
    first = record(curve=[0.0, 0.2, 0.6], columns={"version": [0, 2, 10]})
    second = record(curve=[0.0, 0.1, 0.5], columns={"version": [0, 6, 18]})
    result = mean_curve([first, second], axis=UPDATES)
    np.testing.assert_array_equal(result.at, [0, 2, 6, 10])
    between = 0.1 + 0.4 * 4 / 12
    np.testing.assert_allclose(result.middle, [0.0, (0.2 + 0.1 / 3) / 2, (0.4 + 0.1) / 2, (0.6 + between) / 2], rtol=1e-6)


def test_the_mean_begins_where_the_last_seed_begins(record):
    bytes_ = AXES["bytes"]
    early = record(curve=[0.1, 0.3], columns={"bytes": [0, 200]})
    late = record(curve=[0.1, 0.5], columns={"bytes": [100, 300]})
    result = mean_curve([early, late], axis=bytes_)
    np.testing.assert_array_equal(result.at, [100, 200])
    np.testing.assert_allclose(result.middle, [(0.2 + 0.1) / 2, (0.3 + 0.3) / 2], rtol=1e-6)


def test_of_equal_places_the_last_evaluation_counts(record):
    """Bytes stand still while an update changes the model."""
    run = record(curve=[0.1, 0.2, 0.4], columns={"version": [0, 0, 5]})
    np.testing.assert_allclose(mean_curve([run], axis=UPDATES).middle, [0.2, 0.4], rtol=1e-6)


def test_no_points(record):
    assert len(mean_curve([record(curve=[]), record(curve=[0.1])]).at) == 0


def test_value_at_is_the_newest_evaluation_and_nothing_beyond_the_end(record):
    run = record(curve=[0.1, 0.5, 0.25, 0.75])  # at 0, 5, 10, 15
    expected = {0.0: 0.1, 4.9: 0.1, 5.0: 0.5, 9.9: 0.5, 10.0: 0.25, 15.0: 0.75, 15.1: None, -1.0: None}
    for place, value in expected.items():
        assert value_at(run, "test_accuracy", SECONDS, place) == (value if value is None else pytest.approx(value))


def test_value_at_a_plateau_of_the_axis_is_the_last_of_it(record):
    run = record(curve=[0.1, 0.2, 0.3, 0.4], columns={"version": [0, 3, 3, 8]})
    assert value_at(run, "test_accuracy", UPDATES, 3) == pytest.approx(0.3)
    assert value_at(run, "test_accuracy", UPDATES, 7) == pytest.approx(0.3)


def test_a_value_that_is_not_finite_is_none(record):
    assert value_at(record(curve=[0.1, math.nan]), "test_accuracy", SECONDS, 5.0) is None


def test_last_k_mean_by_hand(record):
    run = record(curve=[0.9, 0.1, 0.2, 0.6])
    assert last_k_mean(run, k=3) == pytest.approx(0.3)
    assert last_k_mean(run, k=4) == pytest.approx(0.45)
    assert last_k_mean(run, k=5) is None


def test_last_k_mean_of_a_broken_run(record):
    assert last_k_mean(record(curve=[0.1, 0.2], state="diverged"), k=2) is None
    assert last_k_mean(record(curve=[0.1, math.nan]), k=1) is None


def test_unknown_metric(record):
    with pytest.raises(UsageError, match="unknown metric 'accuracy'; did you mean 'test_accuracy'"):
        mean_curve([record()], "accuracy")
