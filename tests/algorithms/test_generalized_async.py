"""Generalized AsyncSGD by hand (problem of by_hand.py): where tasks go, and how much their results
count."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fedbench.algorithms.generalized_async import GeneralizedAsync
from fedbench.errors import UsageError
from fedbench.types import Info
from tests.algorithms.by_hand import D0, D1, X0, arrivals, delta_0, run, serve, two_clients

INFO = Info(4, np.array([1.0, 2, 3, 4]), job_seconds=np.array([1.0, 2, 4, 4]))


def test_a_rare_client_counts_more() -> None:
    """r = (3/4, 1/4), tasks at 0, 1 and 1 at first: the results at 1, 2.5 and 5 s are D0 / (2 *
    3/4) and D1 / (2 * 1/4)."""
    algorithm = GeneralizedAsync(local_lr=0.25, server_lr=0.5, concurrency=3, routing=(0.75, 0.25))
    dispatch = dataclasses.replace(algorithm.dispatch(Info(2, np.ones(2))), initial=(0, 1, 1), replacements=(0, 1, 1, 1, 1))
    trace = run(algorithm, two_clients(), 3, seconds=(1, 2.5), dispatch=dispatch)
    x1 = X0 + D0 * (0.5 / 1.5)
    assert trace.seconds == [1, 2, 2.5]
    assert trace.x[1] == pytest.approx(x1)
    assert trace.x[2] == pytest.approx(x1 + delta_0(x1) * (0.5 / 1.5))
    assert trace.x[3] == pytest.approx(trace.x[2] + D1)


def test_weights_of_the_objective_and_of_a_buffer() -> None:
    """p = (1, 2, 3, 4) / 10: p_j / r_j, and the mean over two arrivals."""
    algorithm = GeneralizedAsync(server_lr=1, buffer_size=2, routing=(0.1, 0.2, 0.3, 0.4), weights="p")
    state, tools = serve(algorithm, clients=4, x0=np.zeros(2))
    algorithm.step(state, arrivals([3, 0], delta=[[8.0, 0], [0, -4]]), tools)
    assert state.x == pytest.approx([0.25 / 0.4 * 8 / 2, 0.25 / 0.1 * -4 / 2])  # of `serve`, p = 1/4


@pytest.mark.parametrize("weights", ["uniform", "p"])
def test_the_mean_weight_of_a_task_is_one(weights: str) -> None:
    """Over r: the mean direction is that of the objective."""
    r = np.array([0.1, 0.2, 0.3, 0.4])
    algorithm = GeneralizedAsync(server_lr=1, routing=tuple(r), weights=weights)  # type: ignore[arg-type]
    state, tools = serve(algorithm, clients=4, x0=np.zeros(4))
    total = np.zeros(4)
    for client in range(4):
        state.x = np.zeros(4)
        algorithm.step(state, arrivals([client], delta=[np.eye(4)[client]]), tools)
        total += r[client] * state.x
    assert total == pytest.approx([0.25] * 4)


def test_where_tasks_go() -> None:
    assert GeneralizedAsync().r(INFO).tolist() == [0.25] * 4
    assert GeneralizedAsync(routing="rates").r(INFO) == pytest.approx([0.5, 0.25, 0.125, 0.125])
    policy = GeneralizedAsync(routing=(0.4, 0.3, 0.2, 0.1)).dispatch(INFO)
    assert policy.routing is not None
    assert (policy.concurrency, policy.buffer_size, list(policy.routing)) == (4, 1, [0.4, 0.3, 0.2, 0.1])
    with pytest.raises(UsageError, match="generalized_async: routing must have 4 probabilities, got 2"):
        GeneralizedAsync(routing=(0.5, 0.5)).r(INFO)


def test_the_rate_is_one_over_the_tasks() -> None:
    for options, rate in (({}, 1 / 4), ({"concurrency": 8}, 1 / 8), ({"concurrency": 8, "server_lr": 0.5}, 0.5)):
        algorithm = GeneralizedAsync(**options)
        state, tools = serve(algorithm, clients=4, x0=np.zeros(2))
        algorithm.step(state, arrivals([3], delta=[[8.0, -16]]), tools)
        assert state.x.tolist() == [8 * rate, -16 * rate]


def test_one_task_is_sgd_on_drawn_clients() -> None:
    trace = run(GeneralizedAsync(local_lr=0.25, concurrency=1), two_clients(), 20, seconds=(1, 2.5))
    assert [base for _, base in trace.consumed()] == list(range(20))  # nothing is stale
    assert {client for client, _ in trace.consumed()} == {0, 1}
