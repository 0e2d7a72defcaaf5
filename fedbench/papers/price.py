"""Estimates what a cell costs. Its plan gives the trained steps, and the time that a step of its
model takes on the reference machine gives the core seconds.

`python -m fedbench.papers.price` measures a step and an evaluation of every model on examples of
noise, and prints rates.yaml.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from fedbench import plain_files, registry
from fedbench.engine.evaluate import Evaluator
from fedbench.engine.plan import planned
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.base import Assignment, Snapshot, Workload
from fedbench.engine.trainers.choose import Choice, choose, make_trainer
from fedbench.errors import MissingDataError
from fedbench.papers import experiment, parts
from fedbench.papers.cells import Cell
from fedbench.results.provenance import cpu
from fedbench.results.record import Record
from fedbench.scenarios import load as scenarios
from fedbench.scenarios.schema import Scenario
from fedbench.tasks.augment import CropAndFlip
from fedbench.tasks.available import TO_BRING
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.model_library import architecture, make_model
from fedbench.tasks.task import Task
from fedbench.types import Job, LocalRule

FILE = Path(__file__).with_name("rates.yaml")
TRAINING_EXAMPLES = {"cifar10": 50_000, "cifar10_jpeg": 50_000, "cifar100": 50_000, "fashion_mnist": 60_000}
MEASURED: Final[tuple[tuple[str, int, Literal["native", "torch"]], ...]] = (
    ("softmax", 25, "native"),
    ("cnn_21840", 25, "native"),
    ("cnn_21840", 50, "native"),
    ("cnn_582026", 10, "native"),
    ("cnn_878538", 10, "native"),
    ("cnn_878538", 25, "native"),
    ("cnn_878538", 50, "native"),
    ("cnn_878538", 50, "torch"),
    ("alexnet", 25, "torch"),
    ("vgg19", 25, "torch"),
    ("resnet18", 50, "torch"),
)
"""The models, batch sizes and trainers that the tables need."""
TESTED = 10_000
"""The number of examples in an evaluation."""


@dataclass(frozen=True)
class Price:
    """The price of one seed of a cell, up to the printed number.

    Attributes:
        steps: local steps that are trained.
        core_seconds: seconds of one core of the reference machine for steps and evaluations.
    """

    steps: int
    core_seconds: float

    @property
    def core_hours(self) -> float:
        return self.core_seconds / 3600


@functools.cache
def price(cell: Cell) -> Price:
    """Returns what one seed of a cell costs, see `price_varied`."""
    return price_varied(cell, None)


def price_varied(cell: Cell, variation: parts.Variation | None) -> Price:
    """Returns what one seed of a variation of a cell costs; of the cell itself without one.

    A search for a utilisation has the price of its first run. What the server computes, such as
    distillation, is left out. Raises UsageError if nothing says how the cell is made.
    """
    given, read = experiment.spec(cell, 0, variation), experiment.required_how(cell).read
    resolved = given.scenario
    if read == "utilisation":
        resolved = next(experiment.levels(cell))[1]
    elif read in ("seconds_to_target", "rounds_to_target"):
        end = max(min(cell.amount, resolved.budget.seconds), resolved.evaluation.step_seconds(0))
        resolved = scenarios.load(resolved, [f"budget.seconds={end!r}"])
    spec = RunSpec(resolved, given.algorithm, 0)
    steps, seconds = _planned(spec)
    evaluations = resolved.evaluation.evaluations(seconds)
    return Price(steps, rate(spec).core_seconds(steps * _gradients_per_step(spec), evaluations))


def spent(records: Iterable[Record]) -> float:
    """Returns the hours of two cores that runs cost, at the rates of the reference machine.

    They are made of the steps that the records count, and not of wall times, since other work may
    have shared the machine. What the server computes is left out, as in a price.
    """
    return math.fsum(map(_core_seconds, records)) / 2 / 3600


def _core_seconds(record: Record) -> float:
    spec = RunSpec.of(record.spec)
    return rate(spec).core_seconds(record.ledger.trained_steps * _gradients_per_step(spec), len(record.curves["test_accuracy"]))


def _gradients_per_step(spec: RunSpec) -> int:
    return spec.algorithm.gradient_work(Setup(spec).info).per_step


def _planned(spec: RunSpec) -> tuple[int, float]:
    """Returns the trained steps and the virtual seconds of a run.

    There may be no plan without data that the user has to bring, since it needs the clients' shares
    for full gradients and for jobs that are counted in epochs. Where all clients take part, the
    plan of FedAvg is tried next, which does the same jobs. Otherwise the steps are estimated and
    the seconds are 0.
    """
    everybody = spec.algorithm.options().get("sampling", "all") == "all" and "buffer_size" not in spec.algorithm.options()
    for algorithm in (spec.algorithm, *([registry.algorithm("fedavg[sampling=all]")] if everybody else [])):
        try:
            found = planned(_Anywhere(RunSpec(spec.scenario, algorithm, spec.seed)))
        except MissingDataError:
            continue
        return found.trained_steps, found.end_seconds
    return _mean_steps(spec.scenario, int(spec.algorithm.options()["buffer_size"])), 0.0


class _Anywhere(Setup):
    """A setup that has no data which the user has to bring, also where they are, so that a price is
    the same on every machine."""

    @property
    def task(self) -> Task:
        name = self.scenario.task.name
        if name in TO_BRING:
            raise MissingDataError(f"data set {name}: a price is made without it")
        return super().task


def _mean_steps(scenario: Scenario, of_update: int) -> int:
    """Returns the trained steps of a run with `of_update` jobs in each update, if all clients have
    equal shares of the data."""
    examples = TRAINING_EXAMPLES[scenario.task.name] / scenario.clients
    of_job = (scenario.local.epochs or 1) * examples / scenario.local.batch_size
    return round(scenario.budget.updates * of_update * of_job)


@dataclass(frozen=True)
class Rate:
    """Seconds of one core for a step, and for an evaluation on TESTED examples."""

    step: float
    evaluation: float

    def core_seconds(self, steps: int, evaluations: float) -> float:
        """Returns the seconds of one core for steps and evaluations."""
        return steps * self.step + evaluations * self.evaluation


def rate(spec: RunSpec) -> Rate:
    """Returns the rate of a run: that of its model, batch size and trainer."""
    of = spec.scenario
    trainer = choose(Setup(spec).outline, spec.algorithm, local=of.local, part=of.task)
    return rates()[of.task.model, of.local.batch_size, trainer.name]


@functools.cache
def rates() -> dict[tuple[str, int, str], Rate]:
    """Returns the rates that were measured on the reference machine, as MEASURED has them."""
    rows = plain_files.mapping(FILE, "rates")["rates"]
    return {
        (row["model"], row["batch_size"], row["trainer"]): Rate(row["step_seconds"], row["evaluation_seconds"]) for row in rows
    }


def measure(name: str, batch_size: int, trainer: Literal["native", "torch"], at_least: float = 2.0) -> Rate:
    """Returns the core seconds of a step and of an evaluation of a model on this machine, with
    examples of noise.

    Args:
        name: the model's name in the library.
        batch_size: examples of a step.
        trainer: who computes. Images in colour are cropped and mirrored.
        at_least: core seconds of the shortest measurement. The number of steps is doubled until a
            measurement takes that long.
    """
    shape = architecture(name).shape or (1, 28, 28)
    train, test = (_noise(n, shape) for n in (2_000, TESTED))
    changes = CropAndFlip(4, (0.0,) * shape[0]) if shape[0] == 3 else None
    task = Task("noise", make_model(name, shape, 10), Dataset("noise", train, test, 10), changes)
    workload = Workload(task, [np.arange(2_000)], batch_size, seed=0)
    made = make_trainer(Choice(trainer, "it is measured"), workload, workers=1)
    x, buffers, steps, taken = task.model.x0(0), task.model.buffers0(), 1, 0.0
    while taken < at_least:
        steps *= 2
        begin = time.process_time()
        made.train([Assignment(Job(0, 0, 0, steps), LocalRule(start=x, lr=1e-3), buffers)])
        taken = time.process_time() - begin
    begin = time.process_time()
    Evaluator(made).metrics([Snapshot(x, buffers)])
    evaluation = time.process_time() - begin
    made.close()
    return Rate(taken / steps, evaluation)


def _noise(n: int, shape: tuple[int, ...]) -> Examples:
    draws = np.random.default_rng(0)
    return Examples(draws.standard_normal((n, *shape), np.float32), draws.integers(0, 10, n, np.int64))


def main() -> None:
    """Prints rates.yaml, as measured on this machine."""
    print(f"# Seconds of one core of {cpu()}: of a step, and of an evaluation on {TESTED:,} examples.")
    print("# Made by `python -m fedbench.papers.price`; only prices are made of it, no verdict.")
    print("schema: 1\nrates:")
    for name, batch_size, trainer in MEASURED:
        found = measure(name, batch_size, trainer)
        row = f"model: {name}, batch_size: {batch_size}, trainer: {trainer}"
        print(f"  - {{{row}, step_seconds: {found.step:.3g}, evaluation_seconds: {found.evaluation:.3g}}}", flush=True)


if __name__ == "__main__":
    main()
