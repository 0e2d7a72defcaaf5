"""Claims on schedules and on sums: staleness is conserved, draws are uniform and independent, and
sums that are normalised have no bias.

The problems of FAVANO and CA2FL have constant gradients g_i, so that every job of a client moves by
the same -local_lr K g_i from wherever it starts, and a biased sum is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fedbench import registry
from fedbench.algorithms.favano import FAVANO
from fedbench.kernels.scheduler import NANOSECONDS, Chunk, Duration, Scheduler, Timing
from fedbench.proof.closed_network import closed_network
from fedbench.proof.theory.bed import Clients, Noisy, play, problem
from fedbench.proof.theory.limits import UNEQUAL
from fedbench.proof.theory.rows import Row, bound_by, claim, exact, value
from fedbench.types import Batch, Info, Integers, State, Vector, Weights

RATE = 0.1


class Sloped(Noisy):
    """The problem F_i(x) = c_i . x, whose gradient is c_i everywhere. It has no optimum, and
    distances are measured from 0."""

    def gradient(self, client: int, x: Vector, rows: npt.NDArray[np.int64] | None = None) -> Vector:
        return np.asarray(self.c[client])

    def minimiser(self) -> Vector:
        return np.zeros(self.dim)


def sloped(clients: int, common: float) -> Sloped:
    """Returns the problem in which every coordinate of every g_i is `common` plus a part of its
    own."""
    on = problem(clients=clients, dim=6)
    return Sloped(on.examples, on.weights, on.dim, on.A, on.c + common, on.noise)


@claim(
    "mean-staleness",
    "Conservation of arrivals",
    "The mean staleness of buffered aggregation is (M_c - 1) / M, whatever the speeds.",
    quick=True,
)
def staleness() -> Iterator[Row]:
    """Measures mean staleness, which is (M_c - 1) / M whatever the speeds, and M_c / M if
    replacements start before the update. Runs have 4000 updates, of which the first arrivals do not
    count."""
    on = problem()
    slow = np.random.default_rng(1).lognormal(0.0, 1.0, on.clients)
    for concurrency, M, before in ((10, 1, False), (10, 5, False), (25, 5, False), (25, 5, True)):
        options: dict[str, object] = {"concurrency": concurrency, "buffer_size": M, "dispatch_before_update": before}
        algorithm = registry.find("algorithm", "fedbuff").make(options)
        chunk = Clients(seconds=slow).scheduler(algorithm, on, 4000, seed=0).next()
        found = (chunk.consumed_by[chunk.entries] - chunk.base[chunk.entries])[10 * concurrency :]
        expected = (concurrency - (0 if before else 1)) / M
        when = ", replaced before the update" if before else ""
        yield value(f"M_c = {concurrency}, M = {M}{when}: mean staleness", float(found.mean()), expected, 0.015 * expected)


@claim(
    "uniform-selection",
    "Wang et al. 2024 (DeFedAvg), Algorithm 1",
    "DeFedAvg-nIID draws its clients alike, independently and with replacement, however slow they are.",
    quick=True,
)
def selection(seeds: int = 40, n: int = 20, updates: int = 500) -> Iterator[Row]:
    """Measures whether draws are multinomial(n, 1/N). N = 2 n, so that draws without replacement,
    whose chi-squared is half as large, are noticed."""
    on = problem()
    algorithm = registry.algorithm(f"defedavg_niid[cohort_size={n}]")
    slow = np.random.default_rng(2).lognormal(0.0, 0.5, on.clients)
    plans = [Clients(seconds=slow).scheduler(algorithm, on, updates, seed).next() for seed in range(seeds)]
    yield exact(
        "chi-squared of a client's draws over its degrees of freedom", [_chi2(plan, on.clients) for plan in plans], 1.0, 0.15
    )
    distinct = [
        np.mean([len(np.unique(plan.client[round])) for round in np.split(plan.entries, plan.offsets[1:-1])]) for plan in plans
    ]
    N = on.clients
    yield exact("distinct clients of a round over N (1 - (1 - 1/N)^n)", distinct, N * (1 - (1 - 1 / N) ** n), 0.01)
    slowest = np.argsort(slow)[N // 2 :]
    shares = [np.isin(plan.client[plan.entries], slowest).mean() for plan in plans]
    yield exact("share of the slower half of the clients over 1/2", shares, 0.5, 0.01)


def _chi2(plan: Chunk, clients: int) -> float:
    counts = np.bincount(plan.client[plan.entries], minlength=clients)
    expected = counts.sum() / clients
    return float(((counts - expected) ** 2 / expected).sum() / (clients - 1))


PERIOD, POLLED, MOST = 2.0, 3, 24  # of FAVANO's polls: seconds between them, clients of one, and steps at most


def polls(alpha: str, step: Duration, seeds: int = 16) -> tuple[Vector, Vector]:
    """Returns what six clients count for in 400 polls of FAVANO: the means of (w - z) / alpha over
    -local_lr g, and the weights of the g_i in the model's way, both (seeds, clients).

    Args:
        alpha: FAVANO's option.
        step: the times of a step.
        seeds: how many runs are made.
    """
    on, kept = sloped(6, common=0.2), list[tuple[Integers, Vector]]()

    class Watched(FAVANO):
        """FAVANO that keeps (w - z) / alpha of every polled client."""

        def normalisers(self, state: State, batch: Batch) -> Weights:
            alpha = super().normalisers(state, batch)
            kept.append((batch.clients, batch.delta / alpha[:, None]))
            return alpha

    options = {"cohort_size": POLLED, "alpha": alpha, "local_lr": RATE, "period_seconds": PERIOD, "max_steps": MOST}
    algorithm, clients, means, weights = Watched.make(options), Clients(steps=MOST, compute=step), [], []
    for seed in range(seeds):
        kept.clear()
        x = play(algorithm, on, 400, clients, noise=False, seed=seed, start=np.zeros(on.dim)).x
        who, moves = np.concatenate([c for c, _ in kept]), np.concatenate([m for _, m in kept])
        along = -(moves * on.c[who]).sum(axis=1) / (RATE * (on.c[who] ** 2).sum(axis=1))
        means.append([along[who == i].mean() for i in range(on.clients)])
        weights.append(np.linalg.solve(on.c.T, -x))  # the model's way is a sum of the six g_i, which span the space
    return np.array(means), np.array(weights)


def counts_for(alpha: str, seconds: float) -> float:
    """Returns the mean of E / max(1, alpha) of a client whose steps take so long. The polls of a
    client are k periods apart with probability q (1 - q)^(k - 1), q = POLLED / 6."""
    k, q = np.arange(1, 200), POLLED / 6
    shares, E = q * (1 - q) ** (k - 1), np.minimum(MOST, k * PERIOD // seconds)
    normaliser = shares @ E if alpha == "deterministic" else shares[E > 0].sum() * E
    return float(shares @ (E / np.maximum(1.0, normaliser)))


@claim(
    "favano-unbiased",
    "Leconte et al. 2023 (FAVANO)",
    "Progress divided by alpha has the same mean for the fast and for the slow.",
)
def favano() -> Iterator[Row]:
    """Measures what the fastest and the slowest client count for. Steps take exponential times,
    which are five times as long for the slowest client as for the fastest. The slowest does two or
    more steps a poll almost always; `favano-floor` is about clients with fewer."""
    for alpha in ("stochastic", "deterministic"):
        means, weights = polls(alpha, Duration.exponential(np.linspace(0.2, 1.0, 6), per_step=True))
        for who, i in (("fastest", 0), ("slowest", -1)):
            share = weights[:, i] / weights.mean(axis=1)
            yield exact(f"{alpha}, {who} client: mean of (w - z) / alpha over -local_lr g", means[:, i], 1.0)
            yield exact(f"{alpha}, {who} client: its weight in the model's way over the mean", share, 1.0, 0.1)


@claim(
    "favano-floor",
    "Leconte et al. 2023 (FAVANO), with alpha at least 1",
    "A client with fewer than one step a poll is not made up for: it counts for its mean number of steps.",
)
def floor() -> Iterator[Row]:
    """Measures what a client counts for that does a third of a step a poll in the mean, beside
    clients that do many. Its alpha is 1, which is more than the paper's."""
    for alpha in ("stochastic", "deterministic"):
        means, weights = polls(alpha, Duration.constant(np.array([0.2] * 5 + [5.0]), per_step=True))
        third, share = counts_for(alpha, 5.0), weights[:, -1] / weights[:, :-1].mean(axis=1)
        yield exact(f"{alpha}: mean of (w - z) / alpha over {third:.2f} (-local_lr g)", means[:, -1], third, 0.15)
        yield exact(f"{alpha}: its weight over {third:.2f} of the others'", share, third, 0.15)


