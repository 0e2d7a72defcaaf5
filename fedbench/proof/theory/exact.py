"""The exact mean and variance of the models of a run on a quadratic problem, for a schedule of
updates that is known.

With one diagonal Hessian for all clients a local run of K steps of rate r from x ends at x - b (x -
c_i) - e, coordinate by coordinate:

    b = 1 - (1 - r a)^K,   e = r sum_j (1 - r a)^(K-1-j) z_j,   so e has mean 0 and a known variance V

An update is x^(t+1) = x^t + s sum_k w_k Delta_k, where Delta_k started from the version that the
schedule names, or with `mixes` x^(t+1) = (1 - s) x^t + s sum_k w_k y_k, where y_k is the job's end.
Therefore mean and variance of x^t follow linear recursions. That of the variance needs the
covariances of all versions from which jobs may still start. Nothing here uses the engine, the
scheduler or the algorithms.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fedbench.proof.theory.bed import Noisy
from fedbench.types import Integers, Vector, Weights

Table = npt.NDArray[np.float64]


class Update(NamedTuple):
    """The jobs that an update consumes: their clients, their base versions, and the share of each
    in the average."""

    clients: Integers
    bases: Integers
    shares: Weights


@dataclass(frozen=True)
class Step:
    """What every job and every update does: K local `steps` of the rate `rate`, and an update of
    the server's rate `server`. If it `mixes`, the server moves x by this rate towards the ends of
    the jobs, as FedAsync does, and otherwise by their progress."""

    rate: float
    steps: int
    server: float = 1.0
    mixes: bool = False

    def pull(self, a: Weights) -> Weights:
        """Returns b (d,), the part of the way to its own optimum that a job goes."""
        return np.asarray(1 - (1 - self.rate * a) ** self.steps)

    def noise(self, a: Weights, noise: Table) -> Weights:
        """Returns V (d,), the variance of a job's end. The K rows of `noise` are drawn without
        replacement, so two of them are correlated."""
        powers = (1 - self.rate * a) ** np.arange(self.steps)[:, None]
        squares, together = (powers**2).sum(axis=0), powers.sum(axis=0) ** 2
        pairs = (together - squares) / (len(noise) - 1)
        return np.asarray(self.rate**2 * noise.var(axis=0) * (squares - pairs))


@dataclass(frozen=True)
class Moments:
    """`mean` and `variance` (T, d) of x^t - x* for t = 0 .. T - 1, and the Hessian's diagonal `a`
    (d,)."""

    mean: Table
    variance: Table
    a: Weights

    @property
    def distances(self) -> Weights:
        """E|x^t - x*|^2 (T,)."""
        return np.asarray((self.mean**2 + self.variance).sum(axis=1))

    @property
    def squares(self) -> Weights:
        """E|grad F(x^t)|^2 (T,)."""
        return np.asarray((self.a**2 * (self.mean**2 + self.variance)).sum(axis=1))

    @property
    def gaps(self) -> Weights:
        """E F(x^t) - F* (T,)."""
        return np.asarray(0.5 * (self.a * (self.mean**2 + self.variance)).sum(axis=1))


def moments(on: Noisy, schedule: Sequence[Update], start: Vector, step: Step) -> Moments:
    """Returns the moments for a schedule, which says who arrives and from which version each job
    starts, with x^0 = `start`."""
    a, c = diagonal(on), on.c - on.minimiser()
    b, V, mixes = step.pull(a), step.noise(a, on.noise), float(step.mixes)
    window = 2 + max(int(t - update.bases.min()) for t, update in enumerate(schedule))
    mean, variance = [start - on.minimiser()], [np.zeros(on.dim)]
    together = np.zeros((window, window, on.dim))  # covariance of x^(t-i) and x^(t-j)
    for t, (clients, bases, shares) in enumerate(schedule[:-1]):
        moved = sum(
            share * (b * (mean[base] - c[client]) + mixes * (mean[-1] - mean[base]))
            for client, base, share in zip(clients, bases, shares, strict=True)
        )
        mean.append(mean[-1] - step.server * moved)
        kept = np.zeros((window, on.dim))  # x^(t+1) = sum_i kept_i x^(t-i) + what is independent of it
        kept[0] = 1 - step.server * mixes
        np.subtract.at(kept, t - bases, step.server * shares[:, None] * (b - mixes))
        row = np.einsum("id,ijd->jd", kept, together)
        own = (kept * row).sum(axis=0) + step.server**2 * float(shares @ shares) * V
        together[1:, 1:] = together[:-1, :-1].copy()
        together[0, 1:] = together[1:, 0] = row[:-1]
        together[0, 0] = own
        variance.append(own)
    return Moments(np.array(mean), np.array(variance), a)


def sampled(on: Noisy, updates: int, start: Vector, step: Step, cohort: int, *, replacement: bool) -> Moments:
    """Returns the moments of rounds, over the draws of cohorts too. Every update averages `cohort`
    clients, each of which is drawn with the same probability and starts from the newest version.

    With `replacement`, a client that is drawn r times runs once and counts r times.
    """
    a, N = diagonal(on), on.clients
    b, V = step.pull(a), step.noise(a, on.noise)
    once = 1 / cohort if not replacement else (1 - 1 / N) / cohort + 1 / N  # E sum of squared shares
    finite = 1.0 if replacement else (N - cohort) / (N - 1)
    added = step.server**2 * (b**2 * on.c.var(axis=0) * finite / cohort + V * once)
    mean, variance = [start - on.minimiser()], [np.zeros(on.dim)]
    for _ in range(updates - 1):
        mean.append((1 - step.server * b) * mean[-1])
        variance.append((1 - step.server * b) ** 2 * variance[-1] + added)
    return Moments(np.array(mean), np.array(variance), a)


def diagonal(on: Noisy) -> Weights:
    """The Hessian's diagonal (d,). ValueError unless all clients have the same diagonal Hessian."""
    a = np.diag(on.A[0])
    if not (np.diag(a) == on.A).all():
        raise ValueError("moments: expected one diagonal Hessian for all clients, got different ones (spread > 0)")
    return np.asarray(a)


