"""Small worlds for the engine: quadratics on drawn plans."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fedbench.engine.execute import Execution
from fedbench.engine.trainers.reference import ReferenceTrainer
from fedbench.kernels.scheduler import Chunk, Duration, LocalSteps, Scheduler, Timing
from fedbench.proof.problems import Quadratic, Softmax
from fedbench.protocols import Algorithm
from fedbench.scenarios.partition import iid
from fedbench.tasks import digits
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.layers import (
    AvgPool2d,
    BatchNorm2d,
    Conv2d,
    Dropout,
    Dropout2d,
    Flatten,
    Layer,
    Linear,
    MaxPool2d,
    ReLU,
    Residual,
)
from fedbench.tasks.models import Model
from fedbench.tasks.sequences import Embedding, Last
from fedbench.tasks.task import Task
from fedbench.types import Info, Poll


def quadratic(clients: int, dim: int = 6, seed: int = 0, dtype: str = "float32") -> Quadratic:
    """Clients with different Hessians and minimisers; F_i(x) = 1/2 (x - c_i)' A_i (x - c_i)."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(clients, dim, dim)) / np.sqrt(dim)
    A = (root @ root.transpose(0, 2, 1) + 0.5 * np.eye(dim)).astype(dtype)
    n = rng.integers(1, 9, clients).astype(np.float64)
    return Quadratic(n, n / n.sum(), dim, A, rng.normal(size=(clients, dim)).astype(dtype))


def digits_softmax() -> tuple[Task, list[npt.NDArray[np.int64]], npt.NDArray[np.int64], Softmax]:
    """Softmax regression on digits as a task, four clients' shards, public rows 3, 13, 23, .., and
    the same as numpy formulas."""
    task, public = digits.load("softmax"), np.arange(3, 1400, 10)
    train, shards = task.dataset.train, iid(len(task.dataset.train), 4, 0)
    n = np.array([len(rows) for rows in shards], np.float64)
    X, y = [train.x[rows].reshape(len(rows), -1) for rows in shards], [train.y[rows] for rows in shards]
    return task, shards, public, Softmax(n, n / n.sum(), 650, 10, 64, 0.0, X, y, train.x[public].reshape(-1, 64))


def digits_as_images(layers: tuple[Layer, ...]) -> Task:
    """Digits (1, 8, 8) through these layers; for an Embedding the 17 values of a pixel are its
    symbols."""
    data, model = digits.dataset(), Model("tiny", (1, 8, 8), layers)
    scale = np.float32(1 if model.symbols is None else digits.LARGEST)
    train, test = (Examples(scale * part.x.reshape(-1, 1, 8, 8), part.y) for part in (data.train, data.test))
    return Task("digits", model, Dataset("digits", train, test, 10))


BODY = (Dropout(0.3), Conv2d(4, 4, 3, padding=1, bias=False), BatchNorm2d(4))
BLOCK = Residual(BODY, (Conv2d(4, 4, 1, bias=False), BatchNorm2d(4), Dropout2d(0.2)))
NETWORKS: dict[str, tuple[Layer, ...]] = {
    "softmax": (Flatten(), Linear(64, 10)),
    "mlp": (Flatten(), Linear(64, 20), ReLU(), Linear(20, 10)),
    "cnn": (
        *(Conv2d(1, 5, 3), Dropout2d(0.5), MaxPool2d(2), ReLU(), Flatten()),
        *(Linear(45, 20), ReLU(), Dropout(0.5), Linear(20, 10)),
    ),
    "symbols": (Flatten(), Last(40), Embedding(17, 3), Flatten(), Linear(120, 20), ReLU(), Linear(20, 10)),
    "residual": (
        Conv2d(1, 4, 3, stride=2, bias=False),
        BatchNorm2d(4),
        ReLU(),
        BLOCK,
        ReLU(),
        AvgPool2d(3),
        Flatten(),
        Linear(4, 10),
    ),
}
"""Small networks with every layer, for digits_as_images."""


@dataclass
class World:
    """A problem, a timing model, and a way to run an algorithm on them."""

    problem: Quadratic
    timing: Timing
    x: list[Any] = field(default_factory=list)

    def execution(self, algorithm: Algorithm, trainer: Any = lambda reference: reference, **options: Any) -> Execution:
        info = Info(self.problem.clients, self.problem.n(), self.problem.p())
        dtype = self.problem.c.dtype
        x0 = np.linspace(-1, 1, self.problem.dim).astype(dtype)
        return Execution(algorithm, trainer(ReferenceTrainer(self.problem, dtype=dtype)), info, x0, **options)

    def chunks(self, algorithm: Algorithm, size: int = 1 << 20) -> list[Chunk]:
        info = Info(self.problem.clients, self.problem.n(), self.problem.p())
        dispatch, timing = algorithm.dispatch(info), self.timing
        if isinstance(dispatch, Poll):
            timing = replace(timing, compute=replace(timing.compute, per_step=True))
        scheduler = Scheduler(timing, dispatch, p=self.problem.p())
        chunks = [scheduler.next(size)]
        while not chunks[-1].done:
            chunks.append(scheduler.next(size))
        return chunks

    def run(self, algorithm: Algorithm, size: int = 1 << 20, **options: Any) -> Execution:
        execution = self.execution(algorithm, **options)
        execution.run(self.chunks(algorithm, size))
        return execution


@pytest.fixture
def world() -> Any:
    """world(clients=8, updates=12, durations=None | one number | one per client)."""

    def make(clients: int = 8, updates: int = 12, durations: Any = None, dtype: str = "float32", **timing: Any) -> World:
        if durations is None:
            timing.setdefault("compute", Duration.uniform(1.0, 5.0))
        else:
            timing.setdefault("compute", Duration.constant(durations))
        timing.setdefault("steps", LocalSteps(values=np.arange(clients, dtype=np.int32) % 3 + 1))
        return World(quadratic(clients, dtype=dtype), Timing(clients=clients, max_updates=updates, seed=5, **timing))

    return make
