"""The evaluation grid: newest version with time <= tau, one evaluation per version, nothing disturbed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from fedbench.engine.evaluate import GridEvaluator

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


def play(times: list[float], end: float) -> tuple[Any, Counting]:
    execution, evaluator = Counting(), GridEvaluator(1.0)
    for version, time in enumerate(times):
        evaluator.before_update(execution, version, round(time * SECOND))  # type: ignore[arg-type]
        execution.version, execution.state.x = version + 1, version + 1.0
        evaluator.after_update(execution, version + 1, round(time * SECOND))  # type: ignore[arg-type]
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
