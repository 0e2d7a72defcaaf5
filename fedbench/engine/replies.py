"""Keeps what jobs have sent, and what their clients remember, until an update consumes the jobs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedbench import kernels as k
from fedbench.tables import ClientTable
from fedbench.types import Array, Job, Reply, State, Vector, Weights, Work

ROUNDED = 1e-9  # a sum of weights that is 1 up to rounding is this close to 1


@dataclass
class Result:
    """A job's reply between its wave and its update."""

    client: int
    reply: Reply
    buffers: Vector
    server_seconds: float

    @property
    def bytes(self) -> int:
        arrays = [*self.reply.sent.values(), self.buffers]
        return sum(a.nbytes for a in arrays) + (0 if self.reply.memory is None else self.reply.memory.nbytes)


class Replies:
    """Holds the results of jobs by their index in a chunk, and the client memories that are not
    committed to the state's table yet."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._none: Vector = np.empty_like(state.x, shape=0)
        self._results: dict[int, Result] = {}
        self._pending: dict[int, Vector] = {}

    @property
    def _table(self) -> ClientTable | None:
        return self._state.memory if "memory" in self._state else None

    def put(self, index: int, job: Job, reply: Reply, work: Work) -> int:
        """Keeps what a job sent, and returns how many bytes that takes."""
        if reply.memory is not None:
            reply.memory.flags.writeable = False
            self._pending[job.client] = reply.memory
        result = self._results[index] = Result(job.client, reply, work.buffers, work.server_seconds)
        return result.bytes

    def memory_of(self, client: int) -> Vector:
        """Returns the memory that the client's last run job left, committed or not, read-only. It
        is empty if clients have no memory."""
        if self._table is None:
            return self._none
        row = self._pending.get(client)
        if row is None:
            row = self._table[client].view()
            row.flags.writeable = False
        return row

    def sent(self, entries: npt.NDArray[np.int64]) -> dict[str, Array]:
        """Returns by name what the jobs sent, a row for every entry (K, ..)."""
        replies = [self._results[index].reply.sent for index in entries.tolist()]
        return {name: np.stack([sent[name] for sent in replies]) for name in replies[0]}

    def buffers(self, entries: npt.NDArray[np.int64], weights: Weights) -> Vector:
        """Returns the weighted mean of the jobs' model buffers."""
        total = weights.sum()
        weights = weights if abs(total - 1) <= ROUNDED else weights / total
        return k.weighted_sum(weights, [self._results[index].buffers for index in entries.tolist()])

    def commit_memory(self, consumed: list[int]) -> None:
        """Commits the memories of these jobs to the state's table."""
        for result in (self._results[index] for index in consumed):
            row = result.reply.memory
            if self._table is not None and row is not None:
                self._table[result.client] = row
                if self._pending.get(result.client) is row:
                    del self._pending[result.client]

    def forget(self, consumed: list[int]) -> float:
        """Drops the results of these jobs, and returns the seconds that the server worked for
        them."""
        return sum(self._results.pop(index).server_seconds for index in consumed)
