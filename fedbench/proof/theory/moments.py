"""Claims that runs of the engine have the exact mean and variance of the theory.

There are 12 clients with one Hessian (eigenvalues from 0.2 to 1, 60 dimensions), which do three noisy
steps a job. Their speeds differ, so that models are several versions old. Every row is the mean of
measured / exact over the seeds 0 .. 63, and its 95 % interval must lie within 5 % of 1. Rows on the
first updates measure the way of the mean to the optimum. Rows on the last half of a run measure the
E|x - x*|^2 that noise and the differences of clients keep up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fedbench.algorithms.defedavg_iid import DeFedAvgIID
from fedbench.algorithms.defedavg_niid import DeFedAvgNIID
from fedbench.algorithms.fedavg import FedAvg
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.proof.theory.bed import Clients, Noisy, late, near_optimum, play, problem
from fedbench.proof.theory.exact import Moments, Step, Update, broadcasting, moments, restarting, sampled
from fedbench.proof.theory.rows import Row, claim, exact
from fedbench.protocols import Algorithm
from fedbench.types import Vector

SEEDS, UPDATES, EARLY, K = 64, 150, 8, 3
STEP = Step(rate=0.1, steps=K, server=0.8)

Point = tuple[float, float]
"""A measured value and its exact value."""


def ground() -> Noisy:
    return problem(clients=12, dim=60)


def clients_of(on: Noisy) -> Clients:
    """Returns clients of which the slowest takes 2.37 times as long as the fastest, and no two
    arrive at the same time."""
    return Clients(steps=K, seconds=np.linspace(1.0, 2.37, on.clients))


def planned(algorithm: Algorithm, on: Noisy, clients: Clients, updates: int, seed: int) -> list[Update]:
    """Returns the schedule of the engine's own plan. A job that counts r times of n has the share
    r / n."""
    chunk, schedule = clients.scheduler(algorithm, on, updates, seed).next(), []
    for first, last in zip(chunk.offsets[:-1], chunk.offsets[1:], strict=True):
        jobs, counts = np.unique(chunk.entries[first:last], return_counts=True)
        schedule.append(Update(chunk.client[jobs], chunk.base[jobs], counts / counts.sum()))
    return schedule


def point(
    algorithm: Algorithm, on: Noisy, clients: Clients, schedule: Sequence[Update], start: Vector, step: Step, seed: int
) -> Point:
    """Returns the mean of |grad F|^2 over a run, and its exact value for the run's schedule."""
    measured = play(algorithm, on, len(schedule), clients, seed=seed, start=start).mean_square_gradient
    return measured, float(moments(on, schedule, start, step).squares.mean())


def compared(name: str, algorithm: Algorithm, clients: Clients, expected: Sequence[Moments]) -> Iterator[Row]:
    """Yields the rows that compare runs of an algorithm with the exact moments, which `expected`
    has for every seed."""
    on = ground()
    start = near_optimum(on, 0.5)
    means, projections, distances, levels = [], [], [], []
    for seed, known in enumerate(expected):
        run = play(algorithm, on, UPDATES, clients, seed=seed, start=start)
        early = play(algorithm, on, EARLY, clients, seed=seed, start=start).x - on.optimum
        mean = known.mean[EARLY]
        means.append(float(mean @ mean))
        projections.append(float(early @ mean))
        distances.append(late(run.distances))
        levels.append(late(known.distances))
    yield exact(f"{name}: mean of x after {EARLY} updates, along its exact value", projections, means)
    yield exact(f"{name}: E|x - x*|^2 over the last half of the run", distances, levels)


@claim(
    "fedavg-moments",
    "McMahan et al. 2017, Algorithm 1",
    "Rounds of drawn clients give the exact mean and variance of FedAvg's model, drawn with or without replacement.",
)
def fedavg() -> Iterator[Row]:
    """Compares rounds in which half of the clients take part, so that their draw makes a large part
    of the variance."""
    on = ground()
    start = near_optimum(on, 0.5)
    for sampling, replacement in (("without_replacement", False), ("with_replacement", True)):
        algorithm = FedAvg.make({"cohort_size": 6, "sampling": sampling, "local_lr": STEP.rate, "server_lr": STEP.server})
        known = sampled(on, UPDATES, start, STEP, 6, replacement=replacement)
        yield from compared(sampling.replace("_", " "), algorithm, clients_of(on), [known] * SEEDS)


@claim(
    "fedbuff-moments",
    "Nguyen et al. 2022, Algorithm 1",
    "Buffered aggregation of stale models gives the exact mean and variance of FedBuff's model.",
)
def fedbuff() -> Iterator[Row]:
    on = ground()
    clients = clients_of(on)
    known = moments(on, restarting(np.asarray(clients.seconds), 3, UPDATES), near_optimum(on, 0.5), STEP)
    algorithm = FedBuff(buffer_size=3, restart="self", local_lr=STEP.rate, server_lr=STEP.server)
    yield from compared("FedBuff", algorithm, clients, [known] * SEEDS)


@claim(
    "defedavg-iid-moments",
    "Wang et al. 2024 (DeFedAvg), Algorithm 2",
    "The first arrivals of broadcast models give the exact mean and variance of DeFedAvg-IID's model.",
)
def defedavg_iid() -> Iterator[Row]:
    on = ground()
    clients = clients_of(on)
    known = moments(on, broadcasting(np.asarray(clients.seconds), 3, UPDATES), near_optimum(on, 0.5), STEP)
    algorithm = DeFedAvgIID(cohort_size=3, local_lr=STEP.rate, server_lr=STEP.server)
    yield from compared("DeFedAvg-IID", algorithm, clients, [known] * SEEDS)


@claim(
    "defedavg-niid-moments",
    "Wang et al. 2024 (DeFedAvg), Algorithm 1",
    "Drawn clients that count as often as they are drawn give the exact mean and variance of DeFedAvg-nIID's model.",
)
def defedavg_niid() -> Iterator[Row]:
    """Compares runs with the moments for the clients that were drawn. The claim `uniform-selection`
    checks how they are drawn."""
    on = ground()
    clients, start = clients_of(on), near_optimum(on, 0.5)
    algorithm = DeFedAvgNIID(cohort_size=6, local_lr=STEP.rate, server_lr=STEP.server)

    schedules = [planned(algorithm, on, clients, UPDATES, seed) for seed in range(SEEDS)]
    yield from compared("DeFedAvg-nIID", algorithm, clients, [moments(on, schedule, start, STEP) for schedule in schedules])
