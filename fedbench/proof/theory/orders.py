"""Claims on the orders of theorems, which are the exponents of the measured value in the sizes that
a theorem names.

The 95 % interval of every exponent over the seeds must lie within 0.1 of the proven one. It cannot
lie nearer, since terms of higher order do not vanish. An exponent alone would not notice a wrong
constant. So where the model follows a linear recursion, all points of a sweep are also compared
with their exact values, within 5 %. Clients differ in speed wherever the algorithm is asynchronous.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fedbench.algorithms.defedavg_iid import DeFedAvgIID
from fedbench.algorithms.defedavg_niid import DeFedAvgNIID
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.proof.theory import bounds
from fedbench.proof.theory.bed import Clients, near_optimum, play, problem
from fedbench.proof.theory.exact import Step, broadcasting, restarting
from fedbench.proof.theory.moments import Point, planned, point
from fedbench.proof.theory.rates import BUFFERED, IID, NIID, setting, speeds, staleness_of
from fedbench.proof.theory.rows import Row, Table, bound_by, claim, exact, slope, value
from fedbench.protocols import Algorithm
from fedbench.types import Weights

ALLOWED = 0.1
SEEDS, UPDATES, DIM, GAP = 8, 600, 40, 0.3


def doubled(updates: int) -> list[int]:
    """Returns four lengths of runs, each twice the one before, of which the second is `updates`."""
    return [updates // 2, updates, 2 * updates, 4 * updates]


def sweep(measure: Callable[..., Point], settings: Sequence[tuple[object, ...]], seeds: int = SEEDS) -> tuple[Table, Table]:
    """Returns the measured and the exact values, (seeds, settings) each."""
    points = np.array([[measure(*setting, seed) for setting in settings] for seed in range(seeds)])
    return points[:, :, 0], points[:, :, 1]


def both(name: str, sizes: Sequence[int], found: tuple[Table, Table], expected: float) -> Iterator[Row]:
    """Yields a row for the exponent of a sweep, and one for the ratio of its points to their exact
    values."""
    yield slope(f"{name}, exponent", sizes, found[0], expected, ALLOWED)
    yield exact(f"{name}, all points over their exact values", (found[0] / found[1]).mean(axis=1), 1.0)


def nearly_alike(clients: int) -> Weights:
    """Returns seconds of a job with which clients arrive in turns, never at the same time."""
    return 1 + 1e-5 * np.arange(clients, dtype=np.float64)


def in_turns(algorithm: Algorithm, step: Step, tau: int, T: int) -> Point:
    """Returns the point of `tau` + 1 clients that are alike, without noise. Each update has one
    arrival, which is `tau` versions old."""
    on, seconds = problem(clients=tau + 1, dim=DIM, heterogeneity=0.0, sigma=1e-9), nearly_alike(tau + 1)
    clients = Clients(steps=step.steps, seconds=seconds)
    return point(algorithm, on, clients, restarting(seconds, 1, T), near_optimum(on, GAP), step, 0)


@claim(
    "defedavg-iid-speedup",
    IID,
    "At the prescribed rates |grad F|^2 of DeFedAvg-IID falls as 1 / sqrt(n K T), with clients of unequal speed.",
)
def defedavg_iid() -> Iterator[Row]:
    """Measures DeFedAvg-IID at the prescribed rates. There are twice as many clients as an update
    takes, the slowest 1.73 times as slow as the fastest."""

    @functools.cache  # sweeps meet
    def measure(n: int, steps: int, T: int, seed: int) -> Point:
        on = problem(clients=2 * n, dim=DIM, heterogeneity=0.0)
        clients = speeds(on, 1.73, steps)
        schedule = broadcasting(np.asarray(clients.seconds), n, T)
        s = setting(on, n, T, max(1, staleness_of(schedule)), steps=steps, gap=GAP)
        el, eg = bounds.defedavg_iid_rates(s)
        if not bounds.defedavg_iid_allows(s, el, eg):
            raise ValueError(f"slopes: n = {n}, K = {steps}, T = {T}: the prescribed rates are not admissible, T must be larger")
        algorithm = DeFedAvgIID(cohort_size=n, server_lr=eg, local_lr=el)
        return point(algorithm, on, clients, schedule, near_optimum(on, GAP), Step(el, steps, eg), seed)

    sizes, lengths = [2, 4, 8], doubled(UPDATES // 2)
    yield from both("against n", sizes, sweep(measure, [(n, 2, UPDATES) for n in sizes]), -0.5)
    yield from both("against K", sizes, sweep(measure, [(2, K, UPDATES) for K in sizes]), -0.5)
    yield from both("against T", lengths, sweep(measure, [(2, 2, T) for T in lengths]), -0.5)


@claim(
    "defedavg-niid-speedup",
    NIID,
    "At the prescribed rates |grad F|^2 of DeFedAvg-nIID falls as 1 / sqrt(n T).",
)
def defedavg_niid() -> Iterator[Row]:
    """Measures DeFedAvg-nIID at the prescribed rates. They contain G^2 K, so that there is a
    speedup by n and T, but none by K."""

    @functools.cache  # sweeps meet
    def measure(n: int, T: int, seed: int) -> Point:
        on, steps, G2 = problem(clients=8, dim=DIM, heterogeneity=0.5), 2, 4.0
        clients = speeds(on, 1.73, steps)
        s = setting(on, n, T, 1, G2, steps, GAP)
        el, eg = bounds.defedavg_niid_prescribed(s)
        algorithm = DeFedAvgNIID(cohort_size=n, server_lr=eg, local_lr=el)
        schedule = planned(algorithm, on, clients, T, seed)
        return point(algorithm, on, clients, schedule, near_optimum(on, GAP), Step(el, steps, eg), seed)

    sizes, lengths = [2, 4, 8, 16], doubled(UPDATES // 2)
    yield from both("against n", sizes, sweep(measure, [(n, UPDATES) for n in sizes]), -0.5)
    yield from both("against T", lengths, sweep(measure, [(4, T) for T in lengths]), -0.5)


@claim(
    "defedavg-delay-boundary",
    f"{IID}, condition (13)",
    "The largest stable step falls as 1 / lambda, as in the condition, and lies above what the condition admits.",
    quick=True,
)
def delay_boundary() -> Iterator[Row]:
    """Measures the largest stable step with n = 1 of lambda + 1 clients, which arrive in turns, so
    that every model is lambda versions old.

    Without noise, in one dimension and with a = L = 1, the model follows x^(t+1) = x^t - g
    x^(t-lambda). This is stable if and only if g < 2 sin(pi / (2 (2 lambda + 1))).
    """
    delays, el, steps = [1, 3, 7, 15], 0.05, 2
    b = 1 - (1 - el) ** steps
    found = []
    for lam in delays:
        proven = 2 * math.sin(math.pi / (2 * (2 * lam + 1)))
        found.append(b * _largest_stable(lam, el, steps, proven / b))
        yield value(f"lambda = {lam}: largest stable step over its closed form", found[-1] / proven, 1.0, 0.02)
        yield bound_by(f"lambda = {lam}: largest step that (13) admits, below it", steps * el / (4 * steps * el * lam), found[-1])
    x = [2.0 * lam + 1 for lam in delays]
    yield slope("largest stable step against 2 lambda + 1, exponent", x, np.array(found), -1.0, ALLOWED)


def _largest_stable(lam: int, el: float, steps: int, about: float) -> float:
    """Returns the server's rate at which the model begins to grow, found by bisection between 0.5
    and 2 times `about`, to 0.5 %."""
    eigenvalue = problem(clients=lam + 1, dim=1, heterogeneity=0.0)
    # The same problem with a = 1 and all optima at 0.
    on = dataclasses.replace(eigenvalue, A=np.ones((lam + 1, 1, 1)), c=np.zeros((lam + 1, 1)))
    clients = Clients(steps=steps, seconds=nearly_alike(lam + 1))
    updates = 60 * (lam + 1)
    low, high = 0.5 * about, 2 * about
    while high - low > 0.005 * about:
        middle = (low + high) / 2
        algorithm = DeFedAvgIID(cohort_size=1, server_lr=middle, local_lr=el)
        sizes = play(algorithm, on, updates, clients, noise=False, start=np.ones(1)).distances
        grows = not max(sizes[-updates // 4 :]) <= max(sizes[updates // 2 : 3 * updates // 4])
        low, high = (low, middle) if grows else (middle, high)
    return (low + high) / 2


@claim(
    "fedbuff-orders",
    BUFFERED,
    "At the prescribed rates |grad F|^2 of FedBuff falls as 1 / sqrt(T), whatever the number of local steps.",
)
def fedbuff() -> Iterator[Row]:
    """Measures FedBuff at the theorem's rates, which are 1 / (Q sqrt(L T)) and the mean of the
    buffer. The order is 1 / sqrt(T) and does not depend on Q."""

    @functools.cache  # sweeps meet
    def measure(steps: int, T: int, seed: int) -> Point:
        on, rate = problem(clients=12, dim=DIM), 1 / (steps * math.sqrt(T))
        clients = speeds(on, 1.73, steps)
        algorithm = FedBuff(buffer_size=4, concurrency=8, local_lr=rate)
        schedule = planned(algorithm, on, clients, T, seed)
        return point(algorithm, on, clients, schedule, near_optimum(on, GAP), Step(rate, steps), seed)

    runs, lengths = [1, 2, 4, 8], doubled(UPDATES // 2)
    yield from both("against Q", runs, sweep(measure, [(Q, UPDATES // 2) for Q in runs]), 0.0)
    yield from both("against T", lengths, sweep(measure, [(2, T) for T in lengths]), -0.5)


@claim(
    "fedbuff-delay",
    BUFFERED,
    "Delay enters the term in 1 / T alone: what it changes falls as 1 / T, the leading term as 1 / sqrt(T). Here it lowers |grad F|^2.",
)
def fedbuff_delay() -> Iterator[Row]:
    """Measures delay without noise and with clients that are alike, so that nothing else differs.

    `change` is the mean of |grad F|^2 with delay less that without. On a quadratic problem delay
    acts like momentum, so the change is negative: it lowers what the theorem bounds.
    """

    @functools.cache
    def mean_square(tau: int, T: int) -> Point:
        step = Step(1 / (2 * math.sqrt(T)), 2)
        return in_turns(FedBuff(buffer_size=1, restart="self", local_lr=step.rate), step, tau, T)

    def change(tau: int, T: int) -> float:
        return mean_square(tau, T)[0] - mean_square(0, T)[0]

    lengths, delays = [1600, 3200, 6400], [2, 4, 8, 16]
    leading = np.array([mean_square(8, T)[0] for T in lengths])
    late = np.array([change(8, T) for T in lengths])
    stale = np.array([change(tau, lengths[-1]) for tau in delays])
    yield slope("|grad F|^2 with tau = 8 against T, exponent", lengths, leading, -0.5, ALLOWED)
    yield slope("change by tau = 8 against T, exponent", lengths, late, -1.0, ALLOWED)
    yield slope("change against tau, exponent", delays, stale, 1.0, ALLOWED)
    for tau in delays[-2:]:
        (late_square, known), (prompt, of_prompt) = mean_square(tau, lengths[-1]), mean_square(0, lengths[-1])
        yield value(f"tau = {tau}: |grad F|^2 over that without delay", late_square / prompt, known / of_prompt, 1e-6)
    off = max(abs(mean_square(tau, lengths[-1])[0] / mean_square(tau, lengths[-1])[1] - 1) for tau in delays)
    yield value("largest distance from the exact values, relative", off, 0.0, 1e-6)
