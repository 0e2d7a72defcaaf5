"""FedProx by hand (problem of by_hand.py) and its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedprox import FedProx
from fedbench.errors import UsageError
from fedbench.types import Rounds
from tests.algorithms.by_hand import X0, many_clients, run, two_clients


def fedprox(**options: Any) -> FedProx:
    return FedProx(**({"local_lr": 0.25, "sampling": "all", "prox": 1.0} | options))


# With prox = 1 the first local step is FedAvg's; the second sees prox (y_1 - x0).
#   client 0: (3, 4) -> (5/2, 2);   g = (3/2, 4), e = (-1/2, -2)  ->  (5/2 - 1/4, 2 - 1/2)  = (9/4, 3/2)
#   client 1: (3, 4) -> (1, 7/2);   g = (4, 3/2), e = (-2, -1/2)  ->  (1 - 1/2, 7/2 - 1/4)  = (1/2, 13/4)
# l1_squared with prox = 1/8: |y_1 - x0|_1 = 5/2 for both, both coordinates have fallen, e = 2/8 5/2 (-1, -1) = (-5/8, -5/8)
#   client 0: (5/2 - (3/2 - 5/8)/4, 2 - (4 - 5/8)/4)  = (73/32, 37/32)
#   client 1: (1 - (4 - 5/8)/4, 7/2 - (3/2 - 5/8)/4)  = (5/32, 105/32)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (11 / 8, 19 / 8)),
        ({"server_lr": 0.5}, (35 / 16, 51 / 16)),
        ({"weights": "p"}, (15 / 16, 45 / 16)),  # n = 1, 3: 1/4 (9/4, 3/2) + 3/4 (1/2, 13/4)
        ({"weights": "examples"}, (15 / 16, 45 / 16)),
        ({"prox": 0.125, "prox_form": "l1_squared"}, (39 / 32, 71 / 32)),
    ],
)
def test_one_round(options: dict[str, Any], expected: tuple[float, float]) -> None:
    assert run(fedprox(**options), two_clients(), 1).x[1].tolist() == list(expected)


def test_a_coordinate_that_has_not_moved_is_not_pulled() -> None:
    """sign(0) = 0: client 0 starts at its minimiser in the second coordinate and stays there."""
    start = np.array([3.0, 0.0])
    only = Rounds(select="scripted", selections=((0,),))
    trace = run(fedprox(prox_form="l1_squared"), two_clients(), 1, x0=start, dispatch=only)
    assert trace.x[1].tolist() == [5 / 2 - (3 / 2 - 2 * 1 / 2) / 4, 0]


@pytest.mark.parametrize("prox_form", ["l2", "l1_squared"])
def test_a_single_step_knows_no_pull(prox_form: Any) -> None:
    problem, x0 = many_clients(4, 3, seed=11), np.ones(3)
    pulled, free = (run(fedprox(prox=p, prox_form=prox_form), problem, 6, steps=1, x0=x0) for p in (3.0, 0.0))
    assert np.array_equal(pulled.x, free.x)


def test_many_steps_solve_the_proximal_problem() -> None:
    """K to infinity: Delta_i = -(A_i + prox I)^-1 grad F_i(x)."""
    problem = many_clients(1, 3, seed=12)
    x0 = np.array([1.0, -2.0, 0.5])
    trace = run(fedprox(prox=2.0), problem, 1, steps=100, x0=x0)
    exact = -np.linalg.solve(problem.A[0] + 2 * np.eye(3), problem.A[0] @ (x0 - problem.c[0]))
    assert trace.x[1] - x0 == pytest.approx(exact, rel=1e-12)


def test_refusals() -> None:
    with pytest.raises(UsageError, match="fedprox: prox must be a number >= 0, got -1"):
        fedprox(prox=-1)
    with pytest.raises(UsageError, match="fedprox: prox_form must be one of 'l2', 'l1_squared', got 'l1'"):
        fedprox(prox_form="l1")
    with pytest.raises(UsageError, match="every one of the 2 clients exactly once"):
        run(fedprox(weights="p"), two_clients(), 1, dispatch=Rounds(select="scripted", selections=((1,),)), x0=X0)
