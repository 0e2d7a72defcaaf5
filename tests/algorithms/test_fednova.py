"""FedNova by hand (problem of by_hand.py), its normalisation, and its fixed point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fednova import FedNova
from fedbench.errors import UsageError
from fedbench.types import Rounds
from tests.algorithms.by_hand import D1, X0, many_clients, run, two_clients

ONE0 = np.array([-1 / 2, -2])  # Delta_0 after one step


def fednova(**options: Any) -> FedNova:
    return FedNova(**({"local_lr": 0.25, "sampling": "all", "weights": "p_normalised"} | options))


# K = (1, 2): Delta_0 / 1 = ONE0, Delta_1 / 2 = D1 / 2. q = p = (1/4, 3/4), tau_eff = 1/4 + 3/2 =
# 7/4.
@pytest.mark.parametrize(
    ("options", "tau", "q"),
    [
        ({}, 7 / 4, (1 / 4, 3 / 4)),
        ({"weights": "p"}, 7 / 4, (1 / 4, 3 / 4)),
        ({"weights": "uniform"}, 3 / 2, (1 / 2, 1 / 2)),
        ({"tau_eff": "min"}, 1, (1 / 4, 3 / 4)),
        ({"tau_eff": "max"}, 2, (1 / 4, 3 / 4)),
        ({"tau_eff": 4}, 4, (1 / 4, 3 / 4)),
        ({"server_lr": 0.5, "tau_eff": 8.0}, 4, (1 / 4, 3 / 4)),
    ],
)
def test_one_round(options: dict[str, Any], tau: float, q: tuple[float, float]) -> None:
    trace = run(fednova(**options), two_clients(), 1, steps=(1, 2))
    assert trace.x[1].tolist() == (X0 + tau * q[0] * ONE0 + tau * q[1] * D1 / 2).tolist()


def test_numbers_of_the_default() -> None:
    """7/16 (-1/2, -2) + 21/32 (-3, -7/8) = (-35/16, -371/256)."""
    assert run(fednova(), two_clients(), 1, steps=(1, 2)).x[1].tolist() == [13 / 16, 653 / 256]


def test_partial_participation_renormalises() -> None:
    only = Rounds(select="scripted", selections=((1,),))
    assert run(fednova(), two_clients(), 1, dispatch=only).x[1].tolist() == (X0 + D1).tolist()
    with pytest.raises(UsageError, match="every one of the 2 clients exactly once"):
        run(fednova(weights="p"), two_clients(), 1, dispatch=only)


@pytest.mark.parametrize("steps", [1, 2, 7])
@pytest.mark.parametrize(("momentum", "prox"), [(0.0, 0.0), (0.5, 0.0), (0.0, 0.8), (0.9, 3.0)])
def test_weights_of_the_gradients(momentum: float, prox: float, steps: int) -> None:
    """|a|_1 against the recursion of the run itself with unit gradients, one at a time, and the closed forms of the paper."""
    lr = 0.25
    a = np.zeros(steps)
    for k in range(steps):
        y = u = 0.0
        for step in range(steps):
            u = momentum * u + (step == k)
            y -= lr * (u + prox * y)
        a[k] = -y / lr
    got = fednova(momentum=momentum, prox=prox).gradient_weight(steps)
    assert got == pytest.approx(a.sum(), rel=1e-14)
    if prox == 0:
        assert got == pytest.approx((steps - momentum * (1 - momentum**steps) / (1 - momentum)) / (1 - momentum), rel=1e-14)
    elif momentum == 0:
        assert got == pytest.approx((1 - (1 - lr * prox) ** steps) / (lr * prox), rel=1e-14)


def test_one_round_with_momentum() -> None:
    """momentum 1/2, |a|_1 = (1, 5/2), tau_eff = 1/4 + 15/8 = 17/8.

    Client 1: g = (8, 2) -> (1, 7/2);  u = (4, 1) + (4, 3/2) -> (-1, 23/8);  Delta_1 = (-4, -9/8).
    """
    trace = run(fednova(momentum=0.5), two_clients(), 1, steps=(1, 2))
    assert trace.x[1] == pytest.approx(X0 + 17 / 8 * (ONE0 / 4 + 3 / 4 * np.array([-4, -9 / 8]) / (5 / 2)), rel=1e-15)


def test_a_job_without_a_step_adds_nothing() -> None:
    trace = run(fednova(tau_eff=2), two_clients(), 1, steps=(0, 2))
    assert trace.x[1].tolist() == (X0 + 3 / 4 * D1).tolist()


@pytest.mark.parametrize("local_lr", [0.25, 0.01])
def test_fixed_point_on_quadratics(local_lr: float) -> None:
    """[sum p_i B_i / K_i]^-1 sum p_i (B_i / K_i) c_i: towards x* as local_lr goes to 0, but not
    x*."""
    problem, steps = many_clients(4, 3, seed=2), (1, 2, 5, 3)
    trace = run(fednova(local_lr=local_lr, server_lr=0.5 / local_lr / 4), problem, 150, steps=steps, x0=np.zeros(3))
    B = [(np.eye(3) - np.linalg.matrix_power(np.eye(3) - local_lr * A, K)) / K for A, K in zip(problem.A, steps, strict=True)]
    left = sum(p * b for p, b in zip(problem.weights, B, strict=True))
    right = sum(p * b @ c for p, b, c in zip(problem.weights, B, problem.c, strict=True))
    assert trace.x[-1] == pytest.approx(np.linalg.solve(left, right), rel=1e-10)
    away = np.abs(trace.x[-1] - problem.minimiser()).max()
    assert 1e-5 < away < local_lr


def test_refusals() -> None:
    with pytest.raises(UsageError, match=r"fednova: optimizer must be 'sgd', .* got 'adamw'"):
        fednova(optimizer="adamw")
    with pytest.raises(UsageError, match=r"fednova: local_lr \* prox must be <= 1, got 0.25 \* 5"):
        fednova(prox=5)
    with pytest.raises(UsageError, match="tau_eff must be one of 'mean', 'min', 'max' or a number > 0, got 0"):
        fednova(tau_eff=0)
