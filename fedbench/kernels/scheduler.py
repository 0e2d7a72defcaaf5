"""Front door of the scheduler: arrays in, a plan as columns out, in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

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
from fedbench.types import Dispatch, Weights

__all__ = ["NANOSECONDS", "Availability", "Chunk", "Duration", "Gradients", "LocalSteps", "Scheduler", "Timing", "route"]

OUTCOMES: dict[_core.Outcome, Literal["running", "finished", "stalled"]] = {
    _core.Outcome.running: "running",
    _core.Outcome.finished: "finished",
    _core.Outcome.stalled: "stalled",
}
LARGEST_64 = (1 << 64) - 1


class Chunk(Protocol):
    """A piece of a plan as columns: jobs in the order in which they were closed, then the updates
    (CSR into the jobs).

    Job columns int32 `client`, `k`, `base`, `steps`, `consumed_by` (-1: never); int64 nanoseconds
    `t_dispatch`, `t_start`, `t_finish`, `t_arrive` (-1: never), `t_lost` (-1: not lost), `t_stop`
    (-1: the server did not call it off). What had not happened by `t_lost` or `t_stop` is -1. Jobs
    still open when the plan ended show what was to come. Update u turns version `first_version` + u
    into the next at `time[u]` and consumes the jobs `entries[offsets[u]:offsets[u + 1]]`.
    `resumed`: int64 nanoseconds at which jobs were dispatched from a version that their client
    held, so that nothing was sent for them. `live_bases`: versions that later chunks may still
    need.
    """

    @property
    def first_version(self) -> int: ...
    @property
    def done(self) -> bool: ...
    @property
    def client(self) -> npt.NDArray[np.int32]: ...
    @property
    def k(self) -> npt.NDArray[np.int32]: ...
    @property
    def base(self) -> npt.NDArray[np.int32]: ...
    @property
    def steps(self) -> npt.NDArray[np.int32]: ...
    @property
    def consumed_by(self) -> npt.NDArray[np.int32]: ...
    @property
    def t_dispatch(self) -> npt.NDArray[np.int64]: ...
    @property
    def t_start(self) -> npt.NDArray[np.int64]: ...
    @property
    def t_finish(self) -> npt.NDArray[np.int64]: ...
    @property
    def t_arrive(self) -> npt.NDArray[np.int64]: ...
    @property
    def t_lost(self) -> npt.NDArray[np.int64]: ...
    @property
    def t_stop(self) -> npt.NDArray[np.int64]: ...
    @property
    def time(self) -> npt.NDArray[np.int64]: ...
    @property
    def offsets(self) -> npt.NDArray[np.int64]: ...
    @property
    def entries(self) -> npt.NDArray[np.int64]: ...
    @property
    def resumed(self) -> npt.NDArray[np.int64]: ...
    @property
    def live_bases(self) -> npt.NDArray[np.int32]: ...


class Scheduler:
    """Plays the virtual clock. `next(max_updates)` returns chunks until one is `done`; then
    `outcome` is finished or stalled. With Rounds(select="external") it returns at the start of
    every round, `awaiting_selection`, and select() answers.

    The plan is a pure function of the arguments, bit-identical on every machine and for every
    cutting into chunks. Raises UsageError for values out of range, for configurations that provably
    never update, and for scripted lists that run out.
    """

    def __init__(self, timing: Timing, dispatch: Dispatch, *, p: Weights | None = None) -> None:
        try:
            self._core = _core.Scheduler(
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
                policy=to_policy(dispatch, p),
                max_updates=checks.whole("budget.updates", timing.max_updates, 0, inputs.LARGEST),
                max_seconds=checks.number("budget.seconds", timing.max_seconds),
                max_jobs=checks.whole("budget.jobs", timing.max_jobs, 0, LARGEST_64 >> 1),
            )
        except (ValueError, TypeError) as error:
            raise UsageError(str(error)) from None

    def next(self, max_updates: int = 1 << 30) -> Chunk:
        try:
            return self._core.next(checks.whole("max_updates", max_updates, 0, inputs.LARGEST))
        except (ValueError, TypeError) as error:
            raise UsageError(str(error)) from None

    @property
    def awaiting_selection(self) -> bool:
        """Does a round of Rounds(select="external") wait for select()?"""
        return self._core.awaiting_selection

    @property
    def available(self) -> npt.NDArray[np.int32]:
        """The clients that are there now, ascending."""
        return self._core.available

    def select(self, clients: Sequence[int] | npt.NDArray[np.integer[Any]]) -> None:
        """The clients of the round that is asked for, with multiplicity; those that are away are
        dropped. Then call next() again.

        Raises UsageError, and asks on, if nothing is asked, or the selection is empty or names a
        client that does not exist.
        """
        chosen = np.asarray(clients)
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
            raise UsageError(f"select: expected whole numbers (n,), got {clients!r}")
        try:
            self._core.select(np.ascontiguousarray(np.clip(chosen, -1, 2**31 - 1), np.int32))
        except ValueError as error:
            raise UsageError(str(error)) from None

    @property
    def core(self) -> _core.Scheduler:
        """The scheduler behind this front door, for the others of this room."""
        return self._core

    @property
    def outcome(self) -> Literal["running", "finished", "stalled"]:
        return OUTCOMES[self._core.outcome]

    @property
    def ended_by(self) -> str:
        """updates, time, jobs or stalled; empty while running."""
        return self._core.ended_by

    @property
    def end_ns(self) -> int:
        """The plan covers virtual time up to here: the time budget, or the last event."""
        return self._core.end

    @property
    def totals(self) -> dict[str, int]:
        """jobs (created), downloads (models sent), messages_peak (versions kept at one time),
        open_jobs_peak."""
        core = self._core
        return {
            "jobs": core.jobs_created,
            "downloads": core.downloads,
            "messages_peak": core.messages_peak,
            "open_jobs_peak": core.open_jobs_peak,
        }

    @property
    def stalled_message(self) -> str:
        """Which update never comes, whom it waits for, and since when."""
        missing = self._core.missing
        more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
        whom = f"waiting for clients {missing[:10]}{more}" if missing else "no client works and none can start"
        return f"stalled before update {self._core.version + 1}: {whom}, at {self._core.now / NANOSECONDS:g} virtual seconds"


def route(p: Weights | Sequence[float], u: Weights) -> npt.NDArray[np.int32]:
    """Where tasks go: for every u (K,) in [0, 1) the first client i with u < p_0 + .. + p_i, or the
    last client.

    `p` (N,): probabilities > 0 that sum to 1 within 1e-9; ValueError otherwise. Sums are float64,
    in client order.
    """
    return _core.route(inputs.parameter("route: p", np.asarray(p, np.float64)), inputs.parameter("route: u", u))


def _beside(gradients: Gradients) -> npt.NDArray[np.int32]:
    return np.empty(0, np.int32) if gradients.beside is None else inputs.whole_numbers("gradients: beside", gradients.beside)
