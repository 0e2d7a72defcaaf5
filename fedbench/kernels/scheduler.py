"""The scheduler: it plays the virtual clock, and returns the plan of a run in chunks of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from fedbench import _core
from fedbench.errors import UsageError
from fedbench.kernels import checks, inputs
from fedbench.kernels.policies import to_policy
from fedbench.kernels.timing import (
    NANOSECONDS,
    Availability,
    Duration,
    Gradients,
    LocalSteps,
    Timing,
    named,
    to_availability,
    to_durations,
    to_steps,
    to_transfer,
)
from fedbench.types import Dispatch, Integers, Weights

__all__ = ["NANOSECONDS", "Availability", "Chunk", "Duration", "Gradients", "LocalSteps", "Scheduler", "Timing", "route"]

LARGEST_64 = (1 << 64) - 1

Chunk = _core.PlanChunk
"""A piece of a plan as columns.

Jobs stand in the order in which they were closed. Their columns are `client`, `k`, `base`,
`steps` and `consumed_by` (the version before its update; -1 is never), all int32, and in int64
nanoseconds `t_dispatch`, `t_start`, `t_finish`, `t_arrive` (-1 is never), `t_lost` (-1: it was
not lost) and `t_stop` (-1: the server did not call it off). A time that had not come by
`t_lost` or `t_stop` is -1. The times of a job that was open when the plan ended are those that
were to come.

Update u turns version `first_version` + u into the next one at `time[u]`, and consumes the jobs
`entries[offsets[u]:offsets[u + 1]]`. `resumed` has the int64 nanoseconds at which jobs were
dispatched from a version that their client held already, so that nothing was sent for them.
`live_bases` are the versions that later chunks may still need.
"""


class Scheduler:
    """Plays the virtual clock.

    `next(max_updates)` returns chunks until one is `done`; then `outcome` is finished or stalled.
    With Rounds(select="external") it also returns at the start of every round. Then
    `awaiting_selection` is true, and select() gives the clients of the round.

    The plan depends on nothing but the arguments, and has the same bits on every machine and for
    all sizes of chunks. UsageError for values out of range, for configurations that provably never
    update, and for scripted lists that run out.
    """

    def __init__(self, timing: Timing, dispatch: Dispatch, *, p: Weights | None = None) -> None:
        try:
            self.core = _core.Scheduler(
                clients=checks.whole("clients", timing.clients, 0, inputs.LARGEST),
                seed=checks.whole("seed", timing.seed, 0, LARGEST_64),
                compute=to_durations("compute", timing.compute),
                download=to_transfer("download", timing.download),
                upload=to_transfer("upload", timing.upload),
                steps=to_steps(timing.steps if dispatch.steps is None else LocalSteps(values=dispatch.steps)),
                availability=to_availability(timing.availability),
                when_offline=named(_core.WhenOffline, timing.availability.when_offline, "availability: when_offline"),
                dropout=inputs.parameter("dropout", timing.dropout),
                gradients_per_step=inputs.size("gradients: per_step", timing.gradients.per_step),
                gradients_beside=_beside(timing.gradients),
                start_ns=inputs.nanoseconds("start_seconds", timing.start_seconds),
                server_ns=inputs.nanoseconds("server_seconds", timing.server_seconds),
                policy=to_policy(dispatch, p),
                max_updates=checks.whole("budget.updates", timing.max_updates, 0, inputs.LARGEST),
                max_seconds=checks.number("budget.seconds", timing.max_seconds),
                max_jobs=checks.whole("budget.jobs", timing.max_jobs, 0, LARGEST_64 >> 1),
            )
        except (ValueError, TypeError) as error:
            raise UsageError(str(error)) from None

    def next(self, max_updates: int = 1 << 30) -> Chunk:
        try:
            return self.core.next(checks.whole("max_updates", max_updates, 0, inputs.LARGEST))
        except (ValueError, TypeError) as error:
            raise UsageError(str(error)) from None

    @property
    def awaiting_selection(self) -> bool:
        """Whether a round of Rounds(select="external") waits for select()."""
        return self.core.awaiting_selection

    @property
    def available(self) -> npt.NDArray[np.int32]:
        """The clients that are available now, ascending."""
        return self.core.available

    def select(self, clients: Sequence[int] | Integers) -> None:
        """Gives the clients of the round that waits for them, repeated if they count several times.
        Clients that are away are dropped. Then next() goes on.

        UsageError if no round waits, or if the selection is empty or has a client that does not
        exist; the round then still waits.
        """
        chosen = np.asarray(clients)
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
            raise UsageError(f"select: expected whole numbers (n,), got {clients!r}")
        try:
            self.core.select(np.ascontiguousarray(np.clip(chosen, -1, 2**31 - 1), np.int32))
        except ValueError as error:
            raise UsageError(str(error)) from None

    @property
    def outcome(self) -> Literal["running", "finished", "stalled"]:
        return self.core.outcome

    @property
    def ended_by(self) -> str:
        """What ended the plan: updates, time, jobs or stalled. Empty text while it goes on."""
        return self.core.ended_by

    @property
    def end_ns(self) -> int:
        """The virtual time up to which the plan reaches: the time budget, or the last event."""
        return self.core.end

    @property
    def totals(self) -> dict[str, int]:
        """Counts over the plan so far: jobs created, models sent (downloads), and the largest
        numbers of versions (messages_peak) and of open jobs (open_jobs_peak) at one time."""
        return self.core.totals

    @property
    def stalled_message(self) -> str:
        """A sentence that says which update never comes, whom it waits for, and since when."""
        missing = self.core.missing
        more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
        whom = f"waiting for clients {missing[:10]}{more}" if missing else "no client works and none can start"
        return f"stalled before update {self.core.version + 1}: {whom}, at {self.core.now / NANOSECONDS:g} virtual seconds"


def route(p: Weights | Sequence[float], u: Weights) -> npt.NDArray[np.int32]:
    """Returns the clients to which tasks go, given one random number each.

    For every u in [0, 1) it is the first client i with u < p_0 + .. + p_i, or the last client. Sums
    are float64, in client order.

    Parameters
    ----------
    p : float64 array (N,) or sequence of float
        The probabilities of the clients, > 0, which sum to 1 within 1e-9.
    u : float64 array (K,)
        The random numbers.

    Returns
    -------
    int32 array (K,)
        The clients.

    Raises
    ------
    ValueError
        The probabilities are others.
    """
    return _core.route(inputs.parameter("route: p", np.asarray(p, np.float64)), inputs.parameter("route: u", u))


def _beside(gradients: Gradients) -> npt.NDArray[np.int32]:
    return np.empty(0, np.int32) if gradients.beside is None else inputs.whole_numbers("gradients: beside", gradients.beside)
