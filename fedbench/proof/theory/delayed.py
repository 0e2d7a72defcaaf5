"""A claim on what delay costs FedBuff where noise moves the model.

On a quadratic problem a coordinate with the eigenvalue a follows x^(t+1) = x^t - b x^(t-tau) - e^t, where
b is about a / sqrt(T) at the rates of the theorem. Noise keeps up E x^2 = V / (2 b) (1 + b tau + ..),
so delay adds a^2 V tau / 2 to |grad F|^2, and V falls as 1 / T. The start makes the opposite sign:
on the way to the optimum delay acts like momentum. So these runs start at the optimum.

Delay enters as b tau alone, so tau comes with 1 / T, and tau^2 with 1 / T^(3/2). No such problem
can have the tau^2 / T of the bound, for which jobs must push the same way throughout a delay.
Clients do so if they arrive sorted by their optima. Then tau^2 is there, and as much of it without
delay.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from fedbench.algorithms.fedbuff import FedBuff
from fedbench.proof.theory.bed import Clients, Noisy, problem
from fedbench.proof.theory.exact import Step, Update, moments, restarting
from fedbench.proof.theory.moments import Point, point
from fedbench.proof.theory.orders import ALLOWED, DIM, nearly_alike
from fedbench.proof.theory.rates import BUFFERED
from fedbench.proof.theory.rows import Row, claim, exact, slope, value

STEPS, LENGTHS, DELAYS = 2, [1600, 3200, 6400], [2, 4, 8, 16]
CYCLES = [8, 16, 32]
"""The numbers of clients that arrive sorted."""
QUIET = 1e-9
MANY = 24  # seeds, since few updates of a run are independent


def step_of(T: int) -> Step:
    """Returns the step of a run of T updates at the theorem's rate."""
    return Step(1 / (STEPS * math.sqrt(T)), STEPS)


def prompt(schedule: list[Update]) -> list[Update]:
    """Returns the same arrivals, all of which start from the newest version."""
    return [Update(clients, np.full(len(clients), t), shares) for t, (clients, _, shares) in enumerate(schedule)]


def opposed(clients: int) -> Noisy:
    """Returns a problem of which half of the clients have one optimum and half the opposite one, in
    this order, and gradients nearly without noise."""
    side = np.where(np.arange(clients) < clients / 2, 1.0, -1.0)
    on = problem(clients=clients, dim=DIM, heterogeneity=0.0, sigma=QUIET)
    return dataclasses.replace(on, c=np.outer(side, np.ones(DIM)) / math.sqrt(DIM))


def known(on: Noisy, T: int, *, delayed: bool = True) -> float:
    """Returns the exact mean of |grad F|^2 of clients that arrive in turns, from the optimum on."""
    schedule = restarting(nearly_alike(on.clients), 1, T)
    return float(moments(on, schedule if delayed else prompt(schedule), on.optimum, step_of(T)).squares.mean())


def measured(tau: int, T: int, seed: int) -> Point:
    """Returns a run of tau + 1 clients that are alike, and its exact value."""
    on, seconds, step = problem(clients=tau + 1, dim=DIM, heterogeneity=0.0), nearly_alike(tau + 1), step_of(T)
    algorithm = FedBuff(buffer_size=1, restart="self", local_lr=step.rate)
    clients = Clients(steps=STEPS, seconds=seconds)
    return point(algorithm, on, clients, restarting(seconds, 1, T), on.optimum, step, seed)


@claim(
    "fedbuff-delay-noise",
    BUFFERED,
    "Where noise moves the model, delay raises |grad F|^2 of FedBuff: what it adds falls as 1 / T, as printed, and grows as tau.",
)
def fedbuff_delay_noise() -> Iterator[Row]:
    """Measures delay from the optimum on. `change` is the exact mean of |grad F|^2 with delay less that without,
    and runs with and without delay are compared with their exact values."""

    def change(tau: int, T: int) -> float:
        with_delay, without = (known(problem(clients=n, dim=DIM, heterogeneity=0.0), T) for n in (tau + 1, 1))
        return with_delay - without

    last = LENGTHS[-1]
    late, stale = [change(8, T) for T in LENGTHS], [change(tau, last) for tau in DELAYS]
    yield slope("with noise, change by tau = 8 against T, exponent", LENGTHS, np.array(late), -1.0, ALLOWED)
    yield slope("with noise, change against tau, exponent", DELAYS, np.array(stale), 1.0, ALLOWED)
    leading = DELAYS[0] * float(np.mean(np.diag(problem(dim=DIM).A[0]) ** 2)) / (2 * STEPS * last)
    yield value(f"with noise, tau = {DELAYS[0]}: change over its leading term", stale[0] / leading, 1.0, 0.05)
    for tau in (0, 16):
        points = np.array([measured(tau, LENGTHS[0], seed) for seed in range(MANY)])
        yield exact(f"with noise, tau = {tau}: |grad F|^2 over its exact value", points[:, 0], points[:, 1])
    pushed = [known(opposed(clients), last) for clients in CYCLES]
    yield slope("sorted arrivals: |grad F|^2 against tau + 1, exponent", CYCLES, np.array(pushed), 2.0, 2 * ALLOWED)
    alike = pushed[0] / known(opposed(CYCLES[0]), last, delayed=False)
    yield value(
        f"sorted arrivals, tau = {CYCLES[0] - 1}: |grad F|^2 over that of the same arrivals without delay", alike, 1.0, 0.05
    )
