"""Ringmaster ASGD by hand (problem of by_hand.py): what moves the model, what is refused, and what
is stopped."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.algorithms.ringmaster import Ringmaster
from fedbench.errors import UsageError
from fedbench.types import Info, Stream
from tests.algorithms.by_hand import D0, D1, X0, arrivals, delta_0, many_clients, run, serve, two_clients


def test_what_is_less_stale_than_the_threshold_counts() -> None:
    """1 s and 2.5 s, R = 3: client 1 arrives with staleness 2 and counts, by the model that it
    started from."""
    trace = run(Ringmaster(local_lr=0.25, server_lr=1, delay_threshold=3), two_clients(), 3, seconds=(1, 2.5))
    x1 = X0 + D0
    x2 = x1 + delta_0(x1)
    assert trace.consumed() == [(0, 0), (0, 1), (1, 0)]
    assert [x.tolist() for x in trace.x[1:]] == [x1.tolist(), x2.tolist(), (x2 + D1).tolist()]


def test_what_is_as_stale_as_the_threshold_is_refused_and_its_client_goes_on() -> None:
    """R = 2: client 1 arrives at 2.5 s with staleness 2, and goes on from version 2, to arrive at 5
    s with staleness 2 again."""
    trace = run(Ringmaster(local_lr=0.25, server_lr=1, delay_threshold=2), two_clients(), 6, seconds=(1, 2.5))
    assert trace.consumed() == [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]
    assert trace.seconds == [1, 2, 3, 4, 5, 6]


def test_with_stops_a_slow_client_never_ends() -> None:
    trace = run(Ringmaster(local_lr=0.25, delay_threshold=1, stop_stale=True), two_clients(), 4, seconds=(1, 1.5))
    assert trace.seconds == [1, 2, 3, 4]
    assert [client for client, _ in trace.consumed()] == [0, 0, 0, 0]


def test_the_threshold_is_the_number_of_clients_and_the_rate_one_over_it() -> None:
    assert Ringmaster().dispatch(Info(7, np.ones(7))) == Stream(concurrency=7, restart="self", max_staleness=6)
    for options, rate in (({}, 1 / 4), ({"delay_threshold": 8}, 1 / 8), ({"delay_threshold": 8, "server_lr": 0.5}, 0.5)):
        algorithm = Ringmaster(**options)
        state, tools = serve(algorithm, clients=4, x0=np.zeros(2))
        algorithm.step(state, arrivals([3], delta=[[8.0, -16]]), tools)
        assert state.x.tolist() == [8 * rate, -16 * rate]


def test_without_a_threshold_fast_clients_decide_the_limit() -> None:
    """Exact gradients and a small rate: near the optimum of the sum of F_i / tau_i, and away from
    that of the sum of F_i."""
    problem, tau = many_clients(5, 3, seed=4), np.array([0.5, 1.0, 1.5, 2.5, 4.0])
    trace = run(Ringmaster(local_lr=0.01, server_lr=1, delay_threshold=1000), problem, 4000, seconds=tau, steps=1, x0=np.ones(3))
    w = 1 / tau
    optimum = np.linalg.solve(np.einsum("i,ijk->jk", w, problem.A), np.einsum("i,ijk,ik->j", w, problem.A, problem.c))
    x = np.mean(trace.x[-500:], axis=0)
    assert np.abs(x - optimum).max() < 0.02
    assert np.abs(x - problem.minimiser()).max() > 0.05


def test_thresholds_are_counts() -> None:
    with pytest.raises(UsageError, match="delay_threshold must be an integer >= 1 or none, got 0"):
        Ringmaster(delay_threshold=0)
