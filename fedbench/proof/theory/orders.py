"""The orders of the theorems: exponents of what was measured in the sizes that they name, with intervals over the seeds."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from fedbench.algorithms.defedavg_iid import DeFedAvgIID
from fedbench.algorithms.fedagrac import FedaGrac
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.algorithms.fedecho import FedEcho
from fedbench.proof.theory import bounds
from fedbench.proof.theory.bed import Clients, Measured, Outcome, play, problem, with_public_data
from fedbench.proof.theory.rates import BUFFERED, IID, setting
from fedbench.proof.theory.rows import Row, near, slope
from fedbench.types import Job, Message, Reply, Vector, Work

CALIBRATED, CONVEX, ECHOED = "[001] Corollary 2.1", "[001] Theorem 3", "[004] Theorem 4.5"
NOISE = "[001] Theorem 3, variance of nu"
ALLOWED = 0.1  # an exponent's distance from the one that is proven: terms of higher order do not vanish
STRONG = 0.2  # mu of the bed
SETS = ([8, 8, 8, 8], [6, 6, 10, 10], [4, 4, 12, 12], [2, 2, 14, 14], [1, 1, 15, 15])
"""Local steps of four clients, Kbar = 8 always."""

Variant = Literal["default", "avg"]
Measure = Callable[..., float]


def table(measure: Measure, settings: Sequence[tuple[int, ...]], seeds: int) -> npt.NDArray[np.float64]:
    """(seeds, settings)."""
    return np.array([[measure(*setting, seed) for setting in settings] for seed in range(seeds)])


def doubled(updates: int) -> list[int]:
    """Lengths of runs around this one."""
    return [updates // 4, updates // 2, updates, 2 * updates]


def all_rows(seeds: int, updates: int) -> Iterator[Row]:
    yield from of_defedavg(seeds, updates)
    for of_algorithm in (of_fedbuff, of_fedagrac, of_fedecho):
        yield from of_algorithm(seeds, updates // 3)


def of_defedavg(seeds: int, updates: int) -> Iterator[Row]:
    """Theorem 2 of [000] at its prescribed rates: linear speedup, so 1 / sqrt(n K T). n clients, all in every update."""

    @functools.cache  # sweeps meet
    def measure(n: int, steps: int, T: int, seed: int) -> float:
        on = problem(clients=n, heterogeneity=0.0)
        s = setting(on, n, T, lam=1, steps=steps)
        el, eg = bounds.defedavg_iid_rates(s)
        if not bounds.defedavg_iid_allows(s, el, eg):
            raise ValueError(f"slopes: n = {n}, K = {steps}, T = {T}: the prescribed rates are not admissible, T must be larger")
        algorithm = DeFedAvgIID(cohort_size=n, server_lr=eg, local_lr=el)
        return play(algorithm, on, T, Clients(steps=steps), seed=seed).measured.mean_square_gradient

    sizes, runs, lengths = [2, 4, 8, 16], [1, 2, 4, 8], doubled(updates)
    by_n, by_K, by_T = [(n, 2, updates) for n in sizes], [(4, steps, updates) for steps in runs], [(4, 2, T) for T in lengths]
    yield slope("DeFedAvg-IID: gradient against n", IID, sizes, table(measure, by_n, seeds), -0.5, ALLOWED)
    yield slope("DeFedAvg-IID: gradient against K", IID, runs, table(measure, by_K, seeds), -0.5, ALLOWED)
    yield slope("DeFedAvg-IID: gradient against T", IID, lengths, table(measure, by_T, seeds), -0.5, ALLOWED)


def of_fedbuff(seeds: int, updates: int) -> Iterator[Row]:
    """[002] Theorem 1 at its rates, 1 / (Q sqrt(L T)) and the mean of the buffer: 1 / sqrt(T) alone, nothing from M and from Q."""

    @functools.cache  # sweeps meet
    def measure(M: int, steps: int, T: int, seed: int) -> float:
        algorithm = FedBuff(buffer_size=M, concurrency=2 * M, local_lr=1 / (steps * math.sqrt(T)))
        return play(algorithm, problem(), T, Clients(steps=steps), seed=seed).measured.mean_square_gradient

    sizes, runs, lengths = [2, 4, 8, 16], [1, 2, 4, 8], doubled(updates)
    by_M, by_Q, by_T = [(M, 2, updates) for M in sizes], [(4, steps, updates) for steps in runs], [(4, 2, T) for T in lengths]
    yield slope("FedBuff: gradient against M, no speedup", BUFFERED, sizes, table(measure, by_M, seeds), 0.0, ALLOWED)
    yield slope("FedBuff: gradient against Q", BUFFERED, runs, table(measure, by_Q, seeds), 0.0, ALLOWED)
    yield slope("FedBuff: gradient against T", BUFFERED, lengths, table(measure, by_T, seeds), -0.5, ALLOWED)


def of_fedagrac(seeds: int, updates: int) -> Iterator[Row]:
    """Fully calibrated, four clients. With w_i = 1/M both theorems hide Kbar mean(1/K_i), the noise of nu over that of a client who
    does Kbar steps: 1 with equal K_i. By default the fast send their first gradient, which is as noisy as if they did one step."""

    def fedagrac(steps: list[int], local_lr: float, T: int, seed: int, variant: Variant = "avg") -> Measured:
        algorithm = FedaGrac(sampling="all", calibration_rate=1.0, variant=variant, local_lr=local_lr)
        return play(algorithm, problem(clients=4), T, Clients(steps=steps), seed=seed).measured

    def gradient(K: int, T: int, seed: int) -> float:
        """At a local rate of order sqrt(M / (T Kbar))."""
        return fedagrac([K] * 4, 1 / math.sqrt(T * K), T, seed).mean_square_gradient

    def decaying(Kbar: int, T: int) -> float:
        """A local rate of order ln T / (mu T Kbar)."""
        return 2 * math.log(T) / (STRONG * T * Kbar)

    def error(K: int, T: int, seed: int) -> float:
        """Without the logarithm, which the theorem hides."""
        return fedagrac([K] * 4, decaying(K, T), T, seed).late_gap / math.log(T)

    def unequal(which: int, seed: int) -> float:
        return fedagrac(SETS[which], decaying(8, updates), updates, seed).late_gap

    def default(seed: int) -> float:
        return fedagrac(SETS[-1], decaying(8, updates), updates, seed, "default").late_gap

    runs, lengths = [1, 2, 4, 8], doubled(updates)
    by_K, by_T = [(K, updates) for K in runs], [(2, T) for T in lengths]
    yield slope("FedaGrac: gradient against Kbar, K_i alike", CALIBRATED, runs, table(gradient, by_K, seeds), -0.5, ALLOWED)
    yield slope("FedaGrac: error against Kbar, K_i alike", CONVEX, runs, table(error, by_K, seeds), -1.0, ALLOWED)
    yield slope("FedaGrac: error against T", CONVEX, lengths, table(error, by_T, seeds), -1.0, ALLOWED)
    spread = [float(np.mean(K) * np.mean(1 / np.array(K))) for K in SETS]
    found = table(unequal, [(which,) for which in range(len(SETS))], seeds)
    yield slope("FedaGrac avg: error against Kbar mean(1/K_i)", NOISE, spread, found, 1.0, ALLOWED)
    growth = float(table(default, [()], seeds).mean() / found[:, 0].mean())
    yield near("FedaGrac default: error with K_i = 1, 1, 15, 15 over K_i = 8", NOISE, growth, 8.0, 2.0, "law")


class RandomTeacher(FedEcho):
    """FedEcho whose clients say of the public data what has nothing to do with their models; the theorem holds for any teacher."""

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        shape = np.shape(work.public_logits)
        return Reply(delta=work.delta, logits=np.random.default_rng(job.client).standard_normal(shape))


def of_fedecho(seeds: int, updates: int) -> Iterator[Row]:
    """[004] Theorem 4.5 at its rates, with a teacher that does not help; steps of distillation are clipped at 0.1."""
    on, K, Q = with_public_data(problem()), 2, 2

    @functools.cache  # sweeps meet
    def echo(M: int, T: int, seed: int, steps: int = Q) -> Outcome:
        s = setting(on, M, T, lam=2, steps=K)
        size = s.sigma2 + K * s.gamma2
        algorithm = RandomTeacher(
            buffer_size=M,
            concurrency=2 * M,
            server_lr=math.sqrt(M),
            local_lr=math.sqrt(s.A0 / (T * K * size)),
            distill_optimizer="sgd",
            distill_lr=s.A0 / (Q * math.sqrt(T**3 * size)),
            distill_steps=steps,
            clip_norm=0.1,
        )
        return play(algorithm, on, T, Clients(steps=K), seed=seed)

    def gradient(M: int, T: int, seed: int) -> float:
        return echo(M, T, seed).measured.mean_square_gradient

    def shift(T: int, seed: int) -> float:
        """How far distillation takes the last model; all else is alike, noise included."""
        return float(np.linalg.norm(echo(4, T, seed).x - echo(4, T, seed, steps=0).x))

    sizes, lengths = [2, 4, 8, 16], doubled(updates)
    by_M, by_T = [(M, updates) for M in sizes], [(4, T) for T in lengths]
    yield slope("FedEcho: gradient against M", ECHOED, sizes, table(gradient, by_M, seeds), -0.5, ALLOWED)
    yield slope("FedEcho: gradient against T", ECHOED, lengths, table(gradient, by_T, seeds), -0.5, ALLOWED)
    yield slope(
        "FedEcho: shift by a random teacher against T",
        ECHOED,
        lengths,
        table(shift, [(T,) for T in lengths], seeds),
        -1.0,
        ALLOWED,
    )
