"""The evaluation grid: newest version with time <= tau, one evaluation per version, nothing
disturbed."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.engine.evaluate import GridEvaluator
from fedbench.engine.goal import Goal, GoalHeld
from fedbench.engine.trainers.base import Snapshot
from fedbench.results import holding
from fedbench.results.record import first_held
from fedbench.scenarios.grid import EvenGrid

SECOND = 1_000_000_000


class Counting:
    """Stands for an execution whose trainer tells which model it was asked about."""

    def __init__(self) -> None:
        self.asked = 0
        self.version = 0
        self.calls: list[int] = []  # how many models every call had
        self.state = SimpleNamespace(x=np.zeros(1))

    def judged(self) -> Snapshot:
        return Snapshot(self.state.x.copy(), np.empty(0))

    def evaluate(self, models: Sequence[Snapshot]) -> list[dict[str, float]]:
        self.asked += len(models)
        self.calls.append(len(models))
        return [{"test_accuracy": float(x[0]), "test_loss": -float(x[0]), "train_loss": 0.0} for x, _ in models]


def walk(execution: Any, evaluator: GridEvaluator, times: list[float]) -> None:
    """Updates at these times; version v scores v."""
    for version, time in enumerate(times):
        evaluator.before_update(execution, version, round(time * SECOND))
        execution.version = version + 1
        execution.state.x += 1  # in place, as some servers do
        evaluator.after_update(execution, version + 1, round(time * SECOND))


def play(times: list[float], end: float) -> tuple[Any, Counting]:
    execution = Counting()
    evaluator = GridEvaluator(execution.evaluate, EvenGrid(SECOND))
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


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 9))
def test_models_evaluated_together_give_the_same_rows(steps: list[int], at_a_time: int) -> None:
    times = (np.cumsum(steps) / 2).tolist()
    alone, one_by_one = play(times, 40.0)
    execution = Counting()
    evaluator = GridEvaluator(execution.evaluate, EvenGrid(SECOND), at_a_time=at_a_time)
    walk(execution, evaluator, times)
    evaluator.finish(execution, 40 * SECOND)  # type: ignore[arg-type]
    together = evaluator.columns()
    assert all((together[name] == alone[name]).all() for name in alone)
    assert execution.asked == one_by_one.asked
    assert set(execution.calls[:-1]) <= {at_a_time}


def test_who_looks_at_the_rows_finds_them_complete() -> None:
    execution = Counting()
    evaluator = GridEvaluator(execution.evaluate, EvenGrid(SECOND), at_a_time=8)
    walk(execution, evaluator, [0.5, 1.5, 1.6, 4.5])
    assert [row["version"] for row in evaluator.rows] == [row["test_accuracy"] for row in evaluator.rows] == [0, 1, 3, 3, 3]
    assert execution.calls == [3]
    assert evaluator.metrics_of(execution, 4)["test_accuracy"] == 4  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("hold_points", "at_a_time", "calls", "end"),
    [
        (1, 8, [1] * 5, 4),
        (3, 8, [3, 3, 1], 6),  # 0 1 2, then 3 4 5, of which 4 and 5 meet it
        (3, 2, [2, 2, 2, 1], 6),
        (None, 8, [3, 3, 1], 6),  # the rules ask for three models from 4 s on
    ],
)
def test_models_wait_until_the_goal_may_be_held(hold_points: int | None, at_a_time: int, calls: list[int], end: int) -> None:
    execution = Counting()
    evaluator = GridEvaluator(execution.evaluate, EvenGrid(SECOND), goal=goal(4, hold_points), at_a_time=at_a_time)
    with pytest.raises(GoalHeld):
        walk(execution, evaluator, [place + 0.5 for place in range(20)])
    assert execution.calls == calls
    assert evaluator.columns()["version"].tolist() == [*range(end + 1)]


def test_two_updates_in_one_instant() -> None:
    assert play([1.0, 1.0], 1.0)[0]["version"].tolist() == [0, 2]


def goal(value: float, hold_points: int | None = 1) -> Goal:
    target: Any = SimpleNamespace(metric="test_accuracy", value=value)
    return Goal(target, EvenGrid(SECOND), hold_points)


def test_it_ends_at_the_first_point_at_which_the_goal_is_met() -> None:
    """Versions 1, 2, .. score 1, 2, ..; goal 4 is reached between 3 and 4 s. Rows go on to the next
    update only."""
    execution = Counting()
    evaluator = GridEvaluator(execution.evaluate, EvenGrid(SECOND), goal=goal(4))
    with pytest.raises(GoalHeld):
        walk(execution, evaluator, [0.5, 1.0, 1.2, 3.5, 6.7, 9.0])
    assert evaluator.columns()["seconds"].tolist() == [0, 1, 2, 3, 4]
    assert execution.version == 4


def restored(*accuracies: float) -> list[dict[str, float]]:
    """Rows as a checkpoint has them."""
    return [{"seconds": float(t), "version": 0, "test_accuracy": a} for t, a in enumerate(accuracies)]


def test_what_was_reached_before_a_checkpoint_counts() -> None:
    """Rows that have it all end the run at once; where a point is missing, one more is
    evaluated."""
    for hold_points, asked in ((2, 0), (3, 1)):
        execution = Counting()
        evaluator = GridEvaluator(execution.evaluate, EvenGrid(SECOND), goal=goal(5, hold_points))
        evaluator.rows, execution.state.x = restored(5.0, 0.5, 5.0, 6.0), np.array([7.0])
        with pytest.raises(GoalHeld):
            evaluator.before_update(execution, 0, 9 * SECOND)  # type: ignore[arg-type]
        assert execution.asked == asked
        assert len(evaluator.rows) == 4 + asked


def end_by_the_rule(curve: list[float], value: float, hold_points: int | None) -> int | None:
    """The first place whose last `hold_points` values, itself among them, are all there and all at
    least `value`; with None that of the rules of reaching, one evaluation a second."""
    if hold_points is None:
        seconds = np.arange(len(curve), dtype=np.int64)
        return holding.stop(np.array(curve) >= value, seconds * SECOND, seconds)
    assert first_held(np.array(curve, np.float32), value, hold_points) == _end_by_points(curve, value, hold_points)
    return _end_by_points(curve, value, hold_points)


def _end_by_points(curve: list[float], value: float, hold_points: int) -> int | None:
    for place in range(len(curve)):
        window = curve[max(0, place + 1 - hold_points) : place + 1]
        if len(window) == hold_points and all(one >= value for one in window):
            return place
    return None


@given(
    curve=st.lists(st.sampled_from([0.25, 0.5, 0.75, float("nan")]), min_size=1, max_size=40),
    hold_points=st.integers(1, 6) | st.none(),
    resumed_at=st.integers(0, 40),
    at_a_time=st.integers(1, 9),
)
def test_it_ends_as_the_rule_says_on_any_curve(
    curve: list[float], hold_points: int | None, resumed_at: int, at_a_time: int
) -> None:
    """One update a second; version v scores curve[v]. The run is interrupted before an update, and
    goes on with the rows it had."""
    wanted = end_by_the_rule(curve, 0.5, hold_points)

    def begun() -> GridEvaluator:
        return GridEvaluator(execution.evaluate, EvenGrid(SECOND), goal=goal(0.5, hold_points), at_a_time=at_a_time)

    execution = Counting()
    evaluator = begun()
    ended = False
    for version, accuracy in enumerate(curve):
        execution.version, execution.state.x = version, np.array([accuracy])
        if version == resumed_at:
            rows, evaluator = evaluator.rows, begun()
            evaluator.rows = rows
        try:
            evaluator.before_update(execution, version, (version + 1) * SECOND)  # type: ignore[arg-type]
        except GoalHeld:
            ended = True
            break
    assert ended == (wanted is not None)
    assert len(evaluator.rows) == (len(curve) if wanted is None else wanted + 1)


def test_goals_are_compared_as_curves_keep_values() -> None:
    execution = Counting()
    evaluator = GridEvaluator(execution.evaluate, EvenGrid(SECOND), goal=goal(0.7))
    execution.state.x = np.array([0.7 - 1e-12])
    with pytest.raises(GoalHeld):
        evaluator.finish(execution, 0)  # type: ignore[arg-type]


def test_the_clock_does_not_end_before_the_last_row() -> None:
    """Round to even of seconds x 1e9, as the clock has it: exact for three weeks, and then not a
    nanosecond early."""
    random, evaluator = np.random.default_rng(0), GridEvaluator(Counting().evaluate, EvenGrid(SECOND))
    for _ in range(2000):
        step, points = int(random.integers(10**6, 10**10)), int(random.integers(1, 900_000))
        evaluator.grid = EvenGrid(step)
        evaluator.rows = range(points + 1)  # type: ignore[assignment]  # only their number counts
        late = round(evaluator.end_seconds * SECOND) - points * step
        assert late == 0 or (0 < late <= 2 and points * step > 2**51)
