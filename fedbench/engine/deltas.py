"""The matrices into which jobs write their progress, if that is all that they send: each update
sums one of them."""

from __future__ import annotations

import numpy as np

from fedbench.engine.trainers.base import Places
from fedbench.engine.waves import Indices
from fedbench.kernels.scheduler import Chunk
from fedbench.types import Integers, Vector


def groups(values: Integers) -> tuple[Integers, Indices, Indices]:
    """Returns the distinct values, where each is first, and for every value which of them it is.
    There is at least one; mostly all are the same."""
    if (values == values[0]).all():
        return values[:1], np.zeros(1, np.int64), np.zeros(len(values), np.int64)
    return np.unique(values, return_index=True, return_inverse=True)


class Deltas:
    """Holds a matrix (jobs, d) for every update of a chunk of which a job has run. Its rows are in
    the order in which the update consumes the jobs. It lies where the model `x` (d,) does."""

    def __init__(self, chunk: Chunk, x: Vector) -> None:
        self._x = x
        self._update = chunk.consumed_by
        used = np.flatnonzero(self._update >= 0)
        updates = self._update[used]  # ascending: a job is emitted when it is consumed
        self._row = np.zeros(len(self._update), np.int64)
        self._row[used] = np.arange(len(used)) - np.searchsorted(updates, updates)
        self._sizes = dict(zip(*(part.tolist() for part in np.unique(updates, return_counts=True)), strict=True))
        self._matrices: dict[int, Vector] = {}

    def places(self, jobs: Indices) -> Places:
        """Returns a row for each of these jobs (n,), which are indices into the chunk."""
        updates, _, which = groups(self._update[jobs])
        for update in updates.tolist():
            if update not in self._matrices:
                self._matrices[update] = np.empty_like(self._x, shape=(self._sizes[update], len(self._x)))
        return Places([self._matrices[update] for update in updates.tolist()], which, self._row[jobs])

    def take(self, update: int, entries: Indices) -> Vector:
        """Returns a matrix (K, d) with a row for each of the update's entries (K,), all of whose
        jobs have run, and forgets the update."""
        matrix, rows = self._matrices.pop(update), self._row[entries]
        return matrix if np.array_equal(rows, np.arange(len(matrix))) else matrix[rows]
