"""FedDyn by hand (problem of by_hand.py), its invariants, and its fixed point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.feddyn import FedDyn
from fedbench.errors import UsageError
from fedbench.types import Rounds
from tests.algorithms.by_hand import many_clients, quadratic, run, two_clients


def feddyn(**options: Any) -> FedDyn:
    return FedDyn(**({"local_lr": 0.25, "sampling": "all", "regularization": 1.0} | options))


def test_two_rounds() -> None:
    """Round 1, l_i = 0, is FedProx's with prox 1: y_0 = (9/4, 3/2), y_1 = (1/2, 13/4).

        l_0 = (3/4, 5/2), l_1 = (5/2, 3/4), h = (13/8, 13/8), x1 = (11/8, 19/8) - h = (-1/4, 3/4)

    Round 2:
        client 0: g - l_0 = (-2, -1) -> (1/4, 1);   g - l_0 + (y - x) = (-1, -1/4) -> (1/2, 17/16);   l_0 = (0, 35/16)
        client 1: g - l_1 = (-1, -2) -> (0, 5/4);   g - l_1 + (y - x) = (-1/4, -1) -> (1/16, 3/2);    l_1 = (35/16, 0)
        h = (35/32, 35/32), x2 = (9/32, 41/32) - h
    """
    first, second = (run(feddyn(), two_clients(), updates) for updates in (1, 2))
    assert first.x[1].tolist() == [-1 / 4, 3 / 4]
    assert first.state.h.tolist() == [13 / 8, 13 / 8]
    assert first.state.memory.dense().tolist() == [[3 / 4, 5 / 2], [5 / 2, 3 / 4]]
    assert second.x[2].tolist() == [-13 / 16, 3 / 16]
    assert second.state.h.tolist() == [35 / 32, 35 / 32]
    assert second.state.memory.dense().tolist() == [[0, 35 / 16], [35 / 16, 0]]


def test_partial_participation() -> None:
    """Only client 1: h takes 1/N of its change, x is its model less h / a; client 0 keeps 0."""
    trace = run(feddyn(), two_clients(), 1, dispatch=Rounds(select="scripted", selections=((1,),)))
    assert trace.state.h.tolist() == [5 / 4, 3 / 8]
    assert trace.x[1].tolist() == [1 / 2 - 5 / 4, 13 / 4 - 3 / 8]
    assert trace.state.memory.dense().tolist() == [[0, 0], [5 / 2, 3 / 4]]


def test_h_stays_the_mean_of_the_l_i() -> None:
    problem = many_clients(6, 3, seed=8)
    for updates in range(1, 12):
        state = run(feddyn(sampling="without_replacement", cohort_size=2), problem, updates, x0=np.ones(3)).state
        assert state.h == pytest.approx(state.memory.dense().mean(axis=0), rel=1e-12, abs=1e-13)


def test_exact_local_minimisation() -> None:
    """Many local steps: l_i = grad F_i(y_i) after each run, and y_i solves grad F_i(y) - l_i + a (y
    - x) = 0 with the old l_i."""
    problem, x0 = many_clients(3, 2, seed=13), np.array([2.0, -1.0])
    y = [np.linalg.solve(A + np.eye(2), A @ c + x0) for A, c in zip(problem.A, problem.c, strict=True)]
    trace = run(feddyn(), problem, 1, steps=150, x0=x0)
    for i in range(3):
        assert trace.state.memory[i] == pytest.approx(problem.gradient(i, y[i]), rel=1e-12)
    assert trace.x[1] == pytest.approx(np.mean(y, axis=0) - trace.state.h, rel=1e-12)


@pytest.mark.parametrize("regularization", [0.5, 2.0])
def test_the_fixed_point_is_the_minimiser_of_the_mean(regularization: float) -> None:
    """h = 0 and sum grad F_i = 0 there, with finitely many local steps too."""
    raw = many_clients(4, 3, seed=9)
    problem = quadratic(raw.A, raw.c, [1, 1, 1, 1])
    trace = run(feddyn(regularization=regularization), problem, 400, steps=(1, 2, 5, 3), x0=np.ones(3))
    assert trace.x[-1] == pytest.approx(problem.minimiser(), abs=1e-10)
    assert trace.state.h == pytest.approx(np.zeros(3), abs=1e-10)
    assert trace.state.memory.dense() == pytest.approx(np.stack([problem.gradient(i, trace.x[-1]) for i in range(4)]), abs=1e-9)


def test_one_client_is_the_proximal_point_method_with_extrapolation() -> None:
    """N = 1, exact minimisation: y = argmin F - <l, .> + a/2 |. - x|^2, l = a (..), x+ = y - l / a; it ends at x*."""
    problem, x, steps = many_clients(1, 2, seed=14), np.array([2.0, -1.0]), 150
    A, c, linear = problem.A[0], problem.c[0], np.zeros(2)
    for got in run(feddyn(), problem, 6, steps=steps, x0=x).x[1:]:
        y = np.linalg.solve(A + np.eye(2), A @ c + linear + x)
        linear = linear - (y - x)
        x = y - linear
        assert got == pytest.approx(x, rel=1e-10)


def test_regularization_zero_is_refused() -> None:
    with pytest.raises(UsageError, match="feddyn: regularization must be a number > 0, got 0"):
        feddyn(regularization=0)
