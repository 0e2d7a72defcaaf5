"""The quadratic problems, and what is measured of a run."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench import registry
from fedbench.proof.theory.bed import (
    EXAMPLES,
    Clients,
    late,
    near_optimum,
    play,
    problem,
    start_of,
    with_public_data,
)
from fedbench.proof.theory.moments import planned
from fedbench.proof.theory.rates import staleness_of


def test_the_noise_is_what_the_theorems_assume() -> None:
    on = problem(sigma=0.7)
    assert on.noise.mean(axis=0) == pytest.approx(np.zeros(on.dim), abs=1e-15)
    assert (on.noise**2).sum(axis=1).mean() == pytest.approx(0.49, rel=1e-12)
    x = np.ones(on.dim)
    pure = on.gradient(3, x)
    assert on.gradient(3, x, np.array([7])) - pure == pytest.approx(on.noise[7], abs=1e-12)
    assert on.gradient(3, x, np.arange(EXAMPLES)) == pytest.approx(pure, abs=1e-12)
    assert on.largest >= float(pure @ pure)
    gradients = np.stack([on.gradient(client, on.minimiser()) for client in range(on.clients)])
    assert np.linalg.norm(gradients, axis=1).min() > 0.01
    assert on.weights @ gradients == pytest.approx(np.zeros(on.dim), abs=1e-12)


def test_what_is_measured_of_a_run() -> None:
    """One client, exact gradients and one step a round: x^t - x* = (I - rate A)^t (x^0 - x*)."""
    on, T = problem(clients=1), 6
    measured = play(registry.algorithm("fedavg[sampling=all,local_lr=0.3]"), on, T, Clients(), noise=False)
    a, away = np.diag(on.A[0]), start_of(on) - on.minimiser()
    path = [(1 - 0.3 * a) ** t * away for t in range(T + 1)]
    assert measured.x == pytest.approx(on.minimiser() + path[-1], rel=1e-12)
    assert measured.mean_square_gradient == pytest.approx(np.mean([((a * x) ** 2).sum() for x in path[:-1]]), rel=1e-12)
    assert late(measured.gaps) == pytest.approx(np.mean([0.5 * (a * x * x).sum() for x in path[3:-1]]), rel=1e-12)
    assert late(measured.distances) == pytest.approx(np.mean([(x * x).sum() for x in path[3:-1]]), rel=1e-12)
    assert measured.gaps[0] == pytest.approx(on.loss_at(start_of(on)) - on.loss_at(on.minimiser()), rel=1e-12)


def test_a_run_that_diverges_has_no_numbers() -> None:
    on = problem(clients=2, dim=2)
    measured = play(registry.algorithm("fedavg[sampling=all,local_lr=1e30]"), on, 20, Clients())
    assert np.isnan(measured.x).all()
    assert np.isnan([measured.mean_square_gradient, late(measured.gaps), late(measured.distances)]).all()


def test_the_start_has_the_gap_that_was_asked_for() -> None:
    on = problem(clients=5, spread=0.3)
    start = near_optimum(on, 0.25)
    assert on.loss_at(start) - on.loss_at(on.optimum) == pytest.approx(0.25, rel=1e-9)


def test_public_logits_are_linear_in_the_model() -> None:
    on = with_public_data(problem(), rows=4, classes=3)
    x, dlogits = np.arange(1.0, 11.0), np.arange(12.0).reshape(4, 3)
    assert on.logits(x, on.public)[2, 1] == pytest.approx(on.public[2, 10:20] @ x)
    assert on.pullback(on.public, dlogits) @ x == pytest.approx((dlogits * on.logits(x, on.public)).sum())


def test_staleness_is_known_from_the_plan() -> None:
    on = problem()
    clients = Clients(steps=5, seconds=np.linspace(1.0, 1.5, on.clients))
    assert staleness_of(planned(registry.algorithm("fedavg[cohort_size=4]"), on, clients, 20, 0)) == 0
    assert staleness_of(planned(registry.algorithm("fedbuff[buffer_size=4]"), on, clients, 50, 0)) > 5
