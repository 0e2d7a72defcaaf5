"""The facts about clients that the virtual clock needs, as data: durations, local steps,
availability and drop-out; and their conversion to the types of the core."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from fedbench import _core
from fedbench.errors import UsageError, nearest
from fedbench.kernels import checks, inputs
from fedbench.kernels.traces import Traced, to_traces
from fedbench.types import Integers, Weights

NANOSECONDS = inputs.NANOSECONDS
Kind = Literal["constant", "uniform", "exponential", "lognormal", "pareto", "table"]


@dataclass(frozen=True, kw_only=True)
class Duration:
    """The seconds that every job of every client takes, drawn or scripted.

    Durations are made by the name of their distribution, such as `Duration.uniform(1, 2)`. Every
    number is one for all clients, or one per client (N,). With `per_step` the seconds are those of
    one local step. The fields a and b are the numbers in the order in which they are given.
    """

    kind: Kind = "constant"
    a: float | Weights = 0.0
    b: float | Weights | None = None
    per_step: bool = False
    rows: Sequence[Sequence[float]] = ()

    @classmethod
    def constant(cls, seconds: float | Weights, *, per_step: bool = False) -> Self:
        return cls(kind="constant", a=seconds, per_step=per_step)

    @classmethod
    def uniform(cls, low: float | Weights, high: float | Weights, *, per_step: bool = False) -> Self:
        """Returns durations that are uniform on [low, high)."""
        return cls(kind="uniform", a=low, b=high, per_step=per_step)

    @classmethod
    def exponential(cls, mean: float | Weights, *, per_step: bool = False) -> Self:
        return cls(kind="exponential", a=mean, per_step=per_step)

    @classmethod
    def lognormal(cls, log_mean: float | Weights, log_sigma: float | Weights, *, per_step: bool = False) -> Self:
        """Returns durations exp(log_mean + log_sigma z) with z ~ N(0, 1)."""
        return cls(kind="lognormal", a=log_mean, b=log_sigma, per_step=per_step)

    @classmethod
    def pareto(cls, scale: float | Weights, shape: float | Weights, *, per_step: bool = False) -> Self:
        """Returns durations that are at least `scale`, and more than t with probability
        (scale / t)^shape."""
        return cls(kind="pareto", a=scale, b=shape, per_step=per_step)

    @classmethod
    def table(cls, rows: Sequence[Sequence[float]], *, per_step: bool = False) -> Self:
        """Returns scripted durations, with one row per client and one entry per job."""
        return cls(kind="table", rows=rows, per_step=per_step)


@dataclass(frozen=True, kw_only=True)
class LocalSteps:
    """The local steps of every job. `values` has one number for all jobs, or one per client. `rows`
    has a row per client with a number for every job. `normal` is (mean, variance) and draws
    max(1, floor(|Normal(mean, variance)|)) for every job."""

    values: int | Sequence[int] | Integers | None = None
    rows: Sequence[Sequence[int]] = ()
    normal: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Gradients:
    """The mini-batch gradients that a job computes: `per_step` in each of its local steps, and
    `beside` them one number per client (N,), where None is none. Compute durations are those of one
    gradient a step. A job with more takes longer in proportion."""

    per_step: int = 1
    beside: npt.NDArray[np.int32] | None = None

    def of(self, client: npt.NDArray[np.int32], steps: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Returns how many gradients jobs (J,) of these clients compute in so many steps."""
        in_steps = steps.astype(np.int64) * self.per_step
        return in_steps if self.beside is None else in_steps + self.beside[client]


@dataclass(frozen=True, kw_only=True)
class Availability:
    """When clients are available: windows [on, off) of virtual time that depend on seed and client.
    Every number is one for all clients, or one per client (N,).

    The kinds:
        always: all the time.
        periodic: for the first `on_fraction` of every `period_seconds`. At time 0 a client is the
            fraction `phase` into its period; None draws it uniformly.
        alternating: for independent exponential times of mean `mean_on_seconds`, and then away for
            such times of mean `mean_off_seconds`, stationary from time 0.
        table: `rows` has for every client its (on_from, off_at) pairs, ascending and apart. With
            `period_seconds` they repeat.

    `when_offline` says what happens to the job of a client that leaves before its upload has
    arrived. Either it is lost at that instant (lost), or download, computing and upload wait until
    the client is back (paused). The job of a client that never comes back is lost.
    """

    kind: Literal["always", "periodic", "alternating", "table"] = "always"
    period_seconds: float | Weights | None = None
    on_fraction: float | Weights | None = None
    phase: float | Weights | None = None
    mean_on_seconds: float | Weights | None = None
    mean_off_seconds: float | Weights | None = None
    rows: Sequence[Sequence[tuple[float, float]] | Weights] = ()
    when_offline: Literal["lost", "paused"] = "lost"


