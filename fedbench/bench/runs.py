"""Cases of whole runs in memory: plan, local training, server updates, evaluation and record.
Reading the data is not timed.

The native trainer is measured beside our torch trainer, or with two workers beside other ways of
the run: the loop that people write, in two processes, stacked torch, JAX, pfl and FLGo. These cases
use the engine, and are skipped where only the kernels are built.
"""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedbench.bench.case import Case, Outcome, Ready, Way
from fedbench.bench.orders import PROCESSES, Clients, Orders, softmax_truth
from fedbench.bench.server import TORCH
from fedbench.bench.train import Net

if TYPE_CHECKING:
    from fedbench.engine.spec import RunSpec
    from fedbench.results.record import Record

    RunCase = Case["Size", RunSpec]

NEEDS = ("pydantic", "fedbench.kernels.train:LocalTrainer")


class Size(NamedTuple):
    scenario: str
    overrides: tuple[str, ...]
    algorithm: str


def spec_of(size: Size, seed: int = 0) -> RunSpec:
    from fedbench import registry
    from fedbench.engine.spec import RunSpec
    from fedbench.scenarios.load import load

    return RunSpec(load(size.scenario, size.overrides), registry.algorithm(size.algorithm), seed)


def recorded(spec: RunSpec, trainer: str, workers: int = 1) -> Callable[[], Record]:
    from fedbench.engine.run import Run, RunOptions

    options = RunOptions(trainer=trainer, workers=workers)
    return lambda: Run(spec, options=options).record()


def _known(metric: float | None) -> float:
    return math.nan if metric is None else metric


def run(spec: RunSpec, trainer: str, workers: int = 1) -> Ready:
    def read(record: Record) -> Outcome:
        facts, final = record.ledger, record.final
        found = {"updates": facts.updates, "trained_steps": facts.trained_steps, "test_accuracy": _known(final.test_accuracy)}
        if spec.scenario.task.model != "softmax":
            return found
        budget = spec.scenario.budget.model_copy(update={"updates": 1})
        short = dataclasses.replace(spec, scenario=spec.scenario.model_copy(update={"budget": budget}))
        return {**found, "first_loss": _known(recorded(short, trainer, workers)().final.test_loss)}

    return Ready(recorded(spec, trainer, workers), read)


native, with_torch = partial(run, trainer="native"), partial(run, trainer="torch")
two_workers = partial(run, trainer="native", workers=PROCESSES)


def counted(spec: RunSpec, workers: int = PROCESSES) -> Ready:
    """Runs and gives what is counted, of which the plan alone is the reference."""
    return Ready(
        recorded(spec, "native", workers),
        lambda record: {name: getattr(record.ledger, name) for name in ("updates", "trained_steps")},
    )


def counts(spec: RunSpec) -> Outcome:
    """Returns the numbers of updates and steps from the plan alone."""
    from fedbench.engine.plan import plan

    summary = plan(spec)
    return {"updates": summary.updates, "trained_steps": summary.trained_steps}


def planned(spec: RunSpec) -> Outcome:
    """Returns the plan's counts, and the accuracy of the torch trainer."""
    return {**counts(spec), "test_accuracy": with_torch(spec).outcome()["test_accuracy"]}


