"""Trains a model of a user's own on drawn examples, with a virtual clock and the engine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import torch

from fedbench import own_models, registry
from fedbench.engine.execute import Execution
from fedbench.engine.plan import pieces
from fedbench.engine.select import ClientSelector
from fedbench.engine.trainers.base import ScoringBackend, Workload
from fedbench.engine.trainers.choose import choose, make_trainer
from fedbench.kernels.scheduler import Chunk, Duration, LocalSteps, Scheduler, Timing
from fedbench.proof import drawn
from fedbench.scenarios.partition import iid
from fedbench.tasks.available import Outline
from fedbench.tasks.data import Dataset
from fedbench.tasks.own_model import of_source
from fedbench.tasks.own_module import Here
from fedbench.tasks.task import Task
from fedbench.types import Info

CLIENTS, SEED, UPDATES, BATCH = 6, drawn.SEED, 8, 5
TRAIN, TEST = 120, 40  # examples


class ModelWorld:
    """A model on drawn examples, and a plan of UPDATES updates of FedBuff. Every run begins
    anew."""

    def __init__(self, selector: str, task: str) -> None:
        self.shape, self.classes = drawn.shape_of(selector, task)
        name, factory = own_models.short(selector), own_models.named(selector).found()
        self.source = Here(factory, name, self.shape, self.classes)
        self.model = of_source(name, self.shape, self.classes, self.source)
        train, test = (drawn.examples(task, size, k) for k, size in enumerate((TRAIN, TEST)))
        self.data = Dataset(task, train, test, self.classes)
        self.task = Task(task, self.model, self.data)
        self.shards = iid(TRAIN, CLIENTS, SEED)
        self.algorithm = registry.algorithm(f"fedbuff[buffer_size=3,concurrency={CLIENTS}]")
        self.info = Info(CLIENTS, np.full(CLIENTS, TRAIN / CLIENTS), np.full(CLIENTS, 1 / CLIENTS), np.linspace(0.5, 2, CLIENTS))
        self.choice = choose(Outline.of(self.task), self.algorithm)

    @property
    def workload(self) -> Workload:
        return Workload(self.task, self.shards, BATCH, SEED)

    @contextlib.contextmanager
    def trainer(self, workers: int = 1) -> Iterator[ScoringBackend]:
        with contextlib.closing(make_trainer(self.choice, self.workload, workers=workers)) as found:
            yield found

    def execution(self, trainer: ScoringBackend, wave_size: int | None = None) -> Execution:
        return Execution(self.algorithm, trainer, self.info, self.model.x0(SEED), wave_size=wave_size)

    def plan(self, execution: Execution) -> Iterator[Chunk]:
        timing = Timing(
            clients=CLIENTS,
            seed=SEED,
            compute=Duration.exponential(np.linspace(0.5, 2, CLIENTS), per_step=True),
            download=Duration.constant(0.1),
            upload=Duration.constant(0.2),
            steps=LocalSteps(values=[1 + client % 3 for client in range(CLIENTS)]),
            max_updates=UPDATES,
        )
        return pieces(Scheduler(timing, self.algorithm.dispatch(self.info)), ClientSelector(execution, SEED))

    def run(self, workers: int = 1, wave_size: int | None = None) -> tuple[bytes, bytes]:
        """Returns the last model and its buffers."""
        with self.trainer(workers) as trainer:
            execution = self.execution(trainer, wave_size)
            execution.run(self.plan(execution), [])
            return ends(execution)

    def batch(self, begin: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns BATCH training examples in float64, and their labels."""
        rows = slice(begin, begin + BATCH)
        return torch.from_numpy(self.data.train.x[rows]).double(), torch.from_numpy(self.data.train.y[rows])


def ends(execution: Execution) -> tuple[bytes, bytes]:
    return execution.state.x.tobytes(), execution.buffers.tobytes()
