"""MIFA by hand (problem of by_hand.py), its two starts and averages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.mifa import MIFA
from fedbench.types import Rounds
from tests.algorithms.by_hand import D0, D1, X0, arrivals, delta_0, delta_1, run, serve, two_clients


def mifa(**options: Any) -> MIFA:
    return MIFA(**({"local_lr": 0.25, "start": "warm"} | options))


def rounds(*selections: tuple[int, ...]) -> Rounds:
    return Rounds(select="scripted", selections=selections)


def test_an_absent_client_counts_with_its_last_update() -> None:
    """Both, then client 0 alone: G_0 = -4 Delta_0, G_1 = -4 Delta_1; x2 = x1 + 1/2 (Delta_0(x1) + Delta_1(x0))."""
    trace = run(mifa(), two_clients(), 2, dispatch=rounds((0, 1), (0,)))
    x1 = X0 + (D0 + D1) / 2
    assert trace.x[1].tolist() == x1.tolist() == [17 / 16, 33 / 16]
    assert trace.x[2].tolist() == (x1 + (delta_0(x1) + D1) / 2).tolist()
    assert trace.state.G_i.dense().tolist() == [(-4 * delta_0(x1)).tolist(), (-4 * D1).tolist()]


@pytest.mark.parametrize(
    ("options", "first", "second"),
    [
        ({}, lambda x: D0 / 2, lambda x: (D0 + delta_1(x)) / 2),
        ({"average": "nonempty"}, lambda x: D0, lambda x: (D0 + delta_1(x)) / 2),
        ({"start": "wait_all"}, lambda x: 0 * D0, lambda x: (D0 + D1) / 2),
        ({"start": "wait_all", "average": "nonempty"}, lambda x: 0 * D0, lambda x: (D0 + D1) / 2),
        ({"server_lr": 0.5}, lambda x: D0 / 4, lambda x: (D0 + delta_1(x)) / 4),
    ],
)
def test_before_everybody_has_reported(options: dict[str, Any], first: Any, second: Any) -> None:
    """Client 0 alone, then client 1 alone. warm counts G_1 = 0; wait_all stands still, so that G_1
    too is of x0."""
    trace = run(mifa(**options), two_clients(), 2, dispatch=rounds((0,), (1,)))
    x1 = X0 + first(X0)
    assert trace.x[1].tolist() == x1.tolist()
    assert trace.x[2].tolist() == (x1 + second(x1)).tolist()


def test_constant_updates_give_one_direction_for_any_round() -> None:
    algorithm, G = mifa(server_lr=4.0), np.array([[1.0, 0], [2, -4], [0, 8], [5, 0]])
    state, tools = serve(algorithm, clients=4, x0=np.zeros(2))
    algorithm.step(state, arrivals([0, 1, 2, 3], G=G), tools)
    for clients in ([2], [3, 0], [1, 2, 3]):
        before = state.x
        algorithm.step(state, arrivals(clients, G=G[clients]), tools)
        assert (state.x - before).tolist() == [-2, -1]


def test_the_default_starts_with_a_round_of_everybody() -> None:
    """Both clients, at the end of the slower one; with client 1 away in the first round the model
    waits."""
    trace = run(MIFA(local_lr=0.25), two_clients(), 1, seconds=(1, 2.5))
    assert (trace.seconds, trace.consumed()) == ([2.5], [(0, 0), (1, 0)])
    assert trace.x[1].tolist() == (X0 + (D0 + D1) / 2).tolist()
    alone = run(MIFA(local_lr=0.25), two_clients(), 2, dispatch=rounds((0,), (1,)))
    assert alone.x[1].tolist() == X0.tolist()
    assert alone.x[2].tolist() == (X0 + (D0 + D1) / 2).tolist()


def test_rounds_of_whoever_is_there() -> None:
    assert run(mifa(), two_clients(), 2).consumed() == [(0, 0), (1, 0), (0, 1), (1, 1)]
    drawn = run(mifa(sampling="without_replacement", cohort_size=1), two_clients(), 8).consumed()
    assert [base for _, base in drawn] == list(range(8))
    assert {client for client, _ in drawn} == {0, 1}


@pytest.mark.parametrize(("start", "selections", "warned"), [("wait_all", 1, True), ("wait_all", 2, False), ("warm", 1, False)])
def test_a_model_that_never_moved_is_reported(start: str, selections: int, warned: bool) -> None:
    algorithm = mifa(start=start)
    trace = run(algorithm, two_clients(), selections, dispatch=rounds((0,), (1,)))
    said = "mifa: the model is still x0, since 1 of 2 clients never reported; see start, sampling"
    assert algorithm.warnings(trace.state) == ([said] if warned else [])