@claim(
    "ca2fl-unbiased",
    "Wang et al. 2024 (CA2FL)",
    "Once all caches are filled and gradients stay as they are, CA2FL moves by the mean of all clients.",
    quick=True,
)
def ca2fl() -> Iterator[Row]:
    """Measures the way of the model after all clients have arrived, when every update must be
    -local_lr K mean g_i. The fastest client arrives eight times as often as the slowest."""
    on, K, first, last = sloped(4, common=1.0), 2, 40, 240
    clients = Clients(steps=K, seconds=UNEQUAL)
    wanted = -0.5 * RATE * K * on.c.mean(axis=0) * (last - first)

    def away(selector: str) -> float:
        options = f"restart=self,local_lr={RATE},server_lr=0.5]"
        algorithm, origin = registry.algorithm(selector + options), np.zeros(on.dim)
        start, end = (play(algorithm, on, updates, clients, noise=False, start=origin).x for updates in (first, last))
        return float(np.linalg.norm(end - start - wanted) / np.linalg.norm(wanted))

    for cache in ("deferred", "immediate"):
        for M in (1, 3):
            off = away(f"ca2fl[buffer_size={M},cache={cache},")
            # A client that comes twice in a buffer has sent the same twice, so both caches are
            # unbiased here.
            yield value(f"{cache}, M = {M}: distance from the mean of all clients, relative", off, 0.0, 1e-9)
    yield bound_by("FedBuff, which is biased: its distance is at least 0.05", 0.05, away("fedbuff[buffer_size=1,"))


