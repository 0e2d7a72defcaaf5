"""The plan of a run as other ways get it, and softmax regression in float64 by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedbench.bench.orders import Clients, Finished, Orders, cohorts, outcome, scores, softmax_truth
from fedbench.bench.train import FLATTEN, RELU, Net, linear
from fedbench.errors import FedbenchError
from fedbench.types import Job

NET = Net((FLATTEN, linear(2, 2)), (2,), 2, 1)
X, Y = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32), np.array([0, 1])


def given(*updates: list[Job], net: Net = NET) -> Orders:
    clients = Clients(net, [np.array([0]), np.array([1]), np.array([0, 1, 0])], lr=0.5, seed=3)
    return Orders(list(updates), frozenset({len(updates)}), np.zeros(6, np.float32), 1.0, (X, Y), (X, Y), clients)


def test_the_rows_of_a_round_are_those_of_its_jobs() -> None:
    assert cohorts(given([Job(0, 0, 0, 2), Job(1, 0, 0, 2)])).tolist() == [[[[0], [0]], [[1], [1]]]]


@pytest.mark.parametrize(
    ("updates", "batch", "message"),
    [
        ([[Job(0, 0, 0, 1)], [Job(1, 0, 0, 1)]], 1, "update 2: expected a round, whose jobs start from version 1"),
        ([[Job(0, 0, 0, 1), Job(1, 0, 0, 2)]], 1, "expected rounds of as many jobs"),
        ([[Job(2, 0, 0, 2)]], 2, "expected rounds of as many jobs, each of as many full batches"),
    ],
)
def test_what_is_no_round_of_equal_jobs_is_refused(updates: list[list[Job]], batch: int, message: str) -> None:
    with pytest.raises(FedbenchError, match=message):
        cohorts(given(*updates, net=replace(NET, batch=batch)))


def test_one_round_by_hand() -> None:
    """At zero both shares are 1/2, so a client's step is lr / 2 towards its own label, and the mean
    of the two clients halves it."""
    found = softmax_truth(given([Job(0, 0, 0, 1), Job(1, 0, 0, 1)]))
    x = np.array([0.125, -0.125, -0.125, 0.125, 0.0, 0.0])
    assert found == {"updates": 1, "trained_steps": 2, "test_accuracy": 1.0, "first_loss": pytest.approx(scores(x, (X, Y))[0])}
    assert found["first_loss"] == pytest.approx(np.log(1 + np.exp(-0.25)))


def test_only_softmax_regression_is_compared_in_its_first_loss() -> None:
    orders = given([Job(0, 0, 0, 1)])
    assert "first_loss" in outcome(orders, Finished(1.0, 1, orders.x0))
    deeper = given([Job(0, 0, 0, 1)], net=replace(NET, layers=(*NET.layers, RELU)))
    assert "first_loss" not in outcome(deeper, Finished(1.0, 1, orders.x0))
