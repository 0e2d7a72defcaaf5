"""How much the clients of a scenario differ, as numbers: measured on what a seed deals out, not
read from the words of its file."""

from __future__ import annotations

import functools

import numpy as np

from fedbench.engine.data import Data, shards_of
from fedbench.engine.spec import seed_of
from fedbench.engine.transfers import Messages, Transfer
from fedbench.errors import UsageError
from fedbench.kernels.scheduler import NANOSECONDS
from fedbench.kernels.traces import Traced, transfer_ns
from fedbench.scenarios import system
from fedbench.scenarios.schema import Scenario
from fedbench.types import Weights

CHANCE = 0.01
"""A tie that chance alone makes with a higher probability is none: with 100 clients sizes and
speeds that have nothing to do with each other have a correlation of up to 0.26."""

ALIKE = 0.1
"""Clients are alike whose sizes have a standard deviation of less than this share of their mean, or
whose label skew is less. Nothing can be tied to that."""


class Heterogeneity:
    """The differences between the clients of one scenario and seed. Each is measured when it is
    first needed; UsageError, in one line, if it cannot be."""

    def __init__(self, scenario: Scenario, seed: int = 0) -> None:
        self.scenario, self.seed = scenario, seed_of(seed)
        self.data = Data(scenario, self.seed)

    @functools.cached_property
    def counts(self) -> Weights:
        """The training examples of every class of every client (N, C)."""
        dataset = self.data.task.dataset
        shards = shards_of(dataset, self.scenario, self.seed)
        return shards.labels(dataset.train.y, dataset.classes).astype(np.float64)

    @functools.cached_property
    def jobs(self) -> Weights:
        """The mean virtual seconds that every client computes for a job (N,)."""
        found = system.job_seconds(self.scenario, self.seed, self._counts_for_clock)
        if not (np.isfinite(found) & (found > 0)).all():
            client = int((~np.isfinite(found) | (found <= 0)).argmax())
            raise UsageError(
                f"scenario {self.scenario.name}: the speed of client {client} cannot be measured: it computes for {found[client]:g} s "
                "on average for a job, expected a finite time above 0"
            )
        return found

    @property
    def _counts_for_clock(self) -> Weights | None:
        return self.counts if system.needs_counts(self.scenario) else None

    @property
    def skew(self) -> float:
        """The mean total variation between the classes of a client and those of all: 0 if every
        client has all classes alike, near 1 if each has few of many."""
        shares = self.counts / self.counts.sum(axis=1, keepdims=True)
        return float(np.abs(shares - self.counts.sum(axis=0) / self.counts.sum()).sum(axis=1).mean() / 2)

    @property
    def skew_by_chance(self) -> float:
        """About what the skew would be if every client had its examples drawn from all of them:
        near 0 with many examples a client, and large with few. De Moivre's mean absolute deviation
        of the binomial distribution."""
        from scipy.special import gammaln, xlog1py, xlogy  # late, as in _tie

        sizes, shares = self.counts.sum(axis=1, keepdims=True), self.counts.sum(axis=0) / self.counts.sum()
        above = np.minimum(np.floor(sizes * shares) + 1, sizes)
        ways = gammaln(sizes + 1) - gammaln(above) - gammaln(sizes - above + 1)
        deviation = 2 * np.exp(ways + xlogy(above, shares) + xlog1py(sizes - above + 1, -shares)) / sizes
        return float(deviation.sum(axis=1).mean() / 2)

    @property
    def spread(self) -> float:
        """The standard deviation of the logarithm of the clients' speeds."""
        found = float(np.log(self.jobs).std())
        return found if found > 1e-9 else 0.0

    @property
    def available(self) -> float:
        """The share of the time that clients are there, in the mean over clients and in the long
        run; for given windows that do not repeat, of the budget."""
        part = system.availability(self.scenario, self.seed)
        match part.kind:
            case "always":
                return 1.0
            case "periodic":
                return float(np.mean(np.asarray(part.on_fraction, np.float64)))
            case "alternating":
                stays, absences = np.asarray(part.mean_on_seconds, np.float64), np.asarray(part.mean_off_seconds, np.float64)
                return float((stays / (stays + absences)).mean())
        whole = getattr(self.scenario.availability, "period_seconds", None) or self.scenario.budget.seconds
        windows = np.concatenate([np.reshape(np.asarray(rows, np.float64), (-1, 2)) for rows in part.rows])
        return float(np.diff(np.minimum(windows, whole)).sum() / (whole * self.scenario.clients))

    @property
    def upload(self) -> float:
        """The time of the upload of one model over that of a job's computing, of the median
        client."""
        return self._over_compute(self._transfers[1])

    @property
    def download(self) -> float:
        """The same of the download."""
        return self._over_compute(self._transfers[0])

    def _over_compute(self, transfer: Transfer) -> float:
        if isinstance(transfer, Traced):
            seconds = transfer_ns(transfer, self.scenario.clients, 0) / NANOSECONDS
        else:
            seconds = np.asarray(system.means(transfer), np.float64)
        return float(np.median(seconds) / np.median(self.jobs))

    @functools.cached_property
    def _transfers(self) -> tuple[Transfer, Transfer]:
        vector = 4 * self.data.outline.model.dim
        rate = functools.partial(system.upload_rate, self.scenario, self.seed, vector)
        return Messages(self.scenario, self.seed, lambda: rate(self._counts_for_clock)).transfers(vector, vector)

    @functools.cached_property
    def all_steps(self) -> Weights:
        """The mean local steps of every client's jobs (N,)."""
        return system.mean_steps(self.scenario, self.seed, self.counts if self.scenario.local.epochs is not None else None)

    @property
    def steps(self) -> float:
        """The local steps of the median client."""
        return float(np.median(self.all_steps))

    @property
    def steps_vary(self) -> bool:
        """Whether some jobs have more local steps than others."""
        drawn = self.scenario.local.steps if self.scenario.local.epochs is None else None
        return getattr(drawn, "mode", "") == "random" or bool(self.all_steps.min() < self.all_steps.max())

    @property
    def times_vary(self) -> bool:
        """Whether the computing time of a client is drawn anew for every job."""
        return system.compute(self.scenario, self.seed, self._counts_for_clock).kind != "constant"

    @property
    def at_work(self) -> float:
        """The most jobs that may be under way: all clients if the scenario has no cap."""
        return float(self.scenario.at_work or self.scenario.clients)

    @property
    def tied_to_size(self) -> float:
        """How much slower clients with many examples are, as the strength of `by_size`; negative if
        they are faster, and 0 if it may be chance."""
        sizes = self.counts.sum(axis=1, keepdims=True)
        return self._tie(sizes) if sizes.std() > ALIKE * sizes.mean() else 0.0

    @property
    def tied_to_label(self) -> float:
        """How much the slowness of clients follows from their classes, as the strength of
        `by_label`; 0 if it may be chance."""
        return abs(self._tie(self.counts / self.counts.sum(axis=1, keepdims=True))) if self.skew > ALIKE else 0.0

    def _tie(self, traits: Weights) -> float:
        """Returns the multiple correlation of slowness with traits (N, q), adjusted for their
        number; its sign is that of a single trait.

        Slowdowns are dealt out by the rank of a score, strength x trait + noise of variance
        1 - strength^2. So if the place of a client in the order of slowness is turned into the
        score that it has in a normal sample, its correlation with the trait is about the strength.
        """
        from scipy.special import fdtrc  # all verbs start faster without it

        slow, x = _normal_scores(self.jobs), traits - traits.mean(axis=0)
        if self.spread == 0:
            return 0.0
        effects, _, rank, _ = np.linalg.lstsq(x, slow, rcond=1e-9)
        left = len(slow) - 1 - int(rank)
        unexplained = float(np.square(slow - x @ effects).sum() / np.square(slow).sum())
        if left < 1 or unexplained <= 0:
            return 0.0 if left < 1 else float(np.sign(effects[0]))
        if fdtrc(rank, left, (1 - unexplained) / rank * left / unexplained) > CHANCE:
            return 0.0
        return float(np.sign(effects[0]) * np.sqrt(max(0.0, 1 - unexplained * (len(slow) - 1) / left)))


def _normal_scores(values: Weights) -> Weights:
    """Returns for every value (n,) what has its rank in a normal sample; equal ones have the mean
    rank. Their mean is 0."""
    from scipy.special import ndtri  # late, as in _tie

    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(sizes) - sizes / 2
    found = ndtri(middle[group] / len(values))
    return np.asarray(found - found.mean())


FACTORS = ("skew", "spread", "available", "upload", "steps", "at_work", "tied_to_size", "tied_to_label")
"""What is measured, by the names that factors of a design have."""
