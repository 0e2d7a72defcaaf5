"""Looking back on a plan: what its columns do not tell about jobs that did not end, and about
absences."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedbench import _core
from fedbench.kernels.scheduler import Chunk, Scheduler


class Hindsight:
    """Answers from the same draws as the scheduler that it was made for, which may go on. Times in
    nanoseconds."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._core = _core.Hindsight(scheduler.core)

    def done(
        self, chunk: Chunk, steps: npt.NDArray[np.int32], begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Time of work int64, whole local steps int32 and mini-batch gradients int64 of every job
        of a chunk (J,) that began to compute at `begin` and was stopped at `end`; `steps` are all
        that it could do. Time away does not count where work pauses."""
        return self._core.done(chunk.client, chunk.k, steps, begin, end)

    def is_left(self, client: npt.NDArray[np.int32], time: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Did `client` (J,) lose what it had at `time` (J,) because it left?"""
        return self._core.is_left(client, time)

    def there(self, until: int) -> npt.NDArray[np.int64]:
        """How long every client is there before `until` (N,)."""
        return self._core.there(until)

    def stays(self, client: int, until: int) -> list[tuple[int, int]]:
        """The client's stays [on, off) that begin before `until`, cut to it."""
        return self._core.stays(client, until)
