"""AsySG by hand (problem of by_hand.py): g_0(x0) = (2, 8), g_1(x0) = (8, 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.asysg import AsySG
from tests.algorithms.by_hand import X0, many_clients, run, two_clients

G0, G1 = np.array([2.0, 8.0]), np.array([8.0, 2.0])


def asysg(**options: Any) -> AsySG:
    return AsySG(**({"server_lr": 0.25, "cohort_size": 2} | options))


@pytest.mark.parametrize(("mode", "gamma"), [("mean", 0.125), ("sum", 0.25)])
def test_stale_gradients(mode: Any, gamma: float) -> None:
    """n = 2; 1 s and 2.5 s: g_0(x0) twice, at 1 and 2 s; then g_1(x0) at 2.5 s (tau = 1) and
    g_0(x1) at 3 s.

    Only one step is done, although the scenario has two.
    """
    trace = run(asysg(mode=mode), two_clients(), 2, seconds=(1, 2.5), steps=2)
    assert trace.seconds == [2.0, 3.0]
    assert trace.consumed() == [(0, 0), (0, 0), (1, 0), (0, 1)]
    assert trace.chunk is not None
    assert set(trace.chunk.steps.tolist()) == {1}
    x1 = X0 - gamma * 2 * G0
    assert trace.x[1].tolist() == x1.tolist()
    assert trace.x[2].tolist() == (x1 - gamma * (G1 + np.array([x1[0] - 1, 2 * x1[1]]))).tolist()


def test_a_client_pulls_again_itself_and_pays_for_the_way() -> None:
    """Cycle 1 s of computing and 1/4 s up: client 1 alone never takes client 0's place."""
    trace = run(asysg(cohort_size=1), two_clients(), 4, seconds=(1, 100), upload=0.25)
    assert trace.seconds == [1.25, 2.5, 3.75, 5.0]
    assert trace.consumed() == [(0, base) for base in range(4)]


def test_equal_speeds_and_n_of_all_are_synchronous_gradient_descent() -> None:
    problem, x = many_clients(4, 2, seed=20), X0
    trace = run(asysg(cohort_size=4), problem, 20)
    for got in trace.x[1:]:
        x = x - 0.25 * np.mean([A @ (x - c) for A, c in zip(problem.A, problem.c, strict=True)], axis=0)
        assert got == pytest.approx(x, rel=1e-13)


def test_the_local_rate_means_nothing() -> None:
    a, b = (run(asysg(local_lr=rate), two_clients(), 3).x[-1].tolist() for rate in (0.1, 10.0))
    assert a == b


def test_weight_decay_is_part_of_the_gradient() -> None:
    """g + x/2 at x0 = (3, 4): (7/2, 10)."""
    trace = run(asysg(cohort_size=1, weight_decay=0.5), two_clients(), 1, seconds=(1, 2))
    assert trace.x[1].tolist() == [3 - 7 / 8, 4 - 10 / 4]
