"""Where synchronous algorithms end, in closed form, on plans of the real scheduler."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbench import registry


def test_scaffold_finds_the_optimum_where_fedavg_does_not(world: Any) -> None:
    """Unequal local steps: FedAvg's fixed point is biased, SCAFFOLD's is x* (uniform weights)."""
    w = world(updates=1500, dtype="float64")
    optimum = np.linalg.solve(w.problem.A.sum(0), np.einsum("ijk,ik->j", w.problem.A, w.problem.c))
    scaffold = w.run(registry.algorithm("scaffold[sampling=all,local_lr=0.1]")).state.x
    fedavg = w.run(registry.algorithm("fedavg[sampling=all,local_lr=0.1]")).state.x
    assert np.linalg.norm(scaffold - optimum) < 1e-8
    assert np.linalg.norm(fedavg - optimum) > 1e-3


def test_fedavg_ends_at_its_closed_form(world: Any) -> None:
    """x = (sum B_i)^-1 sum B_i c_i, B_i = I - (I - lr A_i)^K_i."""
    w = world(updates=1500, dtype="float64")
    eye = np.eye(6)
    B = [eye - np.linalg.matrix_power(eye - 0.1 * A, i % 3 + 1) for i, A in enumerate(w.problem.A)]
    fixed = np.linalg.solve(sum(B), sum(b @ c for b, c in zip(B, w.problem.c, strict=True)))
    x = w.run(registry.algorithm("fedavg[sampling=all,local_lr=0.1]")).state.x
    assert np.linalg.norm(x - fixed) < 1e-10
