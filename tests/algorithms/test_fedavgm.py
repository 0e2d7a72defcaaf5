"""FedAvgM by hand (problem of by_hand.py), against the recursion, and its limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedavg import FedAvg
from fedbench.algorithms.fedavgm import FedAvgM
from fedbench.errors import UsageError
from fedbench.types import Info, Rounds, ServerMemory
from tests.algorithms.by_hand import D0, D1, X0, Array, arrivals, delta_1, many_clients, run, serve, two_clients

ROUNDS = Rounds(select="scripted", selections=((0, 1), (1,)))


def fedavgm(**options: Any) -> FedAvgM:
    return FedAvgM(**({"local_lr": 0.25, "server_momentum": 0.5, "server_lr": 2.0} | options))


@pytest.mark.parametrize("nesterov", [False, True])
def test_two_rounds_by_hand(nesterov: bool) -> None:
    """Of both clients and of client 1, beta = 1/2, rate 2: v = D = (D0 + D1) / 2 and then E + D/2.
    Nesterov adds half of the new v to the round's own progress."""
    trace = run(fedavgm(nesterov=nesterov), two_clients(), 2, dispatch=ROUNDS)
    D = (D0 + D1) / 2
    x1 = X0 + 2 * (D + D / 2 if nesterov else D)
    E = delta_1(x1)
    v = E + D / 2
    x2 = x1 + 2 * (E + v / 2 if nesterov else v)
    assert [x.tolist() for x in trace.x[1:]] == [x1.tolist(), x2.tolist()]
    assert trace.state.v.tolist() == v.tolist()


def test_weights_of_a_round() -> None:
    """n = (1, 3): by examples 1/4 and 3/4 of a round, as FedAvg."""
    for weights, D in (("uniform", (D0 + D1) / 2), ("examples", D0 / 4 + 3 / 4 * D1)):
        trace = run(fedavgm(weights=weights, server_lr=1), two_clients(), 1, dispatch=ROUNDS)
        assert trace.x[1].tolist() == (X0 + D).tolist()


@pytest.mark.parametrize("nesterov", [False, True])
def test_recursion(nesterov: bool) -> None:
    """Written with the rate inside, as u = rate v, and with differences of models."""
    problem, x, u = many_clients(4, 3, seed=15), np.array([2.0, -1.0, 0.5]), np.zeros(3)
    trace = run(fedavgm(server_momentum=0.8, server_lr=0.3, nesterov=nesterov, sampling="all"), problem, 15, x0=x)
    for got in trace.x[1:]:
        D = run(FedAvg(local_lr=0.25, sampling="all"), problem, 1, x0=x).x[1] - x
        u = 0.8 * u + 0.3 * D
        x = x + (0.3 * D + 0.8 * u if nesterov else u)
        assert got == pytest.approx(x, rel=1e-12)


def test_the_sum_is_not_damped() -> None:
    """While D = (8, -16) stays, v goes to D / (1 - beta) = 2 D."""
    algorithm = fedavgm(server_lr=1.0)
    state, tools = serve(algorithm, clients=2, x0=np.zeros(2))
    steps: list[Array] = []
    for version in range(60):
        before = state.x
        algorithm.step(state, arrivals([0, 1], version=version, delta=[[8.0, -16.0]] * 2), tools)
        steps.append(state.x - before)
    assert [step.tolist() for step in steps[:3]] == [[8, -16], [12, -24], [14, -28]]
    assert steps[-1] == pytest.approx([16, -32], rel=1e-14)


def test_rounds_of_a_cohort_or_of_all() -> None:
    info = Info(30, np.ones(30))
    assert FedAvgM(cohort_size=3).dispatch(info) == Rounds(select="without_replacement", cohort_size=3)
    assert FedAvgM(sampling="all").dispatch(info).select == "all"
    assert FedAvgM().server_memory(info) == ServerMemory(own=2)


def test_the_initial_model_is_not_written() -> None:
    x0 = X0.copy()
    run(fedavgm(), two_clients(), 2, x0=x0, dispatch=ROUNDS)
    assert np.array_equal(x0, X0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"server_momentum": 1}, "server_momentum must be a number >= 0 and < 1, got 1"),
        ({"server_lr": 0}, "server_lr must be a number > 0, got 0"),
        ({"weights": "p"}, "weights must be one of 'uniform', 'examples', got 'p'"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=f"fedavgm: {words}"):
        fedavgm(**options)
