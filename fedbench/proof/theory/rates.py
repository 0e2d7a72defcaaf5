"""Claims that runs stay below the bounds of theorems, with all constants.

x^0 is close to x* (F(x^0) - F* = 0.05), so that noise, the differences of clients and delay make
most of a bound. The `shares` of a row say how much each makes, and a transient of more than half
fails. The bound alone would hold for many wrong algorithms, since measured values lie far below it.
So each run is also compared, within 5 %, with the exact value that the linear recursion of its
schedule gives. The seeds are 0 .. 11.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from fedbench.algorithms.defedavg_iid import DeFedAvgIID
from fedbench.algorithms.defedavg_niid import DeFedAvgNIID
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.proof.theory import bounds
from fedbench.proof.theory.bed import Clients, Noisy, near_optimum, play, problem
from fedbench.proof.theory.bounds import Setting
from fedbench.proof.theory.exact import Step, Update, broadcasting, restarting
from fedbench.proof.theory.moments import planned, point
from fedbench.proof.theory.rows import Row, bound, claim, exact, value
from fedbench.protocols import Algorithm
from fedbench.types import Weights

NIID = "Wang et al. 2024 (DeFedAvg), Theorem 1"
IID = "Wang et al. 2024 (DeFedAvg), Theorem 2"
BUFFERED = "Toghani and Uribe 2022, Theorem 1"
SEEDS, UPDATES, K, GAP = 12, 400, 5, 0.05
TWO_FAST = np.array([1.0, 1.01, *np.linspace(600.0, 610.0, 10)])  # the others never arrive
BURSTS = np.array([*np.linspace(1.0, 1.1, 6), *np.linspace(4.0, 4.1, 6)])


def setting(on: Noisy, n: int, T: int, lam: int, G2: float = 0.0, steps: int = K, gap: float = GAP) -> Setting:
    """Returns the constants of a problem of `bed`, for which L = sigma = 1, and of a run on it."""
    away = np.einsum("ijk,ik->ij", on.A, on.c.mean(axis=0) - on.c)
    squares = (away**2).sum(axis=1)
    return Setting(
        A0=gap,
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


def speeds(on: Noisy, slowest: float, steps: int = K) -> Clients:
    """Returns clients that do `steps` a job, which takes them 1 to `slowest` seconds."""
    return Clients(steps=steps, seconds=np.linspace(1.0, slowest, on.clients))


def staleness_of(schedule: Sequence[Update]) -> int:
    """Returns the largest staleness of a schedule."""
    return max(int(t - update.bases.min()) for t, update in enumerate(schedule))


def below(
    name: str,
    algorithm: Algorithm,
    on: Noisy,
    clients: Clients,
    step: Step,
    schedules: Sequence[Sequence[Update]],
    terms: dict[str, float],
    *,
    allowed: bool = True,
    G2: float = math.inf,
) -> Iterator[Row]:
    """Yields the rows that compare the mean of |grad F|^2 over a run with its bound and its exact value.

    Args:
        name: of the setting, for the rows.
        algorithm: what is run.
        on: the problem.
        clients: their steps and times.
        step: the rates, for the exact value.
        schedules: that of every seed, for the exact value.
        terms: of the bound, by name.
        allowed: whether the rates meet the theorem's conditions.
        G2: what it assumes of |grad F_i|^2 of all gradients that are asked for.
    """
    start = near_optimum(on, GAP)
    points = [point(algorithm, on, clients, schedule, start, step, seed) for seed, schedule in enumerate(schedules)]
    measured, expected = np.transpose(points)
    conditions = allowed and on.largest <= G2
    yield bound(f"{name}: mean |grad F|^2 below the bound", float(measured.mean()), terms, conditions=conditions)
    yield exact(f"{name}: mean |grad F|^2 over its exact value", measured, expected)


@claim(
    "defedavg-niid-bound",
    NIID,
    "The mean squared gradient of DeFedAvg-nIID stays below the theorem's bound, all constants included.",
)
def defedavg_niid() -> Iterator[Row]:
    for n in (4, 16):
        on, G2 = problem(clients=8, dim=60), 4.0
        clients = speeds(on, 1.5)
        # Plans do not depend on the model, so staleness is known before anything is trained.
        schedules = [planned(DeFedAvgNIID(cohort_size=n), on, clients, UPDATES, seed) for seed in range(SEEDS)]
        lam = max(1, *map(staleness_of, schedules))
        s = setting(on, n, UPDATES, lam, G2)
        el, eg = bounds.defedavg_niid_rates(s)
        algorithm = DeFedAvgNIID(cohort_size=n, server_lr=eg, local_lr=el)
        yield from below(
            f"n = {n}, lambda = {lam}", algorithm, on, clients, Step(el, K, eg), schedules,
            bounds.defedavg_niid(s, el, eg), G2=G2,
        )  # fmt: skip


@claim(
    "defedavg-iid-bound",
    IID,
    "The mean squared gradient of DeFedAvg-IID stays below the theorem's bound, all constants included.",
)
def defedavg_iid() -> Iterator[Row]:
    for n in (4, 8):
        yield from _iid(f"n = {n}", n, np.linspace(1.0, 1.73, 12))


@claim(
    "defedavg-adversarial",
    f"{IID} and Assumption 4",
    "If clients are alike, the bound of DeFedAvg-IID holds whoever arrives, be it always the same.",
)
def adversarial() -> Iterator[Row]:
    """Measures runs in which only some clients arrive. The clients are alike, so that this does not
    matter. The last row shows that it would if they differed."""
    for name, seconds in (("the same two always", TWO_FAST), ("stale bursts", BURSTS)):
        yield from _iid(name, 2, seconds)
    on = problem(clients=12, dim=10)
    algorithm = DeFedAvgIID(cohort_size=2, local_lr=0.1, server_lr=1)
    x = play(algorithm, on, 300, Clients(steps=K, seconds=TWO_FAST), noise=False).x
    two = on.c[:2].mean(axis=0)
    off = float(np.linalg.norm(x - two) / np.linalg.norm(two - on.optimum))
    yield value("clients that differ, the same two always: distance to the optimum of the two, of its bias", off, 0.0, 1e-6)


def _iid(name: str, n: int, seconds: Weights) -> Iterator[Row]:
    """Yields the rows of DeFedAvg-IID at the largest rates that (13) admits."""
    on = problem(clients=len(seconds), dim=60, heterogeneity=0.0)
    schedule = broadcasting(seconds, n, UPDATES)
    lam = max(1, staleness_of(schedule))
    s = setting(on, n, UPDATES, lam)
    el = 1 / (4 * math.sqrt(3) * s.L * s.K)
    eg = 1 / (4 * s.L * s.K * s.lam) / el
    algorithm = DeFedAvgIID(cohort_size=n, server_lr=eg, local_lr=el)
    yield from below(
        f"{name}, lambda = {lam}", algorithm, on, Clients(steps=K, seconds=seconds), Step(el, K, eg), [schedule] * SEEDS,
        bounds.defedavg_iid(s, el, eg), allowed=bounds.defedavg_iid_allows(s, el, eg * (1 - 1e-12)),
    )  # fmt: skip


@claim(
    "fedbuff-bound",
    BUFFERED,
    "The mean squared gradient of FedBuff stays below the theorem's bound, which needs no bounded gradients.",
)
def fedbuff() -> Iterator[Row]:
    for M in (2, 5):
        on = problem(clients=10, dim=60)
        clients = speeds(on, 1.37)
        schedule = restarting(np.asarray(clients.seconds), M, UPDATES)
        lam = staleness_of(schedule)
        s = setting(on, M, UPDATES, lam)
        el = 1 / (4 * s.L * (s.K + 1))
        while sum(bounds.fedbuff_shares(s, el)[:3]) > 0.5:
            el /= 2
        algorithm = FedBuff(buffer_size=M, restart="self", local_lr=el)
        yield from below(
            f"M = {M}, tau = {lam}", algorithm, on, clients, Step(el, K), [schedule] * SEEDS,
            bounds.fedbuff(s, el), allowed=bounds.fedbuff_allows(s, el),
        )  # fmt: skip
