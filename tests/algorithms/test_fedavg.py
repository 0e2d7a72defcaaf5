"""FedAvg by hand (numbers of by_hand.py), its limits, and its fixed point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedavg import FedAvg
from fedbench.errors import UsageError
from fedbench.types import Rounds
from tests.algorithms.by_hand import D0, D1, X0, many_clients, run, two_clients


def fedavg(**options: Any) -> FedAvg:
    return FedAvg(**({"local_lr": 0.25, "sampling": "all"} | options))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (17 / 16, 33 / 16)),  # the mean of (17/8, 1) and (0, 25/8)
        ({"server_lr": 2.0}, (3 - 31 / 8, 4 - 31 / 8)),  # x0 + Delta_0 + Delta_1
        ({"weights": "examples"}, (17 / 32, 83 / 32)),  # n = 1, 3: 1/4 (17/8, 1) + 3/4 (0, 25/8)
        ({"weights": "p"}, (17 / 32, 83 / 32)),
        ({"weights": "p_normalised"}, (17 / 32, 83 / 32)),
        ({"weights": "unbiased"}, (17 / 32, 83 / 32)),  # N p_i / |S| = p_i when all take part
    ],
)
def test_one_round(options: dict[str, Any], expected: tuple[float, float]) -> None:
    trace = run(fedavg(**options), two_clients(), 1)
    assert trace.x[1].tolist() == list(expected)


def test_two_rounds() -> None:
    """From (17/16, 33/16): client 0 (9/16 z1 + 7/16, z2/4) = (265/256, 33/64), client 1 (z1/4 -
    3/4, 9/16 z2 + 7/8) = (-31/64, 521/256)."""
    trace = run(fedavg(), two_clients(), 2)
    assert trace.x[2].tolist() == [(265 / 256 - 31 / 64) / 2, (33 / 64 + 521 / 256) / 2]


def test_multiplicities_count() -> None:
    """Client 1 drawn three times of four runs once and counts three times: 1/4 Delta_0 + 3/4
    Delta_1."""
    drawn = Rounds(select="scripted", selections=((1, 0, 1, 1),))
    trace = run(fedavg(), two_clients(), 1, dispatch=drawn)
    assert trace.x[1].tolist() == (X0 + D0 / 4 + 3 * D1 / 4).tolist()
    assert trace.consumed() == [(0, 0), (1, 0), (1, 0), (1, 0)]


def test_unbiased_under_partial_participation() -> None:
    """|S| = 1, client 1: N p_1 / |S| = 2 * 3/4."""
    trace = run(fedavg(weights="unbiased"), two_clients(), 1, dispatch=Rounds(select="scripted", selections=((1,),)))
    assert trace.x[1].tolist() == (X0 + 1.5 * D1).tolist()


def test_sampling_by_weight_is_unbiased_with_uniform_weights() -> None:
    """Client i drawn with probability p_i, 400 times: a share of about p_1 = 3/4 of the draws (4
    standard deviations: 0.09)."""
    trace = run(fedavg(sampling="weighted", cohort_size=4, local_lr=1e-6), two_clients(), 100)
    clients = [client for client, _ in trace.consumed()]
    assert len(clients) == 400
    assert abs(np.mean(clients) - 3 / 4) < 0.09


@pytest.mark.parametrize("weights", ["uniform", "examples", "p_normalised", "unbiased"])
def test_the_weights_of_a_cohort(weights: Any) -> None:
    """Client 1 is there three times; unbiased weights are N p_i / |S|, whose sum is not 1."""
    seen = []

    class Spy(FedAvg):
        def step(self, state: Any, batch: Any, tools: Any) -> None:
            seen.append(self.entry_weights(batch, tools.info))

    run(Spy(weights=weights), two_clients(), 1, dispatch=Rounds(select="scripted", selections=((1, 0, 1, 1),)))
    expected = {"uniform": [1 / 4] * 4, "unbiased": [1 / 8, 3 / 8, 3 / 8, 3 / 8]}.get(weights, [0.1, 0.3, 0.3, 0.3])
    assert seen[0] == pytest.approx(expected, rel=1e-15)


def test_p_is_refused_under_partial_participation() -> None:
    with pytest.raises(UsageError, match="every one of the 2 clients exactly once"):
        run(fedavg(weights="p"), two_clients(), 1, dispatch=Rounds(select="scripted", selections=((1,),)))


def test_one_step_of_everybody_is_gradient_descent() -> None:
    """K = 1, weights p: x - server_lr local_lr sum p_i A_i (x - c_i)."""
    problem, x0 = many_clients(5, 3, seed=1), np.array([1.0, -2.0, 0.5])
    trace = run(fedavg(weights="p", server_lr=0.5), problem, 20, steps=1, x0=x0)
    x = x0
    for got in trace.x[1:]:
        x = x - 0.125 * sum(p * A @ (x - c) for p, A, c in zip(problem.weights, problem.A, problem.c, strict=True))
        assert got == pytest.approx(x, rel=1e-13)


@pytest.mark.parametrize("server_lr", [0.5, 1.0])
def test_fixed_point_on_quadratics(server_lr: float) -> None:
    """[sum p_i B_i]^-1 sum p_i B_i c_i with B_i = I - (I - local_lr A_i)^K_i, for every server_lr;
    it is not the minimiser."""
    problem, steps = many_clients(4, 3, seed=2), (1, 2, 5, 3)
    trace = run(fedavg(weights="p", server_lr=server_lr), problem, 150, steps=steps, x0=np.zeros(3))
    B = [np.eye(3) - np.linalg.matrix_power(np.eye(3) - 0.25 * A, K) for A, K in zip(problem.A, steps, strict=True)]
    left = sum(p * b for p, b in zip(problem.weights, B, strict=True))
    right = sum(p * b @ c for p, b, c in zip(problem.weights, B, problem.c, strict=True))
    assert trace.x[-1] == pytest.approx(np.linalg.solve(left, right), rel=1e-10)
    assert np.abs(trace.x[-1] - problem.minimiser()).max() > 1e-3