# ---- Schedules without the scheduler. All clients always train, and an update takes the next
# `buffer` arrivals. ----


def restarting(seconds: Weights, buffer: int, updates: int) -> list[Update]:
    """Returns the schedule of FedBuff with restart = self: a client that arrives starts again from
    the newest version."""
    return _play(seconds, buffer, updates, waits=False)


def broadcasting(seconds: Weights, buffer: int, updates: int) -> list[Update]:
    """Returns the schedule of DeFedAvg-IID: a client that arrives starts again from the newest
    version, but waits for one that it has not used."""
    return _play(seconds, buffer, updates, waits=True)


def _play(seconds: Weights, buffer: int, updates: int, *, waits: bool) -> list[Update]:
    lasts = np.rint(seconds * 1e9).astype(np.int64)
    working = [(int(last), client, 0) for client, last in enumerate(lasts)]
    heapq.heapify(working)
    idle: dict[int, int] = {}  # client: the version that it used last
    kept: list[tuple[int, int]] = []
    schedule: list[Update] = []
    while len(schedule) < updates:
        now = working[0][0]
        while working and working[0][0] == now:
            _, client, base = heapq.heappop(working)
            idle[client] = base
            kept.append((client, base))
            if len(kept) == buffer:
                clients, bases = np.array(kept).T
                schedule.append(Update(clients, bases, np.full(buffer, 1 / buffer)))
                kept.clear()
        version = len(schedule)
        for client in [client for client, base in idle.items() if not waits or version > base]:
            del idle[client]
            heapq.heappush(working, (now + int(lasts[client]), client, version))
    return schedule[:updates]
