"""CA2FL by hand (problem of by_hand.py), its options, and the arrivals that its caches make up
for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.ca2fl import CA2FL
from fedbench.errors import UsageError
from tests.algorithms.by_hand import D0, D1, X0, arrivals, delta_0, many_clients, run, serve, two_clients


def ca2fl(**options: Any) -> CA2FL:
    return CA2FL(**({"local_lr": 0.25, "buffer_size": 1} | options))


def test_the_step_adds_the_h_before_it() -> None:
    """M = 1, 1 s and 2.5 s: client 0 from versions 0 and 1, then client 1 from version 0. E = Delta_0(x1) = (-63/128, -3/4).

    v1 = D0, h = D0/2;   v2 = D0/2 + E - D0, h = E/2;   v3 = E/2 + D1, h = (E + D1)/2
    """
    trace = run(ca2fl(), two_clients(), 3, seconds=(1, 2.5))
    E = np.array([-63 / 128, -3 / 4])
    assert trace.consumed() == [(0, 0), (0, 1), (1, 0)]
    assert trace.x[1].tolist() == (X0 + D0).tolist() == [17 / 8, 1]
    assert trace.x[2].tolist() == (trace.x[1] + E - D0 / 2).tolist() == [265 / 128, 7 / 4]
    assert trace.x[3].tolist() == (trace.x[2] + E / 2 + D1).tolist()
    assert trace.state.h_i.dense().tolist() == [E.tolist(), D1.tolist()]
    assert ca2fl().h(trace.state).tolist() == ((E + D1) / 2).tolist()


@pytest.mark.parametrize(
    ("options", "first", "second"),
    [
        ({}, lambda D: D, lambda D, E: D / 2 + E - D),
        ({"cache": "immediate"}, lambda D: D / 2, lambda D, E: D / 2 + (E - D) / 2),
        ({"h_norm": "seen"}, lambda D: D, lambda D, E: D + E - D),
        ({"server_lr": 0.5}, lambda D: D / 2, lambda D, E: (D / 2 + E - D) / 2),
    ],
)
def test_a_client_twice_in_a_buffer(options: dict[str, Any], first: Any, second: Any) -> None:
    """M = 2, client 0 alone: two arrivals of Delta D from version 0, two of E from version 1.

    deferred: v1 = (D + D)/2, v2 = h + (E - D + E - D)/2;   immediate: v1 = (D + D - D)/2, v2 = h + (E - D + E - E)/2
    h = D/2 over all N = 2, D over the one seen
    """
    trace = run(ca2fl(buffer_size=2, **options), two_clients(), 2, seconds=(1, 50))
    x1 = X0 + first(D0)
    assert trace.x[1].tolist() == x1.tolist()
    assert trace.x[2].tolist() == (x1 + second(D0, delta_0(x1))).tolist()


def test_constant_deltas_average_out_for_any_arrivals() -> None:
    """Clients that always send D_i: once all have reported, v = mean D_i whoever arrives. FedBuff's
    step would depend on it."""
    algorithm, D = ca2fl(server_lr=1.0), np.array([[1.0, 0], [2, -4], [0, 8], [5, 0]])
    state, tools = serve(algorithm, clients=4, x0=np.zeros(2))
    algorithm.step(state, arrivals([0, 1, 2, 3], delta=D), tools)
    for clients in ([2], [1, 1, 1], [3, 0], [0, 0, 2]):
        before = state.x
        algorithm.step(state, arrivals(clients, delta=D[clients]), tools)
        assert (state.x - before).tolist() == [2, 1]


@pytest.mark.parametrize("cache", ["deferred", "immediate"])
def test_h_stays_the_mean_of_the_caches(cache: Any) -> None:
    problem = many_clients(6, 3, seed=13)
    algorithm = ca2fl(buffer_size=2, cache=cache)
    for updates in range(1, 10):
        state = run(algorithm, problem, updates, seconds=(1, 2, 3, 4, 5, 6), x0=np.ones(3)).state
        assert algorithm.h(state) == pytest.approx(state.h_i.dense().mean(axis=0), rel=1e-14)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(UsageError, match="ca2fl: h_norm must be one of 'all', 'seen', got 'some'"):
        ca2fl(h_norm="some")
