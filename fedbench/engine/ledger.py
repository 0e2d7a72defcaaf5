"""Computes from the plan alone what the simulated system did: bytes, busy time, staleness,
participation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedbench.engine.declared import vector_bytes
from fedbench.engine.unused_jobs import UnusedJobs
from fedbench.kernels.hindsight import Hindsight
from fedbench.kernels.scheduler import NANOSECONDS, Chunk, Gradients, Scheduler
from fedbench.results.digests import ColumnDigest
from fedbench.results.sections import Ledger as Totals
from fedbench.scenarios.grid import Grid
from fedbench.types import Broadcast, Dispatch, Mailbox, Traffic, Turns

PLAN_COLUMNS = ("client", "k", "base", "steps", "t_dispatch", "t_start", "t_finish", "t_arrive")


@dataclass(frozen=True)
class Prelude:
    """Full gradients of all clients, computed before any job starts or at the start of every round.
    The slowest client takes `seconds`; all clients together compute the work of `gradients`
    mini-batch gradients."""

    seconds: float
    gradients: int
    every_round: bool


class Ledger:
    """Adds up the chunks of a plan.

    Args:
        clients: how many clients there are.
        dispatch: the policy by which jobs start.
        grid: the evaluation grid, on which steps, gradients and transfers are counted.
        hindsight: needed where jobs can be lost, late or paused.
        gradients: the mini-batch gradients of a job.
        prelude: the full gradients beside all jobs, if there are any.
    """

    def __init__(
        self,
        clients: int,
        dispatch: Dispatch,
        grid: Grid,
        hindsight: Hindsight | None = None,
        gradients: Gradients | None = None,
        prelude: Prelude | None = None,
    ) -> None:
        self.clients, self.grid = clients, grid
        self.gradients, self.prelude = gradients or Gradients(), prelude
        self.broadcasts = isinstance(dispatch, Broadcast | Mailbox)
        self.keeps_versions = self.broadcasts or isinstance(dispatch, Turns)
        self.consumed = self.updates = self.entries = self.uploads = self.used_downloads = 0
        self.consumed_steps = self.created = self.created_steps = 0
        self.busy_ns = 0
        self.hindsight = hindsight
        self.unused = UnusedJobs(dispatch, hindsight) if hindsight else None
        self.staleness = np.zeros(1, np.int64)
        self.steady_sum = self.steady_count = 0
        self.warm_up = 10 * int(getattr(dispatch, "concurrency", 0))
        self.participation = np.zeros(clients, np.int64)
        self._last_base = np.full(clients, -1, np.int64)
        self._last_prelude = -1
        self._grid = {
            name: np.zeros(1, np.int64) for name in ("updates", "steps", "gradients", "downloads", "uploads", "preludes")
        }
        self.digest = ColumnDigest((*PLAN_COLUMNS, "time", "copies"))

    def add(self, chunk: Chunk, scheduler: Scheduler) -> None:
        """Adds one chunk; after the last one the totals are those of the whole plan. The scheduler
        is read after the last chunk only."""
        end = scheduler.end_ns if chunk.done else np.iinfo(np.int64).max
        used = chunk.consumed_by >= 0
        self.updates += len(chunk.time)
        self._on_grid("updates", chunk.time)
        self.created += len(used)
        self.created_steps += int(chunk.steps.sum())
        self.consumed += int(used.sum())
        self.consumed_steps += int(chunk.steps[used].sum())
        whole = self.gradients.of(chunk.client, chunk.steps)
        if self.unused:
            busy, steps, gradients, stopped = self.unused.add(chunk, end, whole)
        else:
            busy, steps, gradients, stopped = _busy(chunk, end), chunk.steps, whole, chunk.t_finish
        self.busy_ns += int(busy.sum())
        has_stopped = (stopped >= 0) & (stopped <= end)
        self._on_grid("steps", stopped[has_stopped], steps[has_stopped])
        self._on_grid("gradients", stopped[has_stopped], gradients[has_stopped])
        if self.prelude:
            self._count_preludes(chunk, end, self.prelude)
        self._count_entries(chunk)
        self._count_transfers(chunk, used, end, announced=not (chunk.done and scheduler.ended_by == "updates"))
        self._hash(chunk)

    def _count_entries(self, chunk: Chunk) -> None:
        per_update = np.diff(chunk.offsets)
        update = chunk.first_version + np.repeat(np.arange(len(chunk.time)), per_update)
        tau = update - chunk.base[chunk.entries]
        self.staleness = _add(self.staleness, np.bincount(tau))
        steady = tau[max(0, self.warm_up - self.entries) :]
        self.steady_sum += int(steady.sum())
        self.steady_count += len(steady)
        self.entries += len(tau)
        np.add.at(self.participation, chunk.client[chunk.entries], 1)

    def _count_preludes(self, chunk: Chunk, end: int, prelude: Prelude) -> None:
        """Counts one prelude before the first job, or one for every round. The jobs of a round are
        dispatched together. A prelude is over when the first job starts."""
        dispatched, first = np.unique(chunk.t_dispatch, return_index=True)
        is_new = dispatched > self._last_prelude
        if not prelude.every_round:
            is_new &= self._last_prelude < 0
            is_new[1:] = False
        starts = np.where(chunk.t_start >= 0, chunk.t_start, chunk.t_dispatch)[first[is_new]]
        over = starts[starts <= end]
        self._on_grid("preludes", over)
        self._on_grid("gradients", over, np.full(len(over), prelude.gradients))
        self._last_prelude = max(self._last_prelude, int(dispatched.max(initial=-1)))

    def _count_transfers(self, chunk: Chunk, used: npt.NDArray[np.bool_], end: int, *, announced: bool) -> None:
        """Counts uploads and downloads. `announced` says whether the chunk's last version was still
        sent out (Broadcast, Mailbox)."""
        arrived = (chunk.t_arrive >= 0) & (chunk.t_arrive <= end)
        self.uploads += int(arrived.sum())
        self._on_grid("uploads", chunk.t_arrive[arrived])
        if self.keeps_versions:
            self._count_used_versions(chunk, used)
        else:
            self.used_downloads += int(used.sum())
        if not self.broadcasts:
            self._on_grid("downloads", chunk.t_dispatch)
            self._on_grid("downloads", chunk.resumed, np.full(len(chunk.resumed), -1))
            return
        sent = chunk.time if announced else chunk.time[:-1]
        first = np.zeros(1 if chunk.first_version == 0 else 0, np.int64)
        times = np.concatenate([first, sent])
        self._on_grid("downloads", times, np.full(len(times), self.clients))

    def _count_used_versions(self, chunk: Chunk, used: npt.NDArray[np.bool_]) -> None:
        """Downloads that led to a consumed job: with peek, or between two turns, several jobs of a
        client share one."""
        client, base, k = chunk.client[used], chunk.base[used], chunk.k[used]
        order = np.lexsort((k, client))
        client, base = client[order], base[order].astype(np.int64)
        previous = np.concatenate([[-1], base[:-1]]) if len(base) else base
        first = np.concatenate([[True], client[1:] != client[:-1]]) if len(base) else np.zeros(0, np.bool_)
        previous = np.where(first, self._last_base[client], previous)
        self.used_downloads += int((base != previous).sum())
        self._last_base[client] = base

    def _on_grid(self, name: str, times: npt.NDArray[np.int64], amount: npt.NDArray[np.integer] | None = None) -> None:
        """Counts amounts, 1 each by default, at the first grid point at or after each time."""
        points = self.grid.at_or_after(times)
        self._grid[name] = _add(self._grid[name], np.bincount(points, amount).astype(np.int64))

    def _hash(self, chunk: Chunk) -> None:
        order = np.flatnonzero(chunk.consumed_by >= 0)  # in the order of consumption, since a job is emitted when it is consumed
        self.digest.add(
            time=chunk.time, copies=np.bincount(chunk.entries, minlength=len(chunk.client))[order],
            **{name: getattr(chunk, name)[order] for name in PLAN_COLUMNS},
        )  # fmt: skip

    def on_grid(self, name: str, points: int) -> npt.NDArray[np.int64]:
        """Returns the running totals of updates, steps, gradients, downloads, uploads or preludes
        at the grid points 0 .. points - 1."""
        counts = self._grid[name]
        padded = np.concatenate([counts, np.zeros(max(0, points - len(counts)), np.int64)])
        return np.cumsum(padded)[:points]

    def bytes_on_grid(self, traffic: Traffic, model_bytes: int, points: int) -> npt.NDArray[np.int64]:
        """Returns the running totals of the bytes moved either way, at the grid points."""
        down, up = (vector_bytes(vectors, model_bytes) for vectors in (traffic.down, traffic.up))
        jobs = self.on_grid("downloads", points) * down + self.on_grid("uploads", points) * up
        return jobs if self._prelude_is_traffic else jobs + self.on_grid("preludes", points) * 2 * self.clients * model_bytes

    @property
    def _prelude_is_traffic(self) -> bool:
        """Whether the exchange of the prelude is part of a job's traffic, as it is at every
        round."""
        return self.prelude is None or self.prelude.every_round

    def staleness_mean(self) -> float:
        tau = np.arange(len(self.staleness))
        return float((tau * self.staleness).sum() / max(1, self.entries))

    def totals(self, scheduler: Scheduler, traffic: Traffic, model_bytes: int) -> Totals:
        """Returns the ledger of a finished plan. Bytes follow `traffic`, in vectors of
        `model_bytes`; an upload that does not arrive counts none. Steps and gradients are those
        that the simulated clients had done by the end. Wasted steps are those of jobs that no
        update consumed."""
        down, up = (vector_bytes(vectors, model_bytes) for vectors in (traffic.down, traffic.up))
        extra = 0 if self._prelude_is_traffic else int(self._grid["preludes"].sum()) * self.clients * model_bytes
        downloads, unused = scheduler.totals["downloads"], self.unused
        end = scheduler.end_ns / NANOSECONDS
        done = int(self._grid["steps"].sum())
        there = self.hindsight.there(scheduler.end_ns) if self.hindsight else np.full(self.clients, scheduler.end_ns)
        was_there = there > 0
        return Totals(
            end_seconds=end,
            updates=self.updates,
            jobs=self.created,
            jobs_consumed=self.consumed,
            jobs_left=unused.left if unused else 0,
            jobs_dropped_out=unused.dropped_out if unused else 0,
            jobs_late=unused.late if unused else 0,
            busy_seconds_lost=unused.busy_ns / NANOSECONDS if unused else 0.0,
            steps_done=done,
            steps_wasted=done - self.consumed_steps,
            gradient_evaluations=int(self._grid["gradients"].sum()),
            trained_steps=self.consumed_steps,
            avoided_steps=self.created_steps - self.consumed_steps,
            bytes_down=downloads * down + extra,
            bytes_up=self.uploads * up + extra,
            bytes_wasted=(downloads - self.used_downloads) * down + (self.uploads - self.consumed) * up,
            busy_seconds=self.busy_ns / NANOSECONDS,
            busy_fraction=self.busy_ns / NANOSECONDS / (end * self.clients) if end > 0 else 0.0,
            staleness_mean=self.staleness_mean(),
            staleness_max=int(np.flatnonzero(self.staleness).max(initial=0)),
            staleness_histogram=tuple(self.staleness[:200].tolist()),
            participation_min=int(self.participation.min()),
            participation_max=int(self.participation.max()),
            participation_gini=gini(self.participation),
            available_fraction=float(there.sum(dtype=np.float64)) / (scheduler.end_ns * self.clients) if end > 0 else 0.0,
            participation_gini_available=gini(self.participation[was_there] / there[was_there]),
            messages_peak=scheduler.totals["messages_peak"],
        )


def _busy(chunk: Chunk, end: int) -> npt.NDArray[np.int64]:
    """Returns the computing time of every job by the end. A poll may come before the download is
    complete, so a finish before a start counts 0."""
    busy = np.maximum(np.minimum(chunk.t_finish, end) - np.minimum(chunk.t_start, end), 0)
    return np.where((chunk.t_start >= 0) & (chunk.t_finish >= 0), busy, 0)


def _add(total: npt.NDArray[np.int64], part: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    if len(part) > len(total):
        total = np.concatenate([total, np.zeros(len(part) - len(total), np.int64)])
    total[: len(part)] += part
    return total


def gini(counts: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> float:
    """Returns the Gini coefficient of non-negative numbers: 0 if all are equal, towards 1 if one
    has all."""
    total = counts.sum()
    if total == 0:
        return 0.0
    ranked = np.sort(counts)
    n = len(ranked)
    return float(2 * (np.arange(1, n + 1) * ranked).sum() / (n * total) - (n + 1) / n)
