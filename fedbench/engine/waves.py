"""Finds the jobs that can run now, and cuts them into waves for the trainer. No result depends on
how waves are cut."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedbench.kernels.scheduler import Chunk
from fedbench.types import Job

NONE = -1
Indices = npt.NDArray[np.int64]


class WaveQueue:
    """Holds the jobs of one chunk that updates from `from_version` on consume. A job is named by
    its index in the chunk's columns; indices are in the order of consumption.

    A job is ready when its base version exists and, if clients have memory, the client's previous
    consumed job has run.
    """

    def __init__(self, chunk: Chunk, *, from_version: int, has_memory: bool) -> None:
        self.chunk = chunk
        jobs = np.flatnonzero(chunk.consumed_by >= from_version)
        self._coming = jobs[np.argsort(chunk.base[jobs], kind="stable")]  # those whose base version does not exist yet
        self._coming_base = chunk.base[self._coming]
        self._ready = jobs[:0]  # ascending
        self._is_blocked = np.zeros(len(chunk.client), np.bool_)
        self._next_of = np.full(len(chunk.client), NONE) if has_memory else None
        if self._next_of is not None:
            by_client = jobs[np.argsort(chunk.client[jobs], kind="stable")]
            is_same = np.diff(chunk.client[by_client]) == 0
            self._next_of[by_client[:-1][is_same]] = by_client[1:][is_same]
            self._is_blocked[by_client[1:][is_same]] = True
        self._version = -1

    def jobs(self, wave: Indices) -> list[Job]:
        c = self.chunk
        return list(map(Job, c.client[wave].tolist(), c.k[wave].tolist(), c.base[wave].tolist(), c.steps[wave].tolist()))

    def advance(self, version: int) -> None:
        """Makes the jobs ready whose base versions exist now, up to `version`."""
        count = np.searchsorted(self._coming_base, version, "right")
        begun, self._coming, self._coming_base = self._coming[:count], self._coming[count:], self._coming_base[count:]
        self._version = version
        self._add(begun[~self._is_blocked[begun]])

    def take(self, limit: int | None, last: int = -1, workers: int = 1) -> Indices:
        """Returns up to `limit` jobs that can run, first those that are consumed first.

        The wave has the same number of jobs for each of the `workers` if the others can wait. Jobs
        with indices up to `last` cannot wait.
        """
        count = len(self._ready) if limit is None else min(limit, len(self._ready))
        even = count - count % workers
        if 0 < even < count and self._ready[even] > last:
            count = even
        wave, self._ready = self._ready[:count], self._ready[count:]
        return wave

    def ran(self, wave: Indices) -> None:
        """Notes that these jobs have run; their clients' next jobs may be ready now."""
        if self._next_of is None:
            return
        followers = self._next_of[wave]
        followers = followers[followers != NONE]
        self._is_blocked[followers] = False
        self._add(followers[self.chunk.base[followers] <= self._version])

    def _add(self, jobs: Indices) -> None:
        self._ready = np.sort(np.concatenate([self._ready, jobs])) if len(self._ready) else np.sort(jobs)
