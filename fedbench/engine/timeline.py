"""Tells what each client does when, and what becomes of it, for a window of a plan, as plain
data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Literal

import numpy as np
import numpy.typing as npt

from fedbench.engine.plan import pieces
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.engine.unused_jobs import LATEST, lost_at
from fedbench.errors import UsageError
from fedbench.kernels.hindsight import Hindsight
from fedbench.kernels.scheduler import NANOSECONDS, Chunk, Scheduler

Fate = Literal["used", "late", "lost", "unused"]
JOB_COLUMNS = ("client", "k", "base", "steps", "consumed_by", "t_dispatch", "t_start", "t_finish", "t_arrive", "t_lost")


@dataclass(frozen=True)
class Job:
    """One local training within the window. Times are virtual seconds; a time is None if the job
    had not come so far by the end of the window.

    Attributes:
        begin: when the download begins.
        train, upload, arrive: when it starts to train, starts to upload and has arrived.
        end: when it has arrived, was called off or lost, or the end of the window.
        fate: used by an update; late if its round was closed without it; lost if its client left or
            dropped out; unused by the end of the plan.
        staleness: of a used job, the version that used it minus the version that it started from.
    """

    client: int
    begin: float
    train: float | None
    upload: float | None
    arrive: float | None
    end: float
    fate: Fate
    staleness: int | None


@dataclass(frozen=True)
class Absence:
    """A client is away from `begin` to `end`, cut to the window."""

    client: int
    begin: float
    end: float


@dataclass(frozen=True)
class ClientTimeline:
    """A window of a plan.

    Attributes:
        clients: the clients that are shown, from the fastest to the slowest.
        of_clients: how many clients there are.
        updates: the virtual seconds of all server updates of the window, whoever's results they
            use.
    """

    algorithm: str
    scenario: str
    seed: int
    end_seconds: float
    clients: tuple[int, ...]
    of_clients: int
    jobs: tuple[Job, ...]
    absences: tuple[Absence, ...]
    updates: tuple[float, ...]


def client_timeline(spec: RunSpec, *, end_seconds: float, clients: int = 20) -> ClientTimeline:
    """Returns the first virtual seconds of a run's plan. The whole plan is played, so that a job
    that an update uses after the window counts as used. Nothing is trained.

    Args:
        spec: the run.
        end_seconds: the end of the window, which ends with the plan if that is earlier.
        clients: how many clients are shown; they are chosen evenly from the fastest to the slowest.

    Raises:
        UsageError: if the window or the number of clients is not positive, or the run has no plan
            without training.
    """
    if not (end_seconds > 0 and clients > 0):
        raise UsageError(f"timeline: end_seconds and clients must be > 0, got {end_seconds:g} and {clients}")
    setup = Setup(spec)
    scheduler = setup.scheduler_alone()
    shown = _evenly(setup, clients)
    jobs: list[Job] = []
    updates: list[float] = []
    window = round(end_seconds * NANOSECONDS)
    for chunk in pieces(scheduler):
        jobs += _jobs(chunk, scheduler, shown, window)
        updates += (chunk.time[chunk.time <= window] / NANOSECONDS).tolist()
    window = min(window, scheduler.end_ns)
    has_absences = setup.scenario.availability.kind != "always"
    absences = away(Hindsight(scheduler), shown, window) if has_absences else ()
    return ClientTimeline(
        algorithm=spec.selector,
        scenario=spec.scenario.name,
        seed=spec.seed,
        end_seconds=window / NANOSECONDS,
        clients=tuple(shown),
        of_clients=setup.scenario.clients,
        jobs=tuple(sorted(jobs, key=lambda job: (job.client, job.begin))),
        absences=tuple(Absence(client, begin / NANOSECONDS, end / NANOSECONDS) for client, begin, end in absences),
        updates=tuple(updates),
    )


def _evenly(setup: Setup, count: int) -> list[int]:
    """Returns so many clients, or all if there are fewer, from the fastest to the slowest."""
    by_speed = np.argsort(np.broadcast_to(setup.step_seconds, setup.scenario.clients), kind="stable")
    places = np.linspace(0, len(by_speed) - 1, min(count, len(by_speed))).round().astype(np.int64)
    return [int(client) for client in by_speed[places]]


def _jobs(chunk: Chunk, scheduler: Scheduler, shown: Sequence[int], window: int) -> Iterator[Job]:
    """Yields the jobs of the shown clients that begin within the window."""
    until = min(window, scheduler.end_ns) if chunk.done else window
    for one in rows(chunk, scheduler.end_ns, np.isin(chunk.client, shown) & (chunk.t_dispatch < window)):
        yield _job(one, until)


def rows(chunk: Chunk, end_ns: int, picked: npt.NDArray[np.bool_] | EllipsisType = ...) -> Iterator[dict[str, int]]:
    """Yields the jobs of a chunk, or those that are `picked`, with their JOB_COLUMNS, and when each
    was `lost`, `late`, or in any way `gone`; -1 if it was not. The plan ends at `end_ns`."""
    lost, late = lost_at(chunk, end_ns if chunk.done else LATEST), chunk.t_stop
    columns = {name: getattr(chunk, name) for name in JOB_COLUMNS}
    columns |= {"lost": lost, "late": late, "gone": np.maximum(np.maximum(lost, late), chunk.t_lost)}
    for values in zip(*(column[picked].tolist() for column in columns.values()), strict=True):
        yield dict(zip(columns, values, strict=True))


def _job(one: dict[str, int], window: int) -> Job:
    until = min([window, *(one[end] for end in ("t_arrive", "gone") if one[end] >= 0)])
    is_used = one["consumed_by"] >= 0
    fate: Fate = "used" if is_used else "lost" if one["lost"] >= 0 else "late" if one["late"] >= 0 else "unused"
    return Job(
        client=one["client"],
        begin=one["t_dispatch"] / NANOSECONDS,
        train=_within(one["t_start"], until),
        upload=_within(one["t_finish"], until),
        arrive=_within(one["t_arrive"], until),
        end=until / NANOSECONDS,
        fate=fate,
        staleness=one["consumed_by"] - one["base"] if is_used else None,
    )


def _within(time: int, until: int) -> float | None:
    return time / NANOSECONDS if 0 <= time <= until else None


def away(hindsight: Hindsight, clients: Iterable[int], end_ns: int) -> Iterator[tuple[int, int, int]]:
    """Yields every absence of the clients before `end_ns`: client, begin and end in nanoseconds."""
    for client in clients:
        left = 0
        for on, off in [*hindsight.stays(client, end_ns), (end_ns, end_ns)]:
            if left < on:
                yield client, left, on
            left = off
