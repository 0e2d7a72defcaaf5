"""Exact means of tasks that circulate among clients with queues, as Generalized AsyncSGD dispatches
them, for exponential computing times.

This is a closed product-form network [Buzen 1973]. A task goes to client i with probability r_i.
Its download takes a time of mean d_i, of any distribution. The client works on its tasks first come
first served, at rate mu_i. Uploads take no time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fedbench.proof.compare import Unsupported
from fedbench.proof.forms import Values


@dataclass(frozen=True)
class ClosedNetwork:
    """The means of a network: `updates_per_second`, and for every client (N,) the share of time
    that it works, the mean number of its tasks, those on their way included, and the mean staleness
    of its results in updates."""

    updates_per_second: float
    utilisation: tuple[float, ...]
    tasks: tuple[float, ...]
    staleness: tuple[float, ...]


def closed_network(rates: Sequence[float], routing: Sequence[float], tasks: int, delay: Sequence[float]) -> ClosedNetwork:
    """Returns the exact means.

    Args:
        rates: jobs per second that a client computes when it always works, mu_i > 0 (N,).
        routing: probabilities r_i (N,).
        tasks: how many circulate, C >= 1.
        delay: mean seconds of a download, d_i >= 0 (N,).
    """
    rho = [r / mu for r, mu in zip(routing, rates, strict=True)]
    away = [r * d for r, d in zip(routing, delay, strict=True)]
    G = [math.fsum(away) ** m / math.factorial(m) for m in range(tasks + 1)]
    for load in rho:
        for m in range(1, tasks + 1):
            G[m] += load * G[m - 1]
    per_second = G[tasks - 1] / G[tasks]

    def at(i: int, c: int) -> float:
        """Returns the mean number of tasks of client i if c circulate."""
        if c == 0:
            return 0.0
        queued = math.fsum(rho[i] ** m * G[c - m] for m in range(1, c + 1))
        return (queued + away[i] * G[c - 1]) / G[c]

    clients = range(len(rho))
    return ClosedNetwork(
        per_second,
        tuple(load * per_second for load in rho),
        tuple(at(i, tasks) for i in clients),
        tuple(at(i, tasks - 1) / routing[i] for i in clients),
    )


class TheoryVector(Values):
    theory: str

    def check(self, precision: str) -> float:
        if self.theory != "closed_network":
            raise Unsupported(f"theory {self.theory!r}")
        return self.largest(vars(self.of(closed_network)), precision)
