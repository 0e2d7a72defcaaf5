"""Claims on the orders of FedAvg and FedAsync, with which Toghani and Uribe compare FedBuff in
table I. They are measured as in `orders`.

An update of FedAsync moves x by its mixing weight alpha towards the end of a job that started tau
versions ago. So it also moves x back towards the model of that time, and a steady path is 1 + alpha
tau times as slow as without delay.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np

from fedbench.algorithms.fedasync import FedAsync
from fedbench.algorithms.fedavg import FedAvg
from fedbench.proof.theory.bed import near_optimum, play, problem
from fedbench.proof.theory.exact import Step, sampled
from fedbench.proof.theory.moments import Point, planned, point
from fedbench.proof.theory.orders import ALLOWED, DIM, GAP, UPDATES, both, doubled, in_turns, sweep
from fedbench.proof.theory.rates import speeds
from fedbench.proof.theory.rows import Row, claim, slope, value

SYNCHRONOUS = "Toghani and Uribe 2022, table I (Yu et al. 2019; Wang et al. 2020)"
MIXED = "Toghani and Uribe 2022, table I (Xie et al. 2019)"
STEPS, MIXING, RATE, FEW_SEEDS = 2, 0.6, 0.1, 4

Rates = Callable[[int], Step]
"""Gives the step of a run of T updates, whose rates depend on T."""


def constant_mixing(T: int) -> Step:
    """Returns a step whose local rate falls with T, as that of FedBuff does."""
    return Step(1 / (STEPS * math.sqrt(T)), STEPS, MIXING, mixes=True)


def falling_mixing(T: int) -> Step:
    """Returns a step whose mixing weight falls with T, while the local rate does not."""
    return Step(RATE, STEPS, 2 / math.sqrt(T), mixes=True)


def mixed(step: Step, concurrency: int | None = None) -> FedAsync:
    """Returns FedAsync that makes this step, whatever the staleness."""
    return FedAsync(mixing=step.server, prox=0.0, staleness="constant", concurrency=concurrency, local_lr=step.rate)


@claim(
    "fedavg-orders",
    SYNCHRONOUS,
    "At the local rate 1 / (Q sqrt(T)) |grad F|^2 of FedAvg falls as 1 / sqrt(T), whatever the number of local steps.",
)
def fedavg() -> Iterator[Row]:
    """Measures FedAvg with rounds that draw 4 of 12 clients. The exact values are means over all
    draws."""

    @functools.cache  # sweeps meet
    def measure(steps: int, T: int, seed: int) -> Point:
        on, step = problem(clients=12, dim=DIM), Step(1 / (steps * math.sqrt(T)), steps)
        start, algorithm = near_optimum(on, GAP), FedAvg(cohort_size=4, local_lr=step.rate)
        measured = play(algorithm, on, T, speeds(on, 1.73, steps), seed=seed, start=start).mean_square_gradient
        return measured, float(sampled(on, T, start, step, 4, replacement=False).squares.mean())

    runs, lengths = [1, 2, 4, 8], doubled(UPDATES // 2)
    yield from both("against Q", runs, sweep(measure, [(Q, UPDATES // 2) for Q in runs]), 0.0)
    yield from both("against T", lengths, sweep(measure, [(2, T) for T in lengths]), -0.5)


@claim(
    "fedasync-orders",
    MIXED,
    "|grad F|^2 of FedAsync falls as 1 / sqrt(T), whether its local rate falls as 1 / sqrt(T) or its mixing weight.",
)
def fedasync() -> Iterator[Row]:
    """Measures FedAsync with 4 of 12 clients at a time, of which the slowest is 1.73 times as slow
    as the fastest."""

    def measure(rates: Rates, T: int, seed: int) -> Point:
        on, step = problem(clients=12, dim=DIM), rates(T)
        clients, algorithm = speeds(on, 1.73, STEPS), mixed(step, concurrency=4)
        schedule = planned(algorithm, on, clients, T, seed)
        return point(algorithm, on, clients, schedule, near_optimum(on, GAP), step, seed)

    lengths = doubled(2 * UPDATES)
    for name, rates in (("constant", constant_mixing), ("falling", falling_mixing)):
        found = sweep(measure, [(rates, T) for T in lengths], FEW_SEEDS)
        yield from both(f"{name} mixing, against T", lengths, found, -0.5)


@claim(
    "fedasync-delay",
    MIXED,
    "Delay enters FedAsync's term in 1 / T alone if the mixing weight falls; if that is constant, it multiplies the leading term.",
)
def fedasync_delay() -> Iterator[Row]:
    """Measures delay without noise and with clients that are alike. `change` is by how much the mean of
    |grad F|^2 with delay exceeds that without, and `slowdown` is the one over the other."""

    @functools.cache
    def mean_square(rates: Rates, tau: int, T: int) -> Point:
        return in_turns(mixed(rates(T)), rates(T), tau, T)

    def change(rates: Rates, tau: int, T: int) -> float:
        return mean_square(rates, tau, T)[0] - mean_square(rates, 0, T)[0]

    lengths, delays = [1600, 3200, 6400], [2, 4, 8]
    last = lengths[-1]
    for name, rates, order in (("falling", falling_mixing, -1.0), ("constant", constant_mixing, -0.5)):
        late = np.array([change(rates, 4, T) for T in lengths])
        stale = np.array([change(rates, tau, last) for tau in delays])
        yield slope(f"{name} mixing, change by tau = 4 against T, exponent", lengths, late, order, ALLOWED)
        yield slope(f"{name} mixing, change against tau, exponent", delays, stale, 1.0, ALLOWED)
    for tau in delays:
        slowdown = mean_square(constant_mixing, tau, last)[0] / mean_square(constant_mixing, 0, last)[0]
        yield value(f"constant mixing, tau = {tau}: slowdown over 1 + mixing tau", slowdown / (1 + MIXING * tau), 1.0, 0.02)
    found = [mean_square(rates, tau, last) for rates in (falling_mixing, constant_mixing) for tau in delays]
    yield value("largest distance from the exact values, relative", max(abs(m / known - 1) for m, known in found), 0.0, 1e-6)
