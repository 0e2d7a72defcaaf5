"""Stochastic runs against the exact bounds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedbench.algorithms.defedavg_iid import DeFedAvgIID
from fedbench.algorithms.defedavg_niid import DeFedAvgNIID
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.proof.theory import bounds
from fedbench.proof.theory.bed import Clients, Noisy, Outcome, largest_staleness, play, problem, start_of
from fedbench.proof.theory.bounds import Setting
from fedbench.proof.theory.rows import Row, bound

NIID, IID, BUFFERED = "[000] Theorem 1", "[000] Theorem 2", "[002] Theorem 1"
K = 5


def setting(on: Noisy, n: int, T: int, lam: int, G2: float = 0.0, steps: int = K) -> Setting:
    """The constants of the bed: L = sigma = 1."""
    x0 = start_of(on)
    optimum = on.minimiser()
    away = np.einsum("ijk,ik->ij", on.A, on.c.mean(axis=0) - on.c)
    squares = (away**2).sum(axis=1)
    return Setting(
        A0=on.loss_at(x0) - on.loss_at(optimum),
        L=1.0,
        sigma2=1.0,
        K=steps,
        n=n,
        T=T,
        lam=lam,
        G2=G2,
        nu2=float(squares.max()),
        gamma2=float(squares.mean()),
        clients=on.clients,
    )


def speeds(on: Noisy, slowest: float) -> Clients:
    """K steps a job, which takes a client 1 to `slowest` seconds."""
    return Clients(steps=K, seconds=np.linspace(1.0, slowest, on.clients))


def exact_bounds(seeds: int, updates: int) -> Iterator[Row]:
    """Every bound with two or three sizes of an update; the mean over the seeds is measured."""
    for n in (4, 8, 16):
        yield _niid(n, seeds, updates)
    for n in (4, 8, 16):
        yield _iid(n, seeds, updates)
    for M in (2, 8):
        yield _fedbuff(M, seeds, updates)


def _niid(n: int, seeds: int, updates: int) -> Row:
    on, G2 = problem(), 16.0
    clients = speeds(on, 1.5)
    lam = largest_staleness(DeFedAvgNIID(cohort_size=n), on, updates, clients, seeds)
    s = setting(on, n, updates, max(1, lam), G2)
    el, eg = bounds.defedavg_niid_rates(s)
    el, eg = el / 4, 4 * eg  # a smaller local rate is as admissible, and its bound says more
    algorithm = DeFedAvgNIID(cohort_size=n, server_lr=eg, local_lr=el)
    runs = [play(algorithm, on, updates, clients, seed=seed) for seed in range(seeds)]
    limit = bounds.defedavg_niid(s, el, eg)
    return bound(f"DeFedAvg-nIID, n = {n}, lambda = {lam}", NIID, mean(runs), limit, conditions=on.largest <= G2)


def _iid(n: int, seeds: int, updates: int) -> Row:
    on = problem(heterogeneity=0.0)
    clients = speeds(on, 1.3)
    lam = largest_staleness(DeFedAvgIID(cohort_size=n), on, updates, clients, seeds)
    s = setting(on, n, updates, max(1, lam))
    el, eg = bounds.defedavg_iid_rates(s)
    eg = min(eg, 1 / (4 * s.L * s.K * s.lam) / el)
    algorithm = DeFedAvgIID(cohort_size=n, server_lr=eg, local_lr=el)
    runs = [play(algorithm, on, updates, clients, seed=seed) for seed in range(seeds)]
    conditions = bounds.defedavg_iid_allows(s, el, eg * (1 - 1e-12))
    limit = bounds.defedavg_iid(s, el, eg)
    return bound(f"DeFedAvg-IID, n = {n}, lambda = {lam}", IID, mean(runs), limit, conditions=conditions)


def _fedbuff(M: int, seeds: int, updates: int) -> Row:
    on = problem(clients=10)
    clients = speeds(on, 1.3)
    lam = largest_staleness(FedBuff(buffer_size=M, restart="self"), on, updates, clients, seeds)
    s = setting(on, M, updates, lam)
    el = 1 / (4 * s.L * (s.K + 1))
    while sum(bounds.fedbuff_shares(s, el)[:3]) > 0.5:
        el /= 2
    algorithm = FedBuff(buffer_size=M, restart="self", local_lr=el)
    runs = [play(algorithm, on, updates, clients, seed=seed) for seed in range(seeds)]
    limit = bounds.fedbuff(s, el)
    return bound(f"FedBuff, M = {M}, tau = {lam}", BUFFERED, mean(runs), limit, conditions=bounds.fedbuff_allows(s, el))


def mean(runs: list[Outcome]) -> float:
    return float(np.mean([run.measured.mean_square_gradient for run in runs]))
