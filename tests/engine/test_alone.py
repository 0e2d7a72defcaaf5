"""Clients that train alone: which of their models are scored, and the mean."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.engine.alone import AloneEvaluator
from fedbench.engine.trainers.base import Scores, Snapshot

NONE = np.empty(0)


class Scoring:
    """A backend with three test examples, of classes 0, 0 and 1, and two training ones for each of
    two clients: of class 0, and of both classes. A model (v,) is right about the test examples
    below v, and its loss is v everywhere."""

    def __init__(self, at_a_time: int = 2) -> None:
        self.models_at_a_time = at_a_time
        self.tested: list[list[float]] = []  # the models of every call
        test, train = np.array([0, 0, 1]), np.array([0, 0, 0, 1])
        dataset = SimpleNamespace(test=SimpleNamespace(y=test), train=SimpleNamespace(y=train), classes=2)
        shards = [np.array([0, 1]), np.array([2, 3])]
        self.workload = SimpleNamespace(task=SimpleNamespace(dataset=dataset), shards=shards)

    def test_scores(self, models: Sequence[Snapshot]) -> list[Scores]:
        self.tested.append([float(x[0]) for x, _ in models])
        return [(np.full(3, v), np.arange(3) < v) for v in self.tested[-1]]  # type: ignore[misc]

    def train_scores(self, models: Sequence[Snapshot]) -> list[Scores]:
        return [(np.full(4, 10 * float(x[0])), np.zeros(4)) for x, _ in models]


def of(*values: float) -> Snapshot:
    """The clients' models at a version."""
    return Snapshot(np.array(values)[:, None], NONE)


def evaluator(at_a_time: int = 2) -> tuple[Any, Scoring]:
    backend = Scoring(at_a_time)
    return AloneEvaluator(backend), backend  # type: ignore[arg-type]


def test_a_metric_is_the_plain_mean_over_clients() -> None:
    judge, _ = evaluator()
    (found,) = judge.metrics([of(0, 1, 1, 3)])
    assert found == {"test_accuracy": pytest.approx(5 / 12), "test_loss": 1.25, "train_loss": 12.5}


def test_models_are_scored_once_and_in_pieces_that_the_backend_takes() -> None:
    judge, backend = evaluator(2)
    judge.metrics([of(5, 5, 5, 5)])
    judge.metrics([of(5, 1, 2, 3)])
    judge.metrics([of(5, 1, 2, 4)])
    assert backend.tested == [[5], [1, 2], [3], [4]]


def test_a_model_that_nobody_had_in_between_is_scored_again() -> None:
    """So no more models are known than there are clients."""
    judge, backend = evaluator(2)
    for version in (of(1, 2), of(3, 2), of(1, 2)):
        judge.metrics([version])
    assert backend.tested == [[1, 2], [3], [1]]


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=6), st.integers(1, 4))
def test_what_was_known_before_changes_nothing(versions: list[list[int]], at_a_time: int) -> None:
    judge, _ = evaluator(at_a_time)
    for values in versions:
        assert judge.metrics([of(*values)]) == evaluator()[0].metrics([of(*values)])


def test_every_client_is_judged_on_its_own_classes_by_its_own_model() -> None:
    """The model 1 is right about half of class 0 and not about class 1, the model 3 about all."""
    judge, backend = evaluator(1)
    assert judge.parts(*of(1, 3)).client_accuracy.tolist() == [0.5, 1]
    assert judge.parts(*of(3, 1)).client_accuracy.tolist() == [1, 0.25]
    assert backend.tested == [[1], [3], [3], [1]]
