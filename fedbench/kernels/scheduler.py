"""Front door of the scheduler: arrays in, a plan as columns out, in chunks."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from fedbench import _core
from fedbench.errors import UsageError
from fedbench.types import Broadcast, Dispatch, Mailbox, Poll, Rounds, Stream, Weights

NANOSECONDS = 1_000_000_000
OUTCOMES: dict[_core.Outcome, Literal["running", "finished", "stalled"]] = {
    _core.Outcome.running: "running",
    _core.Outcome.finished: "finished",
    _core.Outcome.stalled: "stalled",
}
Kind = Literal["constant", "uniform", "exponential", "lognormal", "pareto", "table"]


@dataclass(frozen=True, kw_only=True)
class Duration:
    """Seconds for every (client, job): a distribution with parameters a, b (one value, or one per client), or a scripted table.

    constant a; uniform on [a, b); exponential with mean a; lognormal exp(a + b z); pareto with scale a and shape b; table: one
    row per client, one entry per job. `per_step`: the value is one local step's.
    """

    kind: Kind = "constant"
    a: float | Weights = 0.0
    b: float | Weights | None = None
    per_step: bool = False
    rows: Sequence[Sequence[float]] = ()


@dataclass(frozen=True, kw_only=True)
class LocalSteps:
    """Local steps K: one number, one per client, a table per client and job, or max(1, floor(|Normal(mean, variance)|)) per job."""

    values: int | Sequence[int] | npt.NDArray[np.int32] | None = None
    rows: Sequence[Sequence[int]] = ()
    normal: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Timing:
    """All that the virtual clock needs to know about N clients. Seconds."""

    clients: int
    seed: int = 0
    compute: Duration = field(default_factory=Duration)
    download: Duration = field(default_factory=Duration)
    upload: Duration = field(default_factory=Duration)
    steps: LocalSteps = field(default_factory=lambda: LocalSteps(values=1))
    start_seconds: float = 0.0
    max_updates: int = 1
    max_seconds: float = 1e9
    max_jobs: int = 1 << 40


class Chunk(Protocol):
    """A piece of a plan as columns: jobs in the order in which they were closed, then the updates (CSR into the jobs).

    Job columns int32 `client`, `k`, `base`, `steps`, `consumed_by` (-1: never); int64 nanoseconds `t_dispatch`, `t_start`,
    `t_finish`, `t_arrive` (-1: never). Update u turns version `first_version` + u into the next at `time[u]` and consumes the
    jobs `entries[offsets[u]:offsets[u + 1]]`. `live_bases`: versions that later chunks may still need.
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
    def time(self) -> npt.NDArray[np.int64]: ...
    @property
    def offsets(self) -> npt.NDArray[np.int64]: ...
    @property
    def entries(self) -> npt.NDArray[np.int64]: ...
    @property
    def live_bases(self) -> npt.NDArray[np.int32]: ...


class Scheduler:
    """Plays the virtual clock. `next(max_updates)` returns chunks until one is `done`; then `outcome` is finished or stalled.

    The plan is a pure function of the arguments, bit-identical on every machine and for every cutting into chunks. Raises
    UsageError for values out of range, for configurations that provably never update, and for scripted lists that run out.
    """

    def __init__(self, timing: Timing, dispatch: Dispatch, *, p: Weights | None = None) -> None:
        try:
            self._core = _core.Scheduler(
                clients=timing.clients,
                seed=timing.seed,
                compute=_duration("compute", timing.compute),
                download=_duration("download", timing.download),
                upload=_duration("upload", timing.upload),
                steps=_steps(timing.steps if dispatch.steps is None else LocalSteps(values=dispatch.steps)),
                start_ns=round(timing.start_seconds * NANOSECONDS),
                policy=_policy(dispatch, p),
                max_updates=timing.max_updates,
                max_seconds=timing.max_seconds,
                max_jobs=timing.max_jobs,
            )
        except (ValueError, TypeError) as error:
            raise UsageError(str(error)) from None

    def next(self, max_updates: int = 1 << 30) -> Chunk:
        try:
            return self._core.next(max_updates)
        except ValueError as error:
            raise UsageError(str(error)) from None

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
        """jobs (created), downloads (models sent), messages_peak (versions kept at one time), open_jobs_peak."""
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
        whom = f"waiting for clients {missing[:10]}" if missing else "no client works and none can start"
        return f"stalled before update {self._core.version + 1}: {whom}, at {self._core.now / NANOSECONDS:g} virtual seconds"


