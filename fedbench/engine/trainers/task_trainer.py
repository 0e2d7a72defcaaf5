"""What the trainers of a Task share: public examples, the student's guard, and metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench.engine.trainers.base import draw_public_batches, no_public_data
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.protocols import Logits, Pullback, RowIndices
from fedbench.shards import Shards
from fedbench.tasks.data import Dataset
from fedbench.tasks.task import Task
from fedbench.types import Vector

Scores = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""Per example: cross-entropy, and 1.0 where the prediction is right."""
TRAIN_LOSS_EXAMPLES = 2000


class TaskTrainer(ABC):
    """`shards` are the clients' rows of the training set, `public` features (P, ..) of the server's unlabelled examples, if any."""

    device = "cpu"

    def __init__(self, task: Task, shards: Sequence[RowIndices], *, seed: int, public: npt.NDArray[Any] | None) -> None:
        self.task, self.seed, self.dim = task, seed, task.model.dim
        self.shards = Shards.of(shards)
        self._public = public
        self._calls = 0
        self._tested: tuple[Vector, Vector, Scores] | None = None  # the last model, its buffers, and their scores

    # ---- public data ----

    @property
    def public(self) -> npt.NDArray[Any]:
        """Features (P, ..) of the public examples. UsageError if there are none."""
        if self._public is None:
            raise no_public_data()
        return self._public

    @property
    def public_shape(self) -> tuple[int, int]:
        return len(self.public), self.task.dataset.classes

    def public_batches(self, version: int, size: int, steps: int | None) -> Iterator[RowIndices]:
        return draw_public_batches(self.seed, version, self.public_shape[0], size, steps)

    def public_logits(
        self, x: Vector, buffers: Vector, rows: RowIndices, version: int, *, training: bool
    ) -> tuple[Logits, Pullback]:
        self._calls += 1
        call = self._calls
        logits, pull = self._student(x, buffers, rows, version if training else None)

        def pullback(dlogits: Logits) -> Vector:
            if call != self._calls:
                raise RuntimeError("public_logits: this pullback is of an earlier call; use it before the next one")
            return pull(dlogits)

        return logits, pullback

    @abstractmethod
    def _student(self, x: Vector, buffers: Vector, rows: RowIndices, training_version: int | None) -> tuple[Logits, Pullback]:
        """Logits (B, C) of public rows (B,) under x, and their pullback until the next call. `training_version` None: in
        evaluation; else as in training, with dropout masks keyed by seed and version: every call of a version goes on in their
        stream."""

    # ---- evaluation ----

    def _tested_scores(self, x: Vector, buffers: Vector) -> Scores:
        """Returns the scores of the test set. Those of the last model are kept."""
        if self._tested is None or not (np.array_equal(self._tested[0], x) and np.array_equal(self._tested[1], buffers)):
            self._tested = (x.copy(), buffers.copy(), self._test_scores(x, buffers))
        return self._tested[2]

    @abstractmethod
    def _test_scores(self, x: Vector, buffers: Vector) -> Scores:
        """Returns the scores of the test set: losses, and which answers are right."""

    @abstractmethod
    def _train_scores(self, x: Vector, buffers: Vector) -> Scores:
        """Returns the scores of the examples of `train_loss_sample`."""

    def evaluate(self, x: Vector, buffers: Vector) -> dict[str, float]:
        loss, right = self._tested_scores(x, buffers)
        train_loss, _ = self._train_scores(x, buffers)
        return {"test_accuracy": float(right.mean()), "test_loss": float(loss.mean()), "train_loss": float(train_loss.mean())}

    def per_client(self, x: Vector, buffers: Vector) -> Vector:
        _, right = self._tested_scores(x, buffers)
        return _accuracy_per_client(self.task.dataset, self.shards, right)


def train_loss_sample(seed: int, examples: int) -> RowIndices:
    """The training examples, at most 2,000 and ascending, on which the training loss is measured."""
    return np.sort(RandomStream(seed, Purpose.evaluation).permutation(examples)[:TRAIN_LOSS_EXAMPLES])


def _accuracy_per_client(dataset: Dataset, shards: Shards, right: Vector) -> Vector:
    """Accuracy on every client's own mix of classes (N,): the test accuracies of the classes, from `right` (1.0 or 0.0 per test
    example), weighted by the class shares of the client's training examples."""
    labels, classes = dataset.test.y, dataset.classes
    accuracy = np.bincount(labels, right, classes) / np.maximum(1, np.bincount(labels, minlength=classes))
    return np.asarray((shards.labels(dataset.train.y, classes) / shards.sizes[:, None]) @ accuracy)
