"""Claims on FedaGrac with full calibration: its orders in M, Kbar and T, and the noise of its
reference with unequal local steps.

With one Hessian and equal steps the corrections nu - nu_i cancel in the mean over the clients, so
the server's model has exactly the moments of rounds of all clients. This gives every point of a
sweep an exact value, and the point must lie within 5 % of it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np

from fedbench.algorithms.fedagrac import FedaGrac
from fedbench.proof.theory.bed import Clients, Measured, late, near_optimum, play, problem
from fedbench.proof.theory.exact import Moments, Step, Update, moments
from fedbench.proof.theory.moments import Point
from fedbench.proof.theory.orders import ALLOWED, DIM, GAP, both, doubled, sweep
from fedbench.proof.theory.rows import Row, claim, exact, slope

UPDATES = 200
MANY = 24  # seeds for means over the last half of a run, where few steps are independent
STRONG = 0.2  # the strong convexity mu of the problems
SETS = ([8, 8, 8, 8], [6, 6, 10, 10], [4, 4, 12, 12], [2, 2, 14, 14], [1, 1, 15, 15])
"""The local steps of four clients. Their mean Kbar is 8 in each."""


def run(variant: str, steps: list[int], rate: float, T: int, seed: int) -> Measured:
    on = problem(clients=len(steps), dim=DIM)
    algorithm = FedaGrac.make({"sampling": "all", "calibration_rate": 1.0, "variant": variant, "local_lr": rate})
    return play(algorithm, on, T, Clients(steps=steps), seed=seed, start=near_optimum(on, GAP))


def known(clients: int, steps: int, rate: float, T: int, sigma: float = 1.0) -> Moments:
    """Returns the exact moments of rounds of all clients."""
    on = problem(clients=clients, dim=DIM, sigma=sigma)
    everybody = np.arange(clients)
    schedule = [Update(everybody, np.full(clients, t), np.full(clients, 1 / clients)) for t in range(T)]
    return moments(on, schedule, near_optimum(on, GAP), Step(rate, steps))


def decaying(Kbar: int, T: int) -> float:
    """Returns a local rate of order ln T / (mu T Kbar)."""
    return 2 * math.log(T) / (STRONG * T * Kbar)


@claim(
    "fedagrac-orders",
    "Wu et al. 2021, Corollary 2.1",
    "Fully calibrated, |grad F|^2 of FedaGrac falls as 1 / sqrt(M T Kbar).",
)
def nonconvex() -> Iterator[Row]:
    """Measures |grad F|^2 at a local rate of order sqrt(M / (T Kbar))."""

    @functools.cache  # sweeps meet
    def measure(M: int, K: int, T: int, seed: int) -> Point:
        rate = 0.5 * math.sqrt(M / (T * K))
        return run("avg", [K] * M, rate, T, seed).mean_square_gradient, float(known(M, K, rate, T).squares.mean())

    sizes, lengths = [2, 4, 8, 16], doubled(UPDATES)
    yield from both("against M", sizes, sweep(measure, [(M, 2, 2 * UPDATES) for M in sizes]), -0.5)
    yield from both("against Kbar", sizes, sweep(measure, [(4, K, 2 * UPDATES) for K in sizes]), -0.5)
    yield from both("against T", lengths, sweep(measure, [(4, 2, T) for T in lengths]), -0.5)


@claim(
    "fedagrac-convex-orders",
    "Wu et al. 2021, Corollary 3.1",
    "Fully calibrated and strongly convex, the error of FedaGrac falls as 1 / (M T Kbar).",
)
def convex() -> Iterator[Row]:
    """Measures the mean of F(x) - F* over the last half of a run, divided by ln T, which the
    theorem's order hides."""

    @functools.cache  # sweeps meet
    def measure(M: int, K: int, T: int, seed: int) -> Point:
        rate = decaying(K, T)
        return late(run("avg", [K] * M, rate, T, seed).gaps) / math.log(T), late(known(M, K, rate, T).gaps) / math.log(T)

    sizes, lengths = [2, 4, 8], [UPDATES // 2, UPDATES, 2 * UPDATES]
    yield from both("error against M", sizes, sweep(measure, [(M, 2, UPDATES) for M in sizes], MANY), -1.0)
    yield from both("error against Kbar", sizes, sweep(measure, [(4, K, UPDATES) for K in sizes], MANY), -1.0)
    yield from both("error against T", lengths, sweep(measure, [(4, 2, T) for T in lengths], MANY), -1.0)


@claim(
    "fedagrac-reference-noise",
    "Wu et al. 2021, Theorem 3, its constant H",
    "With unequal local steps the error grows by the factor Kbar mean(1/K_i), which the order hides.",
)
def reference_noise() -> Iterator[Row]:
    """Measures the error with unequal K_i, for four clients with w_i = 1/4.

    The orders of the theorems hide the factor Kbar mean(1/K_i), which is 1 with equal K_i. It is
    the noise of nu, divided by that of a client who does Kbar steps. By default fast clients send
    their first gradient, which is as noisy as if they did one step.
    """

    def error(variant: str, which: int, seed: int) -> float:
        return late(run(variant, SETS[which], decaying(8, UPDATES), UPDATES, seed).gaps)

    spread = [float(np.mean(K) * np.mean(1 / np.array(K))) for K in SETS]
    found = np.array([[error("avg", which, seed) for which in range(len(SETS))] for seed in range(MANY)])
    yield slope("avg: error against Kbar mean(1/K_i), exponent", spread, found, 1.0, ALLOWED)
    least = late(known(4, 8, decaying(8, UPDATES), UPDATES).gaps)
    yield exact("avg, equal K_i: error over its exact value", found[:, 0], least)
    yield exact(
        "avg: all errors over Kbar mean(1/K_i) times that value", (found / (least * np.array(spread))).mean(axis=1), 1.0, 0.1
    )
    grown = [error("default", len(SETS) - 1, seed) for seed in range(MANY)]
    yield exact("default, K_i = 1, 1, 15, 15: error over 8 times that of equal K_i", np.array(grown) / 8, least, 0.25)


@claim(
    "fedagrac-unequal-orders",
    "Wu et al. 2021, Corollary 2.1",
    "With unequal local steps |grad F|^2 of fully calibrated FedaGrac falls as 1 / sqrt(M T). It falls with Kbar only if the fast "
    "send their mean gradients.",
)
def unequal() -> Iterator[Row]:
    """Measures |grad F|^2 where half of the clients do Kbar / 2 steps and the others 3 Kbar / 2, at
    the same rates as with equal steps.

    What a client's own noise adds in a round is taken back in the next one, by its nu_i. That of nu
    remains, which is Kbar mean(1/K_i) times as large as with equal steps, where K_i are the steps
    behind v_i. By default they are 1 for the fast, so the factor grows with Kbar.
    """

    @functools.cache  # sweeps meet
    def measure(variant: str, M: int, Kbar: int, T: int, seed: int) -> Point:
        rate, slow, fast = 0.5 * math.sqrt(M / (T * Kbar)), Kbar // 2, 3 * Kbar // 2
        behind = 1 if variant == "default" else fast
        sigma = math.sqrt(Kbar * (1 / slow + 1 / behind) / 2)
        found = run(variant, [slow, fast] * (M // 2), rate, T, seed).mean_square_gradient
        return found, float(known(M, Kbar, rate, T, sigma).squares.mean())

    several, sizes, lengths = [2, 4, 8], [2, 4, 8, 16], doubled(UPDATES)
    for variant in ("default", "avg"):
        swept = {
            "M": (several, sweep(measure, [(variant, M, 4, 2 * UPDATES) for M in several])),
            "T": (lengths, sweep(measure, [(variant, 4, 4, T) for T in lengths])),
            "Kbar": (sizes, sweep(measure, [(variant, 4, Kbar, 2 * UPDATES) for Kbar in sizes])),
        }
        for name, (at, (found, predicted)) in swept.items():
            grows = name == "Kbar" and variant == "default"
            expected = np.polyfit(np.log(at), np.log(predicted[0]), 1)[0] if grows else -0.5
            yield slope(f"{variant}: against {name}, exponent", at, found, float(expected), ALLOWED)
        ratios = np.concatenate([found / predicted for _, (found, predicted) in swept.values()], axis=1)
        yield exact(f"{variant}: all points over what the noise of nu gives", ratios.mean(axis=1), 1.0, 0.1)