@claim(
    "closed-network",
    "Buzen 1973; Leconte et al. 2024 (Generalized AsyncSGD)",
    "Tasks that are routed to queues at exponential clients are a closed product-form network.",
    quick=True,
)
def queues() -> Iterator[Row]:
    """Measures throughput and staleness with exponential computing times and constant downloads. No
    client works for more than 0.8 of the time. Every seed has 200,000 updates, of which the first
    tenth does not count."""
    mu, r, delay = np.array([1.0, 0.5, 2.0, 0.8]), np.array([0.3, 0.15, 0.35, 0.2]), np.array([0.5, 0.2, 0.0, 1.0])
    seeds, tasks, updates, first = range(1, 6), 6, 200_000, 20_000
    algorithm = registry.find("algorithm", "generalized_async").make({"concurrency": tasks, "routing": tuple(r.tolist())})
    expected = closed_network(mu.tolist(), r.tolist(), tasks, delay.tolist())
    compute, download = Duration.exponential(1 / mu), Duration.constant(delay)
    throughput, staleness = [], []
    for seed in seeds:
        timing = Timing(clients=len(mu), seed=seed, compute=compute, download=download, max_updates=updates)
        plan = Scheduler(timing, algorithm.dispatch(Info(len(mu), lambda: r))).next()
        throughput.append((updates - first) / (plan.time[-1] - plan.time[first - 1]) * NANOSECONDS)
        client, tau = plan.client[plan.entries][first:], (np.arange(updates) - plan.base[plan.entries])[first:]
        staleness.append([tau[client == i].mean() for i in range(len(mu))])
    yield exact("updates a second over those of the network", throughput, expected.updates_per_second, 0.01)
    for i, column in enumerate(np.transpose(staleness)):
        yield exact(f"client {i}: mean staleness over that of the network", column, expected.staleness[i], 0.03)
