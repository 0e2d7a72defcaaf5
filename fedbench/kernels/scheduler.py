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
from fedbench.kernels import checks, inputs
from fedbench.types import Broadcast, Dispatch, Mailbox, Poll, Rounds, Stream, Weights

OUTCOMES: dict[_core.Outcome, Literal["running", "finished", "stalled"]] = {
    _core.Outcome.running: "running",
    _core.Outcome.finished: "finished",
    _core.Outcome.stalled: "stalled",
}
NANOSECONDS = inputs.NANOSECONDS
LARGEST_64 = (1 << 64) - 1
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
                clients=checks.whole("clients", timing.clients, 0, inputs.LARGEST),
                seed=checks.whole("seed", timing.seed, 0, LARGEST_64),
                compute=_duration("compute", timing.compute),
                download=_duration("download", timing.download),
                upload=_duration("upload", timing.upload),
                steps=_steps(timing.steps if dispatch.steps is None else LocalSteps(values=dispatch.steps)),
                start_ns=inputs.nanoseconds("start_seconds", timing.start_seconds),
                policy=_policy(dispatch, p),
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


def _duration(name: str, d: Duration) -> _core.Durations:
    kind = _named(_core.DurationKind, d.kind, f"{name}: kind")
    if kind is _core.DurationKind.table:
        return _core.Durations.table(
            name=name, rows=inputs.table(name, d.rows, checks.number), per_step=inputs.flag(f"{name}: per_step", d.per_step)
        )
    return _core.Durations(
        name=name,
        kind=kind,
        a=inputs.parameter(f"{name}: a", d.a),
        b=inputs.not_infinite(f"{name}: b", d.b),
        per_step=inputs.flag(f"{name}: per_step", d.per_step),
    )


def _steps(steps: LocalSteps) -> _core.Steps:
    if steps.normal is not None:
        return _core.Steps.normal(*inputs.mean_and_variance("steps", steps.normal))
    rows = inputs.table("steps", steps.rows, inputs.size)
    if rows:
        return _core.Steps.table(rows)
    return _core.Steps.constant(inputs.whole_numbers("steps", () if steps.values is None else steps.values))


E = TypeVar("E", bound=enum.Enum)


def _named(kind: type[E], name: object, what: str) -> E:
    if not isinstance(name, str) or name not in kind.__members__:
        raise UsageError(f"{what} must be one of {', '.join(kind.__members__)}, got {checks.brief(name)}")
    return kind[name]


def _policy(dispatch: Dispatch, p: Weights | None) -> Any:
    match dispatch:
        case Rounds():
            return _core.Rounds(
                select=_named(_core.Select, dispatch.select, "rounds: select"),
                cohort=inputs.size("rounds: cohort_size", dispatch.cohort_size),
                probabilities=inputs.parameter("rounds: p", p).tolist(),
                selections=inputs.table("rounds: selections", dispatch.selections, inputs.client),
            )
        case Stream():
            return _core.StreamPolicy(
                concurrency=inputs.size("stream: concurrency", dispatch.concurrency),
                buffer=inputs.size("stream: buffer_size", dispatch.buffer_size),
                restart=_named(_core.Restart, dispatch.restart, "stream: restart"),
                order=_named(_core.DispatchOrder, dispatch.order, "stream: order"),
                initial=inputs.clients("stream: initial", dispatch.initial),
                replacements=inputs.clients(
                    "stream: replacements", () if dispatch.replacements is None else dispatch.replacements
                ),
                scripted=dispatch.replacements is not None,
            )
        case Broadcast():
            return _core.Broadcast(
                buffer=inputs.size("broadcast: buffer_size", dispatch.buffer_size),
                receive=_named(_core.Receive, dispatch.receive, "broadcast: receive"),
            )
        case Mailbox():
            return _core.Mailbox(
                cohort=inputs.size("mailbox: cohort_size", dispatch.cohort_size),
                send=_named(_core.Send, dispatch.send, "mailbox: send"),
                receive=_named(_core.Receive, dispatch.receive, "mailbox: receive"),
                selections=inputs.table("mailbox: selections", dispatch.selections, inputs.client),
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
        period_seconds=checks.number("poll: period_seconds", dispatch.period_seconds),
        max_steps=inputs.size("poll: max_steps", dispatch.max_steps),
        cohort=inputs.size("poll: cohort_size", dispatch.cohort_size),
        selections=inputs.table("poll: selections", dispatch.selections, inputs.client),
    )
