import math

import numpy as np
import pytest

from fedbench.analysis.axes import SECONDS
from fedbench.analysis.hits import Attempt, Hits, first_hit, held, hits
from fedbench.errors import RecordError, UsageError
from fedbench.scenarios.schema import Target

GOAL = Target(value=0.8)


def over(*attempts):
    return Hits("test_accuracy", 0.8, SECONDS, tuple(Attempt(*attempt) for attempt in attempts))


def test_first_hit_is_a_grid_value(record):
    assert first_hit(record(curve=[0.1, 0.79, 0.9, 0.7]), "test_accuracy", 0.8) == Attempt(10.0, 15.0)
    assert first_hit(record(curve=[0.1, math.nan, 0.8, 0.9]), "test_accuracy", 0.8).reached == 10.0
    assert first_hit(record(curve=[0.1, 0.2, 0.3, 0.79]), "test_accuracy", 0.8) == Attempt(None, 15.0)


@pytest.mark.parametrize(
    ("axis", "reached", "end", "text"),
    [
        ("seconds", 10.0, 15.0, "10 s"),
        ("updates", 20.0, 30.0, "20 updates"),
        ("rounds", 20.0, 30.0, "20 updates"),
        ("bytes", 2000.0, 3000.0, "2,000 B"),
    ],
)
def test_on_any_axis(record, axis, reached, end, text):
    run = record(curve=[0.1, 0.5, 0.85, 0.9])
    assert first_hit(run, "test_accuracy", 0.8, axis) == Attempt(reached, end, text.split()[1])
    assert str(first_hit(run, "test_accuracy", 0.8, axis)) == text
    assert first_hit(run, "test_accuracy", 0.95, axis).reached is None


def test_a_miss_says_until_where_it_was_watched(record):
    assert str(first_hit(record(curve=[0.1, 0.2]), "test_accuracy", 0.8, "updates")) == "> 10 updates"
    assert str(first_hit(record(curve=[0.1, 0.2]), "test_accuracy", 0.8)) == "> 5 s"


def test_a_broken_run_is_a_miss_until_the_end_of_the_time_budget(record):
    run = record(curve=[0.1, 0.2], state="stalled")
    assert first_hit(run, "test_accuracy", 0.8) == Attempt(None, 20.0)
    assert first_hit(run, "test_accuracy", 0.8, "updates") == Attempt(None, 10.0, "updates")


def test_a_loss_reaches_its_target_from_above(record):
    run = record(columns={"test_loss": [2.0, 1.5, 0.9, 1.1]})
    assert first_hit(run, "test_loss", 1.0).reached == 10.0
    assert first_hit(run, "test_loss", 0.5).reached is None


def test_a_float32_curve_reaches_its_own_target(record):
    assert first_hit(record(curve=[0.7]), "test_accuracy", 0.7).reached == 0.0
    assert first_hit(record(columns={"test_loss": np.full(4, 0.7, np.float32)}), "test_loss", 0.7).reached == 0.0


def test_a_run_without_evaluations(record):
    assert first_hit(record(curve=[]), "test_accuracy", 0.8) == Attempt(None, 0.0)


def test_unknown_names(record):
    with pytest.raises(UsageError, match="unknown metric"):
        first_hit(record(), "accuracy", 0.8)
    with pytest.raises(UsageError, match="unknown axis"):
        first_hit(record(), "test_accuracy", 0.8, "hours")
    with pytest.raises(RecordError, match="expected at least one run"):
        hits([], GOAL)


def test_over_the_seeds_of_a_row(record):
    both = hits([record(curve=[0.1, 0.9, 0.9, 0.9]), record(seed=1, curve=[0.1, 0.2])], GOAL, "updates")
    assert (both.hits, both.total, both.beyond, both.axis.name) == (1, 2, 10.0, "updates")


def test_a_target_that_is_held(record):
    """From 10 s on for three models; the touch at 5 s was lost again."""
    run = record(curve=[0.1, 0.8, 0.7, 0.8, 0.9, 0.9])
    assert held(run, GOAL) == Attempt(15.0, 25.0)
    assert held(run, GOAL, "bytes") == Attempt(3000.0, 5000.0, "B")
    assert held(record(curve=[0.1, 0.8, 0.9]), GOAL) == Attempt(None, 5.0), "the run ends before the third model"
    assert held(record(curve=[0.1, 0.9, 0.9, 0.9], state="diverged"), GOAL) == Attempt(None, 20.0)


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
