"""Facts about a plan that are not in its columns: the work of jobs that did not end, and when
clients were away."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedbench import _core
from fedbench.kernels.scheduler import Chunk, Scheduler


class Hindsight:
    """Answers questions about a scheduler's plan, from the same random draws. The scheduler may go
    on planning. Times are in nanoseconds."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._core = _core.Hindsight(scheduler.core)

    def done(
        self, chunk: Chunk, steps: npt.NDArray[np.int32], begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Returns what the jobs of a chunk (J,) did before they were stopped: their time of work
        (int64), whole local steps (int32) and mini-batch gradients (int64).

        Args:
            chunk: the jobs.
            steps: the local steps that each would have done.
            begin: when each began to compute.
            end: when each was stopped. Time away does not count where work pauses.
        """
        return self._core.done(chunk.client, chunk.k, steps, begin, end)

    def is_left(self, client: npt.NDArray[np.int32], time: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Returns whether each `client` (J,) lost what it had at `time` (J,) because it left."""
        return self._core.is_left(client, time)

    def there(self, until: int) -> npt.NDArray[np.int64]:
        """Returns how long every client is available before `until` (N,)."""
        return self._core.there(until)

    def stays(self, client: int, until: int) -> list[tuple[int, int]]:
        """Returns the periods [on, off) in which the client is available, from those that begin
        before `until`, cut to it."""
        return self._core.stays(client, until)
