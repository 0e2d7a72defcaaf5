"""What records of several runs say together: standings, hits, means and pictures."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from fedbench.errors import UsageError
from fedbench.launch.records import Records
from tests.conftest import alter

mpl.use("Agg")


@pytest.fixture
def records(record):
    """Two seeds that pass their updates at different times, and a rival under another scenario
    hash."""
    a = record("a", 0, [0.0, 0.2, 0.6], columns={"version": [0, 2, 10]})
    b = record("a", 1, [0.0, 0.1, 0.5], columns={"version": [0, 6, 18]})
    return Records([a, b])


def lines(axes):
    return {line.get_label(): line for line in axes.get_lines()}


@pytest.fixture
def axes():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_a_picture_interpolates_each_seed(records, axes):
    """At 2 updates the second seed is at 0.1 / 3, at 6 the first at 0.4; nothing is drawn beyond
    10, where the first seed ends."""
    line = lines(records.plot(against="updates", ax=axes))["a"]
    np.testing.assert_array_equal(line.get_xdata(), [0, 2, 6, 10])
    np.testing.assert_allclose(line.get_ydata(), [0, (0.2 + 0.1 / 3) / 2, 0.25, (0.6 + 0.1 + 0.4 / 3) / 2], rtol=1e-6)
    assert axes.get_xlabel() == "server updates"


def test_scenarios_are_not_mixed_in_a_picture(record, axes):
    other = record("a", 0, [0.5, 0.9], scenario_hash="beef")
    alter(other, "spec.scenario.clients", 7)
    Records([record("a", 0, [0.1, 0.2]), other]).plot(ax=axes)
    assert sorted(lines(axes)) == ["slow_tail with clients=100: a", "slow_tail with clients=7: a"]
    np.testing.assert_allclose(lines(axes)["slow_tail with clients=7: a"].get_ydata(), [0.5, 0.9], rtol=1e-6)


def test_an_unknown_axis_or_metric_is_a_usage_error(records, axes):
    with pytest.raises(UsageError, match="unknown axis"):
        records.plot(against="hours", ax=axes)
    with pytest.raises(UsageError, match="unknown metric"):
        records.plot("accuracy", ax=axes)


def test_standings_are_at_the_common_horizon_of_the_axis(record):
    many = [record("many", seed, [0.1, 0.4, 0.9 + 0.01 * seed], columns={"version": [0, 20, 100]}) for seed in (0, 1, 2)]
    few = [record("few", seed, [0.1, 0.5, 0.7 - 0.01 * seed], columns={"version": [0, 10, 20]}) for seed in (0, 1, 2)]
    by_time, by_updates = (Records([*many, *few]).standings(axis).set_index("algorithm") for axis in ("seconds", "updates"))
    assert by_time.standing.to_dict() == {"many": "best", "few": "behind"}
    assert by_updates.standing.to_dict() == {"many": "behind", "few": "best"}
    assert set(by_updates.horizon) == {20.0}
    assert by_updates.accuracy["many"] == pytest.approx(0.4)
    assert by_updates.to_best["many"] == pytest.approx(-0.29)


def test_rounds_to_a_target(records):
    table = records.hits("test_accuracy", 0.55, "rounds")
    assert list(table.text) == ["10 updates", "> 18 updates"]
    assert table.reached[0] == 10
    assert np.isnan(table.reached[1])


def test_frame_has_the_mean_of_the_last_ten_evaluations_and_the_cause_of_the_end(record):
    long = record(curve=[0.0] * 5 + [0.5] * 10)
    frame = Records([long, record(seed=1, ended_by="updates")]).frame()
    assert frame.test_accuracy_last_10[0] == 0.5
    assert np.isnan(frame.test_accuracy_last_10[1])
    assert list(frame.ended_by) == ["time", "updates"]


def test_frame_has_the_options_of_all_algorithms(record):
    """None where an algorithm has no such option, or where a record has none."""
    runs = [record(), record("fedbuff", seed=1)]
    alter(runs[0], "spec.algorithm.options", {"local_lr": 0.1, "sizes": [1, 2], "cohort_size": None})
    alter(runs[1], "spec.algorithm.options", {"local_lr": 0.2, "buffer_size": 5})
    frame = Records(runs).frame()
    assert list(frame.option_local_lr) == [0.1, 0.2]
    assert list(frame.option_sizes) == [[1, 2], None]
    assert np.isnan(frame.option_buffer_size[0])
    assert frame.option_buffer_size[1] == 5
    assert [name for name in frame if name.startswith("option_")] == [
        "option_local_lr", "option_sizes", "option_cohort_size", "option_buffer_size",
    ]  # fmt: skip
