"""Cases of plans under `Stream`: the virtual clock of many jobs, without training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedbench.bench.case import Case, Doubles, Outcome, Ready, Way, draws

if TYPE_CHECKING:
    from fedbench.kernels.scheduler import Timing

NEEDS = ("fedbench.kernels.scheduler:Scheduler",)
STEPS, STEP_SECONDS = 50, 0.0017  # of a job; the seconds are those of the fastest client
SENT_SECONDS = 0.044  # of every vector that is sent
STEADY = ("jobs_per_update", "updates_per_second", "staleness")
LIMIT = 1.2  # of staleness, times its mean without a limit; a fifth of the clients is too slow for it


class Plan(NamedTuple):
    clients: int
    concurrency: int
    buffer: int
    updates: int

    @property
    def limit(self) -> int:
        return round(LIMIT * self.concurrency / self.buffer)


def step_seconds(plan: Plan) -> Doubles:
    """Returns the seconds of a step of every client, which lie within a factor of five."""
    return STEP_SECONDS * (1 + 4 * draws("speeds", plan.clients).random(plan.clients))


def timing(plan: Plan) -> Timing:
    from fedbench.kernels.scheduler import Duration, LocalSteps, Timing

    return Timing(
        clients=plan.clients,
        compute=Duration.constant(step_seconds(plan), per_step=True),
        download=Duration.constant(SENT_SECONDS),
        upload=Duration.constant(SENT_SECONDS),
        steps=LocalSteps(values=STEPS),
        max_updates=plan.updates,
    )


@dataclass(frozen=True)
class Found:
    """The number of `jobs` of the plan, and how many these are per update. Of the second half of
    the updates, on which the beginning has no influence, how many there were a second, and the mean
    staleness of what they consumed."""

    jobs: int
    jobs_per_update: float
    updates_per_second: float
    staleness: float


def with_policy(plan: Plan, *names: str, **options: Any) -> Ready:
    """Plans under `Stream` with these options, in pieces of a million jobs, as the engine does. Its
    outcome has the fields `names` of Found."""
    from fedbench.kernels.scheduler import NANOSECONDS, Scheduler
    from fedbench.types import Stream

    clock = timing(plan)
    policy = Stream(concurrency=plan.concurrency, buffer_size=plan.buffer, **options)

    def act() -> Found:
        scheduler = Scheduler(clock, policy)
        half, jobs, staleness, begin, done = plan.updates // 2, 0, 0, 0, False
        while not done:
            chunk = scheduler.next(1_000_000 // plan.buffer)
            version = chunk.first_version + np.arange(len(chunk.time))
            tau = np.repeat(version, np.diff(chunk.offsets)) - chunk.base[chunk.entries]
            jobs, done = jobs + len(chunk.client), chunk.done
            staleness += int(tau[max(0, half - chunk.first_version) * plan.buffer :].sum())
            if chunk.first_version < half <= chunk.first_version + len(chunk.time):
                begin = int(chunk.time[half - chunk.first_version - 1])
        later = plan.updates - half
        per_second = later / (int(chunk.time[-1]) - begin) * NANOSECONDS
        return Found(jobs, jobs / plan.updates, per_second, staleness / (plan.buffer * later))

    return Ready(act, lambda found: {name: getattr(found, name) for name in names})


def plain(plan: Plan) -> Ready:
    return with_policy(plan, "jobs", "staleness")


def routed(plan: Plan) -> Ready:
    return with_policy(plan, "jobs", "staleness", routing=np.full(plan.clients, 1 / plan.clients))


def conserved(plan: Plan) -> Outcome:
    """Returns what is true for all speeds: every job is consumed but those under way at the last
    update, and the mean staleness is (concurrency - 1) / buffer."""
    return {"jobs": plan.updates * plan.buffer + plan.concurrency - 1, "staleness": (plan.concurrency - 1) / plan.buffer}


def limited(plan: Plan, *, stop: bool) -> Ready:
    """All clients always work. Results that are staler than the limit do not count, or with `stop`
    are not waited for."""
    return with_policy(plan, *STEADY, restart="self", max_staleness=plan.limit, stop_stale=stop)


def unlimited(plan: Plan, *, stop: bool) -> Ready:
    """Plans as many jobs as `limited` does, without a limit, so that all of them count."""
    updates = round(plan.updates * steady(plan, stop=stop).jobs_per_update)
    return with_policy(plan._replace(updates=updates // plan.buffer), "jobs", restart="self")


def steady(plan: Plan, *, stop: bool) -> Found:
    """Returns what the steady state with a limit must be.

    The results of client i are d_i seconds old, which is lambda d_i updates at lambda updates a
    second. With a limit of R the results with lambda d_i <= R count, and there are lambda buffer of
    them a second; lambda is the number for which both hold. Results of client i come at the rate 1
    / d_i, so that the mean of lambda d_i over them is the number of clients that count, over
    buffer. A job is stopped when R + 1 updates have passed.
    """
    d = 2 * SENT_SECONDS + STEPS * np.sort(step_seconds(plan))
    if_so_many = np.cumsum(1 / d) / plan.buffer
    count = int(np.searchsorted(if_so_many * d, plan.limit))
    per_second = float(if_so_many[count - 1])
    lasts = np.minimum(d, (plan.limit + 1) / per_second) if stop else d
    jobs_per_update = float(np.sum(1 / lasts)) / per_second
    jobs = round(plan.updates * jobs_per_update)
    jobs = jobs // plan.buffer * plan.buffer + plan.concurrency - 1  # without a limit, exactly
    return Found(jobs, jobs_per_update, per_second, count / plan.buffer)


def _case(
    name: str, plan: Plan, ours: Way[Plan], *versus: Way[Plan], reference: Callable[[Plan], Outcome] = conserved, heavy: bool
) -> Case[Plan, Plan]:
    return Case(
        name=name,
        group="plan",
        size=plan,
        small=Plan(plan.clients // 100, plan.concurrency // 100, 10, 10_000),
        inputs=lambda size: size,
        ours=ours,
        versus=versus,
        reference=reference,
        tolerance=0.01,
        unit="job",
        units=lambda size: size.updates * size.buffer,
        heavy=heavy,
        memory=True,
    )


OURS = Way("fedbench", plain, NEEDS)
MANY, ALL_WORK = Plan(1_000_000, 100_000, 100, 100_000), Plan(100_000, 100_000, 100, 100_000)


def _limit(name: str, *, stop: bool) -> Case[Plan, Plan]:
    """Returns the case of a plan with a limit, beside as many jobs without it."""
    ours, beside = partial(limited, stop=stop), partial(unlimited, stop=stop)
    return _case(
        name, ALL_WORK, Way("fedbench", ours, NEEDS), Way("no-limit", beside, NEEDS),
        reference=lambda plan: vars(steady(plan, stop=stop)), heavy=True,
    )  # fmt: skip


CASES = (
    _case("plan-stream-1m", Plan(100_000, 10_000, 100, 10_000), OURS, heavy=False),
    _case("plan-stream-10m", MANY, OURS, heavy=True),
    _limit("plan-limit-10m", stop=False),
    _limit("plan-stop-10m", stop=True),
    _case("plan-routed-10m", MANY, Way("fedbench", routed, NEEDS), Way("no-queues", plain, NEEDS), heavy=True),
)