def orders_of(spec: RunSpec) -> Orders:
    """Returns the run's plan, data and initial model for the ways of others."""
    from fedbench.engine.plan import pieces
    from fedbench.engine.setup import Setup
    from fedbench.engine.trainers.native import layer_specs
    from fedbench.types import Job

    setup, scenario = Setup(spec), spec.scenario
    updates: list[list[Job]] = []
    times: list[int] = []
    scheduler = setup.scheduler()
    for chunk in pieces(scheduler):
        columns = (chunk.client, chunk.k, chunk.base, chunk.steps)
        jobs = [Job(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
        updates += [[jobs[i] for i in chunk.entries[a:b].tolist()] for a, b in itertools.pairwise(chunk.offsets.tolist())]
        times += chunk.time.tolist()
    grid = scenario.evaluation.grid
    points = [grid.time_ns(point) for point in range(grid.points_until(scheduler.end_ns))]
    versions = {*np.searchsorted(times, points, "right").tolist(), len(updates)}
    data = setup.task.dataset
    net = Net(tuple(layer_specs(setup.task.model)), data.shape, data.classes, scenario.local.batch_size)
    clients = Clients(net, list(setup.shards), spec.algorithm.local_lr, spec.seed)
    test, train = ((part.x, part.y) for part in (data.test, data.train))
    return Orders(updates, frozenset(versions), setup.x0(), spec.algorithm.options()["server_lr"], test, train, clients)


def by(module: str, spec: RunSpec, **options: str) -> Ready:
    """Starts another way of the run, whose module imports its library."""
    ready: Ready = importlib.import_module(f"fedbench.bench.{module}").rounds(orders_of(spec), **options)
    return ready


def looped(spec: RunSpec) -> Outcome:
    """Returns the outcome of the loop that people write."""
    return by("hand", spec).outcome()


def alone(case: RunCase, workers: int) -> RunCase:
    """Returns the case of a run without rivals and without torch, checked against its plan."""
    return dataclasses.replace(case, ours=Way("fedbench", partial(counted, workers=workers), NEEDS), versus=(), reference=counts)


LOOP = Way("torch-loop-2p", partial(by, "hand"), TORCH)
IN_JAX = tuple(Way(f"jax-{kind}", partial(by, "in_jax", clients_by=kind), ("jax",)) for kind in ("map", "vmap"))
STACKED = Way("torch-stacked", partial(by, "stacked"), TORCH)
SIMULATORS = tuple(Way(name, partial(by, f"in_{name}"), (name, "torch")) for name in ("pfl", "flgo"))


def _whole(
    name: str, algorithm: str, *overrides: str, versus: tuple[Way[RunSpec], ...] = (LOOP,), asked: float | None = None
) -> RunCase:
    """Returns the case of a run on Fashion-MNIST, with batches of 10 and speeds within a factor of
    five."""
    small = ("partition={kind: overlapping, examples_per_client: 40}", "budget.updates=20")
    return Case(
        name=name,
        group="run",
        size=Size("defedavg-fashion-iid", overrides, algorithm),
        small=Size("digits-demo", (*small, *(part for part in overrides if "softmax" in part)), algorithm.partition("[")[0]),
        inputs=spec_of,
        ours=Way("fedbench", two_workers, NEEDS),
        versus=versus,
        reference=looped,
        tolerance=0.04,  # of the accuracy: masks of dropout and ties differ
        asked=asked,
        heavy=True,
    )


def _softmax(name: str, algorithm: str, *overrides: str, asked: float) -> RunCase:
    """Returns the case of a run of which all ways train the same steps, so that nothing but
    rounding differs."""
    return dataclasses.replace(
        _whole(name, algorithm, "task.model=softmax", *overrides, versus=(LOOP, STACKED, *IN_JAX, *SIMULATORS), asked=asked),
        reference=lambda spec: softmax_truth(orders_of(spec)),
        tolerance=0.002,
        tolerances={"first_loss": 1e-4},
    )


AFTER_ONE_ROUND = 0.25  # tolerance of the accuracy of a CNN, which other masks of dropout sway that early

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
    _whole(
        "run-fedavg-cnn-21840",
        "fedavg",
        *("task.model=cnn_21840", "budget.updates=10", "evaluation.every_seconds=2"),
        asked=5.2,
    ),
    dataclasses.replace(
        _whole("run-fedavg-cnn-21840-tenth", "fedavg", "task.model=cnn_21840", "budget.updates=1", "evaluation.every_seconds=2"),
        versus=tuple(dataclasses.replace(way, tolerance=AFTER_ONE_ROUND) for way in (LOOP, *IN_JAX)),
        reference=planned,  # by our torch trainer, which has the same masks
    ),
    _softmax("run-fedavg-softmax-100-rounds", "fedavg", "budget.updates=100", "evaluation.every_seconds=6", asked=4),
    _whole("run-fedavg-cnn-582026", "fedavg", "budget.updates=4", "evaluation.every_seconds=1", asked=2.8),
    _whole(
        "run-fedbuff-cnn-21840",
        "fedbuff[concurrency=25,buffer_size=5,server_lr=0.3]",
        *("task.model=cnn_21840", "clients=50", "budget.updates=40", "evaluation.every_seconds=5"),
        asked=6.7,
    ),
    _softmax(
        "run-fedavg-1000-clients-50-rounds",
        "fedavg[cohort_size=100,local_lr=0.02]",
        *("clients=1000", "local.steps=1", "budget.updates=50", "evaluation.every_seconds=6"),
        asked=2,
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
