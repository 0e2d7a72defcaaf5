"""Cases of whole runs in memory: plan, local training, server updates, evaluation and record.
Reading the data is not timed.

The native trainer is measured beside our torch trainer, or beside the loop that people write, with
two processes against two workers. These cases use the engine, and are skipped where only the
kernels are built.
"""

from __future__ import annotations

import dataclasses
import itertools
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fedbench.bench.case import Case, Outcome, Ready, Way
from fedbench.bench.hand import PROCESSES, Clients, Orders, by_hand
from fedbench.bench.server import TORCH
from fedbench.bench.train import Net

NEEDS = ("pydantic", "fedbench.kernels.train:LocalTrainer")


class Size(NamedTuple):
    scenario: str
    overrides: tuple[str, ...]
    algorithm: str


def spec_of(size: Size) -> Any:
    from fedbench import registry
    from fedbench.engine.spec import RunSpec
    from fedbench.scenarios.load import load

    return RunSpec(load(size.scenario, size.overrides), registry.algorithm(size.algorithm), 0)


def run(spec: Any, trainer: str, workers: int = 1) -> Ready:
    from fedbench.engine.run import Run, RunOptions

    def read(record: Any) -> Outcome:
        facts, final = record.meta["ledger"], record.meta["final"]
        return {"updates": facts["updates"], "trained_steps": facts["trained_steps"], "test_accuracy": final["test_accuracy"]}

    return Ready(lambda: Run(spec, options=RunOptions(trainer=trainer, workers=workers)).record(), read)


native, with_torch = partial(run, trainer="native"), partial(run, trainer="torch")
two_workers = partial(run, trainer="native", workers=PROCESSES)


def counted(spec: Any) -> Ready:
    """Runs with two workers and gives no accuracy, so that the plan alone is the reference."""
    ready = two_workers(spec)

    def read(record: Any) -> Outcome:
        found = dict(ready.read(record))
        del found["test_accuracy"]
        return found

    return Ready(ready.act, read)


def counts(spec: Any) -> Outcome:
    """Returns the numbers of updates and steps from the plan alone."""
    from fedbench.engine.plan import plan

    summary = plan(spec)
    return {"updates": summary.updates, "trained_steps": summary.trained_steps}


def planned(spec: Any) -> Outcome:
    """Returns the plan's counts, and the accuracy of the torch trainer."""
    ready = with_torch(spec)
    return {**counts(spec), "test_accuracy": ready.read(ready.act())["test_accuracy"]}


def loop(spec: Any) -> Ready:
    """Runs the loop that people write, with the same plan, data and initial model."""
    from fedbench.engine.plan import pieces
    from fedbench.engine.setup import Setup
    from fedbench.engine.trainers.native import layer_specs

    setup, scenario = Setup(spec), spec.scenario
    updates: list[list[Any]] = []
    times: list[int] = []
    scheduler = setup.scheduler()
    for chunk in pieces(scheduler):
        jobs = list(zip(chunk.client.tolist(), chunk.base.tolist(), chunk.steps.tolist(), strict=True))
        updates += [[jobs[i] for i in chunk.entries[a:b].tolist()] for a, b in itertools.pairwise(chunk.offsets.tolist())]
        times += chunk.time.tolist()
    points = _points(scenario.evaluation, scheduler.end_ns)
    versions = {int(np.searchsorted(times, point, "right")) for point in points} | {len(updates)}
    data, layers = setup.task.dataset, tuple(dataclasses.astuple(layer) for layer in layer_specs(setup.task.model))
    return by_hand(
        Orders(updates, frozenset(versions), setup.x0(), spec.algorithm.server_lr, (data.test.x, data.test.y)),
        Clients(
            *(Net(layers, data.shape, data.classes, scenario.local.batch_size), data.train.x, data.train.y),
            *(list(setup.shards), spec.algorithm.local_lr),
        ),
    )


def _points(evaluation: Any, end_ns: int) -> list[int]:
    """Returns the times of evaluation up to the end. Earlier builds, whose runs are timed by these
    cases too, know even grids alone."""
    from fedbench.kernels.scheduler import NANOSECONDS

    if not hasattr(evaluation, "grid"):
        return list(range(0, end_ns + 1, round(evaluation.every_seconds * NANOSECONDS)))
    return [evaluation.grid.time_ns(point) for point in range(evaluation.grid.points_until(end_ns))]


def looped(spec: Any) -> Outcome:
    """Returns the outcome of the loop that people write."""
    ready = loop(spec)
    return ready.read(ready.act())


def _whole(name: str, algorithm: str, *overrides: str) -> Case:
    """Returns the case of a run on Fashion-MNIST, with batches of 10 and speeds within a factor of
    five."""
    return Case(
        name=name,
        group="run",
        size=Size("defedavg-fashion-iid", overrides, algorithm),
        small=Size("digits-demo", ("partition.kind=iid", "budget.updates=60"), algorithm.partition("[")[0]),
        inputs=spec_of,
        ours=Way("fedbench", two_workers, NEEDS),
        versus=(Way("torch-loop-2p", loop, TORCH),),
        reference=looped,
        tolerance=0.04,  # of the accuracy: examples come in another order
        heavy=True,
    )


CASES = (
    Case(
        name="run-fedbuff-fashion",
        group="train",
        size=Size("defedavg-fashion-iid", ("task.model=cnn_21840", "budget.updates=20"), "fedbuff[concurrency=40,server_lr=0.3]"),
        small=Size("digits-demo", ("budget.updates=3",), "fedbuff"),
        inputs=spec_of,
        ours=Way("fedbench", native, NEEDS),
        versus=(Way("trainer-torch", with_torch, TORCH),),
        reference=planned,
        tolerance=0.03,  # of the accuracy: dropout and ties make small differences
        heavy=True,
    ),
    _whole("run-fedavg-cnn-21840", "fedavg", "task.model=cnn_21840", "budget.updates=10", "evaluation.every_seconds=2"),
    _whole("run-fedavg-softmax", "fedavg", "task.model=softmax", "budget.updates=60", "evaluation.every_seconds=6"),
    _whole("run-fedavg-cnn-582026", "fedavg", "budget.updates=4", "evaluation.every_seconds=1"),
    _whole(
        "run-fedbuff-cnn-21840",
        "fedbuff[concurrency=25,buffer_size=5,server_lr=0.3]",
        *("task.model=cnn_21840", "clients=50", "budget.updates=40", "evaluation.every_seconds=5"),
    ),
    _whole(
        "run-fedavg-1000-clients",
        "fedavg[cohort_size=100,local_lr=0.02]",
        *("task.model=softmax", "clients=1000", "local.steps=1", "budget.updates=100", "evaluation.every_seconds=6"),
    ),
    Case(
        name="run-fedavg-1m-clients",
        group="run",
        size=Size(
            "defedavg-fashion-iid",
            (
                *("task.model=softmax", "clients=1000000", "partition={kind: overlapping, examples_per_client: 60}"),
                *("local.steps=5", "budget.updates=20", "evaluation.every_seconds=5"),
            ),
            "fedavg[cohort_size=1000]",
        ),
        small=Size(
            "digits-demo",
            ("clients=3000", "partition={kind: overlapping, examples_per_client: 9}", "budget.updates=2"),
            "fedavg[cohort_size=100]",
        ),
        inputs=spec_of,
        ours=Way("fedbench", counted, NEEDS),
        reference=counts,
        unit="job",
        units=lambda size: 20_000,
        heavy=True,
        memory=True,
    ),
)
