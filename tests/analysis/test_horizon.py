import math

import pytest

from fedbench.analysis.axes import AXES, SECONDS
from fedbench.analysis.horizon import horizon, why_not_compared
from tests.conftest import alter

UPDATES = AXES["updates"]


def test_the_smallest_end_of_any_seed(record):
    rows = {"a": [record(curve=[0.1] * 5), record(seed=1, curve=[0.1] * 3)], "b": [record("b", curve=[0.1] * 4)]}
    found = horizon(rows, SECONDS)
    assert (found.at, found.is_shared) == (10.0, False)
    assert [(selector, run.seed) for selector, run in found.limits] == [("a", 1)]


def test_shared_by_all(record):
    found = horizon({"a": [record(), record(seed=1)], "b": [record("b")]}, SECONDS)
    assert (found.at, found.is_shared, len(found.limits)) == (15.0, True, 3)


def test_on_another_axis_another_row_ends_first(record):
    rows = {
        "fast": [record(curve=[0.1, 0.2], columns={"version": [0, 90]})],
        "slow": [record(curve=[0.1, 0.2, 0.3], columns={"version": [0, 5, 9]})],
    }
    assert horizon(rows, SECONDS).at == 5.0
    assert horizon(rows, UPDATES).at == 9.0


def test_nobody_to_compare():
    assert horizon({}, SECONDS).at is None


@pytest.mark.parametrize("state", ["diverged", "stalled"])
def test_a_row_with_a_broken_seed_is_left_out(record, state):
    runs = [record(), record(seed=1, state=state), record(seed=2)]
    assert why_not_compared(runs, SECONDS) == f"1 of 3 seeds {state}"


def test_a_row_ended_by_the_cap_on_updates_is_compared(record):
    assert why_not_compared([record(ended_by="updates"), record(ended_by="time")], SECONDS) == ""


@pytest.mark.parametrize("curve", [[], [0.1, math.nan]])
def test_a_row_without_accuracies_is_left_out(record, curve):
    assert why_not_compared([record(curve=curve)], SECONDS) == "1 of 1 seeds without an accuracy"


def test_a_row_that_spent_nothing_does_not_pull_the_horizon_to_nothing(record):
    idle = record(columns={"version": [0, 0, 0, 0]})
    assert why_not_compared([idle], UPDATES) == "1 of 1 seeds without server updates"
    assert why_not_compared([idle], SECONDS) == ""


@pytest.mark.parametrize("more", [{}, {"hold_points": 3}])
def test_runs_that_stop_at_their_targets_are_not_compared_by_accuracy(record, more):
    """Not even the row that never reached its target: it would be the best of the worst. Nor one
    that held it."""
    runs = [record(ended_by="target"), record(seed=1, ended_by="time")]
    for run in runs:
        alter(run, "spec.scenario.budget", {"stop_at_target": True, **more})
    assert why_not_compared(runs, SECONDS) == "2 of 2 seeds told to stop at a target"
    assert why_not_compared(runs[1:], SECONDS)


def test_several_reasons_are_all_said(record):
    runs = [record(state="stalled"), record(seed=1, state="diverged"), record(seed=2, state="diverged")]
    assert why_not_compared(runs, SECONDS) == "2 of 3 seeds diverged, 1 of 3 seeds stalled"
