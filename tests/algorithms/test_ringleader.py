"""Ringleader by hand (problem of by_hand.py), its tables, its rounds and where it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.ringleader import Ringleader
from fedbench.types import Info, Turns
from tests.algorithms.by_hand import D0, D1, X0, arrivals, delta_0, delta_1, many_clients, run, serve, two_clients


def ringleader(**options: Any) -> Ringleader:
    return Ringleader(**({"local_lr": 0.25, "server_lr": 1.0} | options))


@pytest.mark.parametrize("resend", ["turn", "newest"])
def test_clients_have_turns(resend: Any) -> None:
    assert Ringleader().dispatch(Info(7, np.ones(7))) == Turns()
    assert Ringleader(resend=resend).dispatch(Info(7, np.ones(7))) == Turns(resend=resend)


def test_two_rounds_by_hand() -> None:
    """1 s and 2.5 s. The first update has client 0's two results and client 1's, the second client
    0's third, all at x0. In the next round client 0's results are at x2, of its turn, and client
    1's is at x1."""
    trace = run(ringleader(), two_clients(), 4, seconds=(1, 2.5))
    assert trace.consumed() == [(0, 0), (0, 0), (1, 0), (0, 0), (0, 2), (0, 2), (1, 1), (0, 2)]
    assert trace.seconds == [2.5, 3, 5, 6]
    x1 = X0 + (D0 + D1) / 2
    x2 = x1 + (D0 + D1) / 2
    E = (delta_0(x2) + delta_1(x1)) / 2
    assert np.stack(trace.x) == pytest.approx(np.stack([X0, x1, x2, x2 + E, x2 + 2 * E]), rel=1e-15)


def test_newest_starts_from_where_the_server_is() -> None:
    """Three clients; client 0 has its turn first, and starts from version 3 where it would have
    gone on with version 2."""
    bases = {}
    for resend in ("turn", "newest"):
        trace = run(ringleader(resend=resend), many_clients(3, 2, seed=1), 4, seconds=(1, 1.75, 4))
        bases[resend] = trace.consumed()[-5:]
    assert bases["newest"] == [(0, 2), (0, 3), (1, 3), (0, 3), (2, 1)]
    assert bases["turn"] == [(0, 2), (0, 2), (1, 3), (0, 2), (2, 1)]


def test_every_result_enters_the_mean_of_its_client() -> None:
    """Deltas that differ: (8, 0) and (0, 16) have the mean (4, 8), with (16, -5) the mean (8,
    11/3). The second update counts the means of the first again, the third, of a new round, counts
    none of them."""
    algorithm = ringleader()
    state, tools = serve(algorithm, clients=2, x0=np.zeros(2))
    for version, (clients, delta, v) in enumerate([
        ([0, 0, 1], [[8.0, 0], [0, 16], [4, 4]], [4, 6]),
        ([0], [[16.0, -5]], [6, 23 / 6]),
        ([1, 0], [[2.0, 0], [0, 2]], [1, 1]),
    ]):  # fmt: skip
        before = state.x
        algorithm.step(state, arrivals(clients, version=version, delta=delta), tools)
        assert state.x - before == pytest.approx(np.array(v), rel=1e-14)
    assert (state.mean_i.dense().tolist(), state.b_i.tolist()) == ([[0, 2], [2, 0]], [1, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_update_is_the_mean_over_clients_of_their_means(dtype: Any) -> None:
    random, clients = np.random.default_rng(2), np.array([3, 1, 1, 0, 3, 1, 2])
    algorithm, delta = ringleader(server_lr=0.5), random.standard_normal((7, 5)).astype(dtype)
    state, tools = serve(algorithm, clients=4, x0=np.zeros(5, dtype))
    algorithm.step(state, arrivals(clients.tolist(), delta=delta), tools)
    means = [delta[clients == client].mean(axis=0, dtype=np.float64) for client in range(4)]
    assert state.x.dtype == dtype
    assert state.x == pytest.approx(0.5 * np.mean(means, axis=0), rel=10 * float(np.finfo(dtype).eps), abs=1e-7)


@pytest.mark.parametrize("clients", [2, 4])
def test_the_rate_is_one_over_the_clients(clients: int) -> None:
    algorithm = Ringleader()
    state, tools = serve(algorithm, clients=clients, x0=np.zeros(2))
    algorithm.step(state, arrivals(list(range(clients)), delta=[[16.0, -32]] * clients), tools)
    assert state.x.tolist() == [16 / clients, -32 / clients]


def test_a_model_that_waited_to_the_end_is_warned_of() -> None:
    algorithm = Ringleader()
    state, tools = serve(algorithm, clients=2, x0=np.zeros(2))
    said = "ringleader: the model is still x0, since not every client reported; the first update waits for all of them"
    assert algorithm.warnings(state) == [said]
    algorithm.step(state, arrivals([0, 1], delta=[[1.0, 2], [3, 4]]), tools)
    assert algorithm.warnings(state) == []


def test_buffers_weigh_clients_alike() -> None:
    weights = Ringleader().entry_weights(arrivals([2, 0, 2, 2, 2]), Info(5, np.ones(5)))
    assert weights.tolist() == [1 / 8, 1 / 2, 1 / 8, 1 / 8, 1 / 8]


@pytest.mark.parametrize("steps", [(1, 1, 1, 1), (1, 2, 3, 6)])
@pytest.mark.parametrize("resend", ["turn", "newest"])
def test_it_ends_where_all_clients_count_alike(steps: tuple[int, ...], resend: Any) -> None:
    """(sum B_i)^-1 sum B_i c_i, B_i = I - (I - local_lr A_i)^K_i, although client 0 arrives eight
    times as often as client 3; with one step that is the optimum."""
    on, rate = many_clients(4, 3, seed=4), 0.1
    algorithm = Ringleader(local_lr=rate, resend=resend)
    x = run(algorithm, on, 1500, seconds=(1.0, 2.03, 4.09, 8.21), steps=steps, x0=np.ones(3)).x[-1]
    B = [np.eye(3) - np.linalg.matrix_power(np.eye(3) - rate * A, K) for A, K in zip(on.A, steps, strict=True)]
    limit = np.linalg.solve(np.sum(B, axis=0), np.einsum("ijk,ik->j", B, on.c))
    assert x == pytest.approx(limit, rel=1e-8)
    if steps == (1, 1, 1, 1):
        assert x == pytest.approx(np.linalg.solve(on.A.sum(axis=0), np.einsum("ijk,ik->j", on.A, on.c)), rel=1e-8)
