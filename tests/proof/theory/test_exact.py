"""The exact moments against recursions by hand, and the schedules against the engine's plans."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fedbench import registry
from fedbench.proof.theory.bed import Clients, Noisy, problem
from fedbench.proof.theory.exact import Step, Update, broadcasting, moments, restarting, sampled
from fedbench.proof.theory.moments import planned


def one_dimension(clients: int = 3, a: float = 0.5) -> Noisy:
    on = problem(clients=clients, dim=1)
    return Noisy(on.examples, on.weights, 1, np.full((clients, 1, 1), a), on.c, on.noise)


def test_one_client_and_no_delay() -> None:
    """x^(t+1) - x* = (1 - s b)(x^t - x*) - s e, so the variance is (1 - s b)^2 times that before,
    plus s^2 V."""
    on, step, T = one_dimension(1), Step(rate=0.2, steps=3, server=0.7), 5
    b, V = step.pull(np.array([0.5]))[0], step.noise(np.array([0.5]), on.noise)[0]
    rounds = [Update(np.array([0]), np.array([t]), np.array([1.0])) for t in range(T)]
    found = moments(on, rounds, on.optimum + 2.0, step)
    variance = 0.0
    for t in range(T):
        assert found.mean[t, 0] == pytest.approx(2 * (1 - 0.7 * b) ** t)
        assert found.variance[t, 0] == pytest.approx(variance)
        variance = (1 - 0.7 * b) ** 2 * variance + 0.49 * V
    assert found.distances[2] == pytest.approx(found.mean[2, 0] ** 2 + found.variance[2, 0])
    assert found.squares[2] == pytest.approx(0.25 * found.distances[2])
    assert found.gaps[2] == pytest.approx(0.25 * found.distances[2])


def test_a_model_that_is_two_versions_old() -> None:
    """x^1 = x^0 - s b x^0 - s e_0 and so on, written as combinations of the independent noises e_0
    .. e_3."""
    on, step, bases = one_dimension(1), Step(rate=0.2, steps=2), [0, 0, 0, 1]
    b, V = step.pull(np.array([0.5]))[0], step.noise(np.array([0.5]), on.noise)[0]
    coefficients = [np.zeros(4)]
    for t, base in enumerate(bases):
        coefficients.append(coefficients[-1] - b * coefficients[base] - np.eye(4)[t])
    rounds = [Update(np.array([0]), np.array([base]), np.array([1.0])) for base in [*bases, 4]]
    found = moments(on, rounds, on.optimum, step)
    assert found.variance[:, 0] == pytest.approx([V * float(row @ row) for row in coefficients])


def test_a_server_that_mixes() -> None:
    """x^(t+1) - x* = (1 - s)(x^t - x*) + s ((1 - b)(x^base - x*) + b (c_i - x*) - e_t)."""
    on, step = one_dimension(), Step(rate=0.2, steps=2, server=0.6, mixes=True)
    bases, who = [0, 0, 1, 1], [2, 0, 1, 2]
    b, V = step.pull(np.array([0.5]))[0], step.noise(np.array([0.5]), on.noise)[0]
    means, coefficients = [2.0], [np.zeros(4)]
    for t, (base, client) in enumerate(zip(bases, who, strict=True)):
        c = float((on.c[client] - on.optimum)[0])
        means.append(0.4 * means[-1] + 0.6 * ((1 - b) * means[base] + b * c))
        coefficients.append(0.4 * coefficients[-1] + 0.6 * ((1 - b) * coefficients[base] - np.eye(4)[t]))
    rounds = [Update(np.array([i]), np.array([t]), np.array([1.0])) for i, t in zip([*who, 0], [*bases, 4], strict=True)]
    found = moments(on, rounds, on.optimum + 2.0, step)
    assert found.mean[:, 0] == pytest.approx(means)
    assert found.variance[:, 0] == pytest.approx([V * float(row @ row) for row in coefficients])


def test_the_noise_of_a_job_by_trials() -> None:
    on, step = problem(dim=3), Step(rate=0.3, steps=4)
    a, random = np.array([0.2, 0.6, 1.0]), np.random.default_rng(0)
    drawn = on.noise[:8, :3] - on.noise[:8, :3].mean(axis=0)
    ends = []
    for order in random.permuted(np.tile(np.arange(8), (20_000, 1)), axis=1)[:, :4]:
        y = np.zeros(3)
        for row in order:
            y = y - step.rate * (a * y + drawn[row])
        ends.append(y)
    assert np.var(ends, axis=0) == pytest.approx(step.noise(a, drawn), rel=0.05)


@pytest.mark.parametrize("replacement", [False, True])
def test_drawn_cohorts_against_all_of_them(replacement: bool) -> None:
    """One round of two clients of three, enumerated."""
    on, step = one_dimension(), Step(rate=0.2, steps=2, server=0.7)
    b, V = step.pull(np.array([0.5]))[0], step.noise(np.array([0.5]), on.noise)[0]
    cohorts = list(itertools.product(range(3), repeat=2)) if replacement else list(itertools.permutations(range(3), 2))
    start = on.optimum + 1.0
    ends = np.array([start - 0.7 * b * (start - on.c[list(cohort)].mean(axis=0)) for cohort in cohorts])
    noise = np.mean([V if first == second else V / 2 for first, second in cohorts])
    found = sampled(on, 2, start, step, 2, replacement=replacement)
    assert found.mean[1] == pytest.approx(ends.mean(axis=0) - on.optimum)
    assert found.variance[1, 0] == pytest.approx(ends.var() + 0.49 * noise)


@pytest.mark.parametrize("seconds", [np.linspace(1.0, 2.37, 9), np.ones(9), np.array([1.0] * 3 + [2.0] * 3 + [5.5] * 3)])
@pytest.mark.parametrize("buffer", [1, 4])
def test_schedules_without_the_scheduler_are_its_plans(seconds: np.ndarray, buffer: int) -> None:
    on, clients = problem(clients=9), Clients(seconds=seconds)
    for selector, schedule in (
        (f"fedbuff[buffer_size={buffer},restart=self]", restarting),
        (f"defedavg_iid[cohort_size={buffer}]", broadcasting),
    ):
        plan = planned(registry.algorithm(selector), on, clients, 60, 0)
        for ours, theirs in zip(schedule(seconds, buffer, 60), plan, strict=True):
            assert sorted(zip(ours.clients, ours.bases, strict=True)) == sorted(zip(theirs.clients, theirs.bases, strict=True))
            assert ours.shares == pytest.approx(theirs.shares)


def test_different_hessians_are_refused() -> None:
    on = problem(clients=3, spread=0.5)
    with pytest.raises(ValueError, match="one diagonal Hessian"):
        sampled(on, 3, on.optimum, Step(0.1, 1), 2, replacement=True)
