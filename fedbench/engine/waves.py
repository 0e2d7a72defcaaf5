"""Finds the jobs that can run now, and cuts them into waves for the trainer. No result depends on
how waves are cut."""

from __future__ import annotations

import heapq
from collections import defaultdict

import numpy as np
import numpy.typing as npt

from fedbench.kernels.scheduler import Chunk
from fedbench.types import Job


class WaveQueue:
    """Holds the jobs of one chunk that updates from `from_version` on consume. A job is named by
    its index in the chunk's columns; indices are in the order of consumption.

    A job is ready when its base version exists and, if clients have memory, the client's previous
    consumed job has run.
    """

    def __init__(self, chunk: Chunk, *, from_version: int, has_memory: bool) -> None:
        self.chunk = chunk
        self._ready: list[int] = []
        self._by_base: defaultdict[int, list[int]] = defaultdict(list)
        self._next_of: dict[int, int] = {}
        self._blocked: set[int] = set()
        last: dict[int, int] = {}
        jobs = np.flatnonzero(chunk.consumed_by >= from_version)
        for index, base in zip(jobs.tolist(), chunk.base[jobs].tolist(), strict=True):
            self._by_base[base].append(index)
        if has_memory:
            for index, client in zip(jobs.tolist(), chunk.client[jobs].tolist(), strict=True):
                if client in last:
                    self._next_of[last[client]] = index
                    self._blocked.add(index)
                last[client] = index
        self._version = -1

    def jobs(self, wave: list[int] | npt.NDArray[np.int64]) -> list[Job]:
        c = self.chunk
        return list(map(Job, c.client[wave].tolist(), c.k[wave].tolist(), c.base[wave].tolist(), c.steps[wave].tolist()))

    def advance(self, version: int) -> None:
        """Makes the jobs ready whose base versions exist now, up to `version`."""
        for base in range(self._version + 1, version + 1):
            for index in self._by_base.pop(base, ()):
                if index not in self._blocked:
                    heapq.heappush(self._ready, index)
        self._version = version

    def take(self, limit: int | None, last: int = -1, workers: int = 1) -> list[int]:
        """Returns up to `limit` jobs that can run, first those that are consumed first.

        The wave has the same number of jobs for each of the `workers` if the others can wait. Jobs
        with indices up to `last` cannot wait.
        """
        count = len(self._ready) if limit is None else min(limit, len(self._ready))
        wave = [heapq.heappop(self._ready) for _ in range(count)]
        kept = count - count % workers
        if 0 < kept < count and wave[kept] > last:
            for index in wave[kept:]:
                heapq.heappush(self._ready, index)
            del wave[kept:]
        return wave

    def ran(self, wave: list[int]) -> None:
        """Notes that these jobs have run; their clients' next jobs may be ready now."""
        for index in wave if self._next_of else ():
            follower = self._next_of.pop(index, None)
            if follower is not None:
                self._blocked.discard(follower)
                if int(self.chunk.base[follower]) <= self._version:
                    heapq.heappush(self._ready, follower)
