"""Counts jobs that no update used: lost ones, whose client left or dropped out, and late ones,
which the server called off."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedbench.kernels.hindsight import Hindsight
from fedbench.kernels.scheduler import Chunk
from fedbench.types import Dispatch, Poll

NEVER = -1
LATEST = np.iinfo(np.int64).max
Times = npt.NDArray[np.int64]


def lost_at(chunk: Chunk, end_ns: int) -> Times:
    """Returns when every job of a chunk was lost (J,), NEVER for those that were not lost by the
    end of the plan."""
    return np.where(chunk.t_lost <= end_ns, chunk.t_lost, NEVER)


class UnusedJobs:
    """Adds up the lost and the late jobs of a plan, and computes what jobs did until they were
    stopped."""

    def __init__(self, dispatch: Dispatch, hindsight: Hindsight) -> None:
        self.dispatch, self.hindsight = dispatch, hindsight
        self.left = self.dropped_out = self.late = 0
        self.busy_ns = 0

    def add(
        self, chunk: Chunk, end_ns: int, gradients: npt.NDArray[np.int64]
    ) -> tuple[Times, npt.NDArray[np.int32], npt.NDArray[np.int64], Times]:
        """Counts the unused jobs of a chunk, and returns what all of its jobs did.

        Args:
            chunk: the next chunk of the plan.
            end_ns: the end of the plan.
            gradients: the mini-batch gradients of whole jobs (J,).

        Returns:
            Four columns (J,): the nanoseconds of work by the end of the plan; the steps and the
            mini-batch gradients that a job did or will have done; and when it did the last of them
            (NEVER: it has not).
        """
        lost, late = lost_at(chunk, end_ns), chunk.t_stop
        gone = np.maximum(lost, late)
        stopped = np.where(chunk.t_finish >= 0, chunk.t_finish, gone)
        begun = chunk.t_start >= 0
        until = np.where(begun, np.minimum(np.where(stopped >= 0, stopped, LATEST), end_ns), 0)
        able = np.full_like(chunk.steps, self.dispatch.max_steps) if isinstance(self.dispatch, Poll) else chunk.steps
        worked, steps, computed = self.hindsight.done(chunk, able, np.where(begun, chunk.t_start, 0), until)
        is_gone = gone >= 0
        self._count(chunk, lost, late)
        self.busy_ns += int(worked[is_gone].sum())
        return worked, np.where(is_gone, steps, chunk.steps), np.where(is_gone, computed, gradients), stopped

    def _count(self, chunk: Chunk, lost: Times, late: Times) -> None:
        is_lost = lost >= 0
        left = int(self.hindsight.is_left(chunk.client[is_lost], lost[is_lost]).sum())
        self.left += left
        self.dropped_out += int(is_lost.sum()) - left
        self.late += int((late >= 0).sum())
