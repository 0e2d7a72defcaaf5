"""The evaluation grid: newest version with time <= tau, one evaluation per version, nothing disturbed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fedbench.engine.evaluate import GoalsReached, GridEvaluator

SECOND = 1_000_000_000


class Counting:
    """Stands for an execution whose trainer tells which model it was asked about."""

    def __init__(self) -> None:
        self.asked = 0
        self.version = 0
        self.state, self.buffers, self.trainer = SimpleNamespace(x=0.0), None, self

    def evaluate(self, x: float, buffers: None) -> dict[str, float]:
        self.asked += 1
        return {"test_accuracy": x, "test_loss": -x, "train_loss": 0.0}


def walk(execution: Any, evaluator: GridEvaluator, times: list[float]) -> None:
    """Updates at these times; version v scores v."""
    for version, time in enumerate(times):
        evaluator.before_update(execution, version, round(time * SECOND))
        execution.version, execution.state.x = version + 1, version + 1.0
        evaluator.after_update(execution, version + 1, round(time * SECOND))


def play(times: list[float], end: float) -> tuple[Any, Counting]:
    execution, evaluator = Counting(), GridEvaluator(1.0)
    walk(execution, evaluator, times)
    evaluator.finish(execution, round(end * SECOND))  # type: ignore[arg-type]
    return evaluator.columns(), execution


def test_a_grid_point_takes_the_newest_version_at_or_before_it() -> None:
    columns, execution = play([0.5, 1.0, 1.2, 3.5, 3.7], 5.0)
    assert columns["seconds"].tolist() == [0, 1, 2, 3, 4, 5]
    assert columns["version"].tolist() == [0, 2, 3, 3, 5, 5]
    assert columns["test_accuracy"].tolist() == [0, 2, 3, 3, 5, 5]
    assert columns["test_accuracy"].dtype == np.float32
    assert execution.asked == 4


def test_an_end_between_two_points_gives_no_extra_point() -> None:
    assert play([0.5], 2.9)[0]["seconds"].tolist() == [0, 1, 2]
    assert play([], 0.0)[0]["seconds"].tolist() == [0]


def test_two_updates_in_one_instant() -> None:
    assert play([1.0, 1.0], 1.0)[0]["version"].tolist() == [0, 2]


def goal(value: float) -> Any:
    return SimpleNamespace(metric="test_accuracy", value=value)


def test_it_ends_at_the_first_point_by_which_all_goals_were_reached() -> None:
    """Versions 1, 2, .. score 1, 2, ..; goal 2 is reached at 1 s, goal 4 between 3 and 4 s. Rows go on to the next update only."""
    execution, evaluator = Counting(), GridEvaluator(1.0, goals=[goal(4), goal(2)])
    with pytest.raises(GoalsReached):
        walk(execution, evaluator, [0.5, 1.0, 1.2, 3.5, 6.7, 9.0])
    assert evaluator.columns()["seconds"].tolist() == [0, 1, 2, 3, 4]
    assert execution.version == 4


def test_what_was_reached_before_a_checkpoint_counts() -> None:
    """Goal 5 is in the restored rows, goal 1 is not reached by the last of them; and rows that have it all end the run at once."""
    execution, rows = Counting(), [{"seconds": float(t), "version": 0, "test_accuracy": a} for t, a in enumerate((0.0, 5.0, 0.5))]
    evaluator = GridEvaluator(1.0, goals=[goal(5), goal(1)])
    evaluator.rows = rows
    with pytest.raises(GoalsReached):
        evaluator.before_update(execution, 0, SECOND)  # type: ignore[arg-type]
    assert execution.asked == 0


def test_goals_are_compared_as_curves_keep_values() -> None:
    execution, evaluator = Counting(), GridEvaluator(1.0, goals=[goal(0.7)])
    execution.state.x = 0.7 - 1e-12
    with pytest.raises(GoalsReached):
        evaluator.finish(execution, 0)  # type: ignore[arg-type]


def test_the_clock_does_not_end_before_the_last_row() -> None:
    """Round to even of seconds x 1e9, as the clock has it: exact for three weeks, and then not a nanosecond early."""
    random, evaluator = np.random.default_rng(0), GridEvaluator(1.0)
    for _ in range(2000):
        evaluator.grid_ns, points = int(random.integers(10**6, 10**10)), int(random.integers(1, 900_000))
        evaluator.rows = range(points + 1)  # type: ignore[assignment]  # only their number counts
        late = round(evaluator.end_seconds * SECOND) - points * evaluator.grid_ns
        assert late == 0 or (0 < late <= 2 and points * evaluator.grid_ns > 2**51)
