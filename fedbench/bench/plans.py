"""Plans of `Stream`: the virtual clock of many jobs, without training."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbench.bench.case import Case, Outcome, Ready, Way, draws


class Plan(NamedTuple):
    clients: int
    concurrency: int
    buffer: int
    updates: int


def ours(plan: Plan) -> Ready:
    """Speeds within a factor of five; taken in pieces of a million jobs, as the engine takes them in pieces."""
    from fedbench.kernels.scheduler import Duration, LocalSteps, Scheduler, Timing
    from fedbench.types import Stream

    timing = Timing(
        clients=plan.clients,
        compute=Duration(a=0.0017 * (1 + 4 * draws("speeds", plan.clients).random(plan.clients)), per_step=True),
        download=Duration(a=0.044),
        upload=Duration(a=0.044),
        steps=LocalSteps(values=50),
        max_updates=plan.updates,
    )
    warm = 10 * plan.concurrency // plan.buffer  # the first ten jobs of every worker

    def act() -> tuple[int, float]:
        scheduler = Scheduler(timing, Stream(concurrency=plan.concurrency, buffer_size=plan.buffer))
        jobs, staleness, done = 0, 0, False
        while not done:
            chunk = scheduler.next(1_000_000 // plan.buffer)
            version = chunk.first_version + np.arange(len(chunk.time))
            tau = np.repeat(version, np.diff(chunk.offsets)) - chunk.base[chunk.entries]
            jobs, done = jobs + len(tau), chunk.done
            staleness += int(tau[max(0, warm - chunk.first_version) * plan.buffer :].sum())
        return jobs, staleness / (plan.buffer * (plan.updates - warm))

    return Ready(act, lambda result: {"jobs": result[0], "staleness": result[1]})


def reference(plan: Plan) -> Outcome:
    """Every job is consumed; mean staleness is (concurrency - 1) / buffer whatever the speeds."""
    return {"jobs": plan.updates * plan.buffer, "staleness": (plan.concurrency - 1) / plan.buffer}


def _case(name: str, plan: Plan, *, heavy: bool) -> Case:
    return Case(
        name=name,
        group="plan",
        size=plan,
        small=Plan(clients=1_000, concurrency=100, buffer=10, updates=2_000),
        inputs=lambda size: size,
        ours=Way("fedbench", ours, ("fedbench.kernels.scheduler:Scheduler",)),
        reference=reference,
        tolerance=0.01,
        unit="job",
        units=lambda size: size.updates * size.buffer,
        heavy=heavy,
        memory=True,
    )


CASES = (
    _case("plan-stream-1m", Plan(100_000, 10_000, 100, 10_000), heavy=False),
    _case("plan-stream-10m", Plan(1_000_000, 100_000, 100, 100_000), heavy=True),
)