@dataclass(frozen=True, kw_only=True)
class Timing:
    """All facts about the N clients that the virtual clock needs. Times are in seconds.

    `dropout` is the probability that a job is lost although its client stays, at a uniform instant
    of its run. It is one number, or one per client (N,). `server_seconds` is what the server's own
    work for an update takes: it makes one update after the other, and a version exists when the
    work for it is done.
    """

    clients: int
    seed: int = 0
    compute: Duration = field(default_factory=Duration)
    download: Duration | Traced = field(default_factory=Duration)
    upload: Duration | Traced = field(default_factory=Duration)
    steps: LocalSteps = field(default_factory=lambda: LocalSteps(values=1))
    gradients: Gradients = field(default_factory=Gradients)
    availability: Availability = field(default_factory=Availability)
    dropout: float | Weights = 0.0
    start_seconds: float = 0.0
    server_seconds: float = 0.0
    max_updates: int = 1
    max_seconds: float = 1e9
    max_jobs: int = 1 << 40


E = TypeVar("E", bound=enum.Enum)


def named(kind: type[E], name: object, what: str) -> E:
    """Returns the member of an enumeration of the core. UsageError lists the names if there is no
    such member."""
    if not isinstance(name, str) or name not in kind.__members__:
        raise UsageError(f"{what} must be one of {', '.join(kind.__members__)}, got {checks.brief(name)}")
    return kind[name]


# The conversions raise UsageError, TypeError or ValueError, which name the field.


def to_durations(name: str, d: Duration) -> _core.Durations:
    kind = named(_core.DurationKind, d.kind, f"{name}: kind")
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


def to_transfer(name: str, transfer: Duration | Traced) -> _core.Durations | _core.Traces:
    return to_traces(name, transfer) if isinstance(transfer, Traced) else to_durations(name, transfer)


def to_steps(steps: LocalSteps) -> _core.Steps:
    if steps.normal is not None:
        return _core.Steps.normal(*inputs.mean_and_variance("steps", steps.normal))
    rows = inputs.table("steps", steps.rows, inputs.size)
    if rows:
        return _core.Steps.table(rows)
    return _core.Steps.constant(inputs.whole_numbers("steps", () if steps.values is None else steps.values))


WINDOWS = {
    "always": (),
    "periodic": ("period_seconds", "on_fraction", "phase"),
    "alternating": ("mean_on_seconds", "mean_off_seconds"),
    "table": ("rows", "period_seconds"),
}


def to_availability(a: Availability) -> _core.Availability:
    if str(a.kind) not in WINDOWS:
        near = nearest(str(a.kind), WINDOWS)
        raise UsageError(f"availability: kind must be one of {', '.join(WINDOWS)}, got {checks.brief(a.kind)}{near}")
    for f in fields(a):
        is_given = f.name not in ("kind", "when_offline") and getattr(a, f.name) is not f.default
        if is_given and f.name not in WINDOWS[a.kind]:
            options = ", ".join(WINDOWS[a.kind]) or "no options"
            raise UsageError(f"availability: {f.name} says nothing about kind {a.kind!r}, which takes {options}")
    numbers = {name: inputs.parameter(f"availability: {name}", getattr(a, name)) for name in WINDOWS[a.kind] if name != "rows"}
    if a.kind == "periodic":
        return _core.Availability.periodic(*numbers.values())
    if a.kind == "alternating":
        return _core.Availability.alternating(*numbers.values())
    if a.kind == "table":
        return _table(a.rows, numbers["period_seconds"])
    return _core.Availability()


def _table(windows: Sequence[Sequence[tuple[float, float]] | Weights], period: Weights) -> _core.Availability:
    if period.size > 1:
        raise UsageError(f"availability: a table has one period_seconds for all clients, got {period.size}")
    names = ((f"availability: rows[{client}]", row) for client, row in enumerate(inputs.sequence("availability: rows", windows)))
    return _core.Availability.table([_pairs(name, row) for name, row in names], float(period[0]) if period.size else 0.0)


def _pairs(name: str, row: object) -> list[float]:
    """Returns on_from, off_at, on_from, .. of one client."""
    if checks.is_plain(row) and row.dtype == np.float64 and row.ndim == 2 and row.shape[1] == 2:
        return row.ravel().tolist()
    numbers: list[float] = []
    for k, pair in enumerate(inputs.sequence(name, row)):
        both = inputs.sequence(f"{name}[{k}]", pair)
        if len(both) != 2:
            raise UsageError(f"{name}[{k}]: expected (on_from, off_at) seconds, got {len(both)} numbers")
        numbers += [checks.number(f"{name}[{k}]", number) for number in both]
    return numbers
