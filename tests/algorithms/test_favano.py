"""FAVANO by hand (problem of by_hand.py), and its two normalisers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.favano import FAVANO
from fedbench.types import Poll
from tests.algorithms.by_hand import D0, X0, arrivals, delta_0, run, serve, two_clients


def favano(**options: Any) -> FAVANO:
    return FAVANO(**({"local_lr": 0.25, "cohort_size": 1} | options))


def test_progress_counts_per_step() -> None:
    """Steps of 1 s and 3 s, at most 2; polls at 2, 4, 6 s of client 0 (2 steps), 1 (its first
    step), 0 (2 steps from version 1).

    x1 = (x0 + u)/2, u = x0 + D0/2;   x2 = (x1 + x0 + (-2, -1/2))/2;   x3 = (x2 + u)/2, u = x1 + Delta_0(x1)/2
    """
    poll = Poll(period_seconds=2.0, max_steps=2, selections=((0,), (1,), (0,)))
    trace = run(favano(), two_clients(), 3, seconds=(1, 3), dispatch=poll)
    assert trace.consumed() == [(0, 0), (1, 0), (0, 1)]
    x1 = X0 + D0 / 4
    x2 = (x1 + X0 + np.array([-2, -1 / 2])) / 2
    x3 = (x2 + x1 + delta_0(x1) / 2) / 2
    assert [x.tolist() for x in trace.x[1:]] == [x1.tolist(), x2.tolist(), x3.tolist()]


def test_without_steps_the_old_bases_are_averaged_in() -> None:
    """s = 2: (x + z_0 + z_1) / 3 with what the clients received last, whatever alpha."""
    for alpha in ("stochastic", "deterministic"):
        algorithm = favano(cohort_size=2, alpha=alpha)
        state, tools = serve(algorithm, clients=2, x0=X0)
        batch = arrivals([0, 1], steps=0, base_x=np.array([[0.0, 2], [6, 3]]), delta=np.zeros((2, 2)))
        algorithm.step(state, batch, tools)
        assert state.x == pytest.approx(np.array([3.0, 3]), rel=1e-15)


@pytest.mark.parametrize(("alpha", "wanted"), [("stochastic", [4, 1, 4 / 3, 1]), ("deterministic", [4, 2, 2, 7 / 4])])
def test_running_means_of_a_clients_polls(alpha: Any, wanted: list[float]) -> None:
    """E = 4, 0, 2, 1. P = 1, 1/2, 2/3, 3/4, and P * E is 4, 0, 4/3, 3/4; E[E] = 4, 2, 2, 7/4; never below 1. Others do not count."""
    algorithm, got = favano(alpha=alpha), []
    state, _ = serve(algorithm, clients=3, x0=X0)
    for steps in (4, 0, 2, 1):
        got.append(algorithm.normalisers(state, arrivals([2], steps=steps))[0])
        algorithm.normalisers(state, arrivals([0, 1], steps=9))
    assert got == wanted


@pytest.mark.parametrize("alpha", ["stochastic", "deterministic"])
def test_a_constant_gradient_moves_a_client_by_the_local_rate(alpha: Any) -> None:
    """E[u - z] = -local_lr G, however many steps the client does: (w - z) = -local_lr G E, divided
    by alpha."""
    algorithm = favano(alpha=alpha)
    state, _ = serve(algorithm, clients=1, x0=X0)
    E = np.random.default_rng(3).choice([0, 0, 2, 3, 7], size=5000)
    moved = [steps / algorithm.normalisers(state, arrivals([0], steps=steps))[0] for steps in E]
    assert np.mean(moved) == pytest.approx(1, abs=0.02)


def test_clients_with_fewer_steps_than_polls_are_named() -> None:
    """Client 0 does 2 steps a poll, client 1 one in five, client 2 one in four, client 3 none in
    four, client 4 is never polled. Client 2's mean is not known yet after four polls."""
    algorithm = favano()
    state, _ = serve(algorithm, clients=5, x0=X0)
    assert algorithm.warnings(state) == []
    for poll in range(5):
        algorithm.normalisers(state, arrivals([0], steps=2))
        algorithm.normalisers(state, arrivals([1], steps=int(poll == 0)))
        if poll < 4:
            algorithm.normalisers(state, arrivals([2], steps=int(poll == 0)))
            algorithm.normalisers(state, arrivals([3], steps=0))
    assert algorithm.warnings(state) == [
        "favano: 1 of 5 clients did fewer than one step a poll in the mean, at least 0.2, and so count for less than the others; see "
        "period_seconds, cohort_size"
    ]


@pytest.mark.parametrize(("period", "warned"), [(2.0, True), (8.0, False)])
def test_a_run_with_such_clients_warns(period: float, warned: bool) -> None:
    """Steps of 1 s and 7 s, every client polled every time: client 1 does a quarter of a step in 2
    s and one in 8 s."""
    algorithm = favano(cohort_size=2, period_seconds=period, max_steps=10)
    trace = run(algorithm, two_clients(), 8, seconds=(1, 7), dispatch=Poll(period_seconds=period, max_steps=10, cohort_size=2))
    assert bool(algorithm.warnings(trace.state)) == warned