def _parameter(value: float | Weights | None) -> Weights:
    return np.empty(0) if value is None else np.ascontiguousarray(np.atleast_1d(value), np.float64)


def _duration(name: str, d: Duration) -> _core.Durations:
    if d.kind == "table":
        return _core.Durations.table(name=name, rows=d.rows, per_step=d.per_step)
    return _core.Durations(
        name=name,
        kind=_named(_core.DurationKind, d.kind, f"{name}: kind"),
        a=_parameter(d.a),
        b=_parameter(d.b),
        per_step=d.per_step,
    )


def _steps(steps: LocalSteps) -> _core.Steps:
    if steps.normal is not None:
        return _core.Steps.normal(*steps.normal)
    if steps.rows:
        return _core.Steps.table(steps.rows)
    values = np.atleast_1d(np.asarray(steps.values if steps.values is not None else ()))
    if values.size == 0 or values.dtype.kind not in "iu" or values.min() < 0 or values.max() >= 1 << 31:
        raise UsageError(f"steps: expected whole numbers between 0 and 2147483647, one or one per client, got {steps.values!r}")
    return _core.Steps.constant(np.ascontiguousarray(values, np.int32))


E = TypeVar("E", bound=enum.Enum)


def _named(kind: type[E], name: str, what: str) -> E:
    if name not in kind.__members__:
        raise UsageError(f"{what} must be one of {', '.join(kind.__members__)}, got {name!r}")
    return kind[name]


def _policy(dispatch: Dispatch, p: Weights | None) -> Any:
    match dispatch:
        case Rounds():
            return _core.Rounds(
                select=_named(_core.Select, dispatch.select, "rounds: select"),
                cohort=dispatch.cohort_size,
                probabilities=[] if p is None else p.tolist(),
                selections=dispatch.selections,
            )
        case Stream():
            return _core.StreamPolicy(
                concurrency=dispatch.concurrency,
                buffer=dispatch.buffer_size,
                restart=_named(_core.Restart, dispatch.restart, "stream: restart"),
                order=_named(_core.DispatchOrder, dispatch.order, "stream: order"),
                initial=dispatch.initial,
                replacements=dispatch.replacements or (),
                scripted=dispatch.replacements is not None,
            )
        case Broadcast():
            return _core.Broadcast(
                buffer=dispatch.buffer_size, receive=_named(_core.Receive, dispatch.receive, "broadcast: receive")
            )
        case Mailbox():
            return _core.Mailbox(
                cohort=dispatch.cohort_size,
                send=_named(_core.Send, dispatch.send, "mailbox: send"),
                receive=_named(_core.Receive, dispatch.receive, "mailbox: receive"),
                selections=dispatch.selections,
            )
        case Poll():
            return _poll(dispatch)
    raise UsageError(f"dispatch: expected Rounds, Stream, Broadcast, Mailbox or Poll, got {type(dispatch).__name__}")


def _poll(dispatch: Poll) -> _core.Poll:
    if dispatch.steps is not None:
        raise UsageError(
            f"poll: the steps of a job are known at its poll only; give max_steps, not steps, got steps={dispatch.steps}"
        )
    return _core.Poll(
        period_seconds=dispatch.period_seconds,
        max_steps=dispatch.max_steps,
        cohort=dispatch.cohort_size,
        selections=dispatch.selections,
    )
