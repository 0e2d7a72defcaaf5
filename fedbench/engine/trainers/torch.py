"""The torch trainer: any model as an nn.Module, data as tensors, one intra-op thread per worker.

Workers are threads with a module of their own; a job's result depends on nothing but the job, so their number changes no bit.
"""

from __future__ import annotations

import itertools
import queue
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional as F

from fedbench.engine.trainers.base import Assignment, client_error, draw_public_batches, no_public_data
from fedbench.engine.trainers.torch_replica import Replica, Student
from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, Stream, draw_batches
from fedbench.protocols import Logits, Pullback, Rows
from fedbench.tasks.task import Task
from fedbench.types import Job, LocalRule, Vector, Work

EVALUATION_BATCH = 500
TRAIN_LOSS_EXAMPLES = 2000
ADAM_BETA1, ADAM_BETA2, ADAM_EPS = 0.9, 0.999, 1e-8


class TorchTrainer:
    """Trains a Task in float32. `shards` are the clients' rows of the training set, `public` the server's, whose labels are not
    read; `workers` threads share the jobs of a wave."""

    name = "torch"

    def __init__(
        self,
        task: Task,
        shards: Sequence[Rows],
        *,
        batch_size: int,
        seed: int,
        workers: int = 1,
        public: Rows | None = None,
    ) -> None:
        if workers < 1:
            raise UsageError(f"workers: must be >= 1, got {workers}")
        torch.set_num_threads(1)
        self.task, self.batch_size, self.seed = task, batch_size, seed
        self.dtype, self.dim = np.dtype(np.float32), task.model.dim
        self.shards = [torch.from_numpy(rows) for rows in shards]
        train, test = task.dataset.train, task.dataset.test
        self.x, self.y = _tensor(train.x), _tensor(train.y)
        self.test_x, self.test_y = _tensor(test.x), _tensor(test.y)
        self.public_x = None if public is None else self.x[torch.from_numpy(public)]
        self._student: Student | None = None
        sample = np.sort(Stream(seed, Purpose.evaluation).permutation(len(train.y))[:TRAIN_LOSS_EXAMPLES])
        self.sample_x, self.sample_y = self.x[sample], self.y[sample]
        self._replicas: queue.SimpleQueue[Replica] = queue.SimpleQueue()
        for _ in range(workers):
            self._replicas.put(Replica(task))
        self._pool = ThreadPoolExecutor(workers, "fedbench-worker", initializer=torch.set_num_threads, initargs=(1,))

    def _map(self, function: Callable[[Replica, Any], Any], items: Iterable[Any]) -> list[Any]:
        """The function over the items, on all workers, results in the order of the items."""

        def with_replica(item: Any) -> Any:
            replica = self._replicas.get()
            try:
                return function(replica, item)
            finally:
                self._replicas.put(replica)

        futures = [self._pool.submit(with_replica, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:  # Ctrl-C, or a job that failed: let no other job start
            for future in futures:
                future.cancel()
            raise

    # ---- training ----

    def train(self, wave: Sequence[Assignment]) -> list[Work]:
        return self._map(self._run, wave)

    def _run(self, replica: Replica, assignment: Assignment) -> Work:
        try:
            return self._local(replica, assignment.job, assignment.rule, assignment.buffers)
        except Exception as error:
            raise client_error(assignment.job, "local training", error) from error

    def _local(self, replica: Replica, job: Job, rule: LocalRule, buffers: Vector) -> Work:
        y = replica.flat
        replica.load(rule.start)
        replica.module.set_masks(Stream(self.seed, Purpose.dropout, job.client, job.k))
        replica.module.train()
        direction = Direction(rule)
        total: torch.Tensor | None = None
        first: torch.Tensor | None = None
        for rows in self._batches(job):
            h = self._gradient(replica, rule, rows)
            if "first_gradient" in rule.wants and first is None:
                first = h.clone()
            if "mean_gradient" in rule.wants:
                total = h.clone() if total is None else total.add_(h)
            y.add_(direction(h, y), alpha=-rule.lr)
        end = y.numpy().copy()
        by_products: dict[str, npt.NDArray[Any]] = {}
        if "first_gradient" in rule.wants:
            by_products["first_gradient"] = np.zeros_like(end) if first is None else first.numpy()
        if "mean_gradient" in rule.wants:
            by_products["mean_gradient"] = np.zeros_like(end) if total is None else (total / job.steps).numpy()
        if "full_gradient" in rule.wants:
            by_products["full_gradient"] = self._full(replica, job.client, rule)
        seconds = 0.0
        if "public_logits" in rule.wants:
            begin = time.perf_counter()
            by_products["public_logits"] = self._end_logits(replica, end)
            seconds = time.perf_counter() - begin
        return Work(delta=end - rule.start, end=end, buffers=buffers, server_seconds=seconds, **by_products)

    def _gradient(self, replica: Replica, rule: LocalRule, rows: torch.Tensor) -> torch.Tensor:
        """h = g(y) - g(anchor) + weight_decay * y on one mini-batch; a view of the replica's gradient."""
        features, labels = self.x[rows], self.y[rows]
        y, h = replica.flat, replica.backward(features, labels)
        if rule.anchor is not None:
            at_y, here = h.clone(), y.clone()
            replica.load(rule.anchor)
            h = at_y - replica.backward(features, labels)
            y.copy_(here)
        if rule.weight_decay and rule.optimizer == "sgd":
            h.add_(y, alpha=rule.weight_decay)
        return h

    def _batches(self, job: Job) -> Iterator[torch.Tensor]:
        shard = self.shards[job.client]
        rows, offsets = draw_batches(self.seed, job.client, job.k, len(shard), self.batch_size, job.steps)
        chosen = shard[torch.from_numpy(rows)]
        for begin, end in itertools.pairwise(offsets.tolist()):
            yield chosen[begin:end]

    def _full(self, replica: Replica, client: int, rule: LocalRule) -> Vector:
        gradient = self._client_gradient(replica, client, rule.start)
        return gradient + rule.weight_decay * rule.start if rule.weight_decay else gradient

    def _client_gradient(self, replica: Replica, client: int, x: Vector) -> Vector:
        """Gradient of the mean loss over all examples of a client, dropout off, summed in float64 over batches."""
        rows = self.shards[client]
        replica.load(x)
        replica.module.eval()
        total = torch.zeros(self.dim, dtype=torch.float64)
        for part in torch.split(rows, EVALUATION_BATCH):
            total.add_(replica.backward(self.x[part], self.y[part]), alpha=len(part) / len(rows))
        return total.to(torch.float32).numpy()

    def gradients(self, clients: Iterable[int], x: Vector) -> Iterator[Vector]:
        for client in clients:
            replica = self._replicas.get()
            try:
                yield self._client_gradient(replica, client, x)
            finally:
                self._replicas.put(replica)

    # ---- public data ----

    def _public(self) -> torch.Tensor:
        """The public features (P, ..)."""
        if self.public_x is None:
            raise no_public_data()
        return self.public_x

    @property
    def public_shape(self) -> tuple[int, int]:
        return len(self._public()), self.task.dataset.classes

    def public_batches(self, version: int, size: int, steps: int | None) -> Iterator[Rows]:
        return draw_public_batches(self.seed, version, self.public_shape[0], size, steps)

    def _end_logits(self, replica: Replica, end: Vector) -> Logits:
        """Logits (P, C) of all public rows under a job's end model, in evaluation."""
        replica.load(end)
        replica.module.eval()
        with torch.no_grad():
            return torch.cat([replica.module(part) for part in torch.split(self._public(), EVALUATION_BATCH)]).numpy()

    def public_logits(self, x: Vector, buffers: Vector, rows: Rows, version: int, *, training: bool) -> tuple[Logits, Pullback]:
        features = self._public()[torch.from_numpy(rows)]
        if self._student is None:
            self._student = Student(self.task, self.seed)
        return self._student.logits(x, features, version if training else None)

    # ---- evaluation ----

    def initial_buffers(self) -> Vector:
        return np.empty(0, self.dtype)

    def evaluate(self, x: Vector, buffers: Vector) -> dict[str, float]:
        loss, right = self._scores(x, self.test_x, self.test_y)
        train_loss, _ = self._scores(x, self.sample_x, self.sample_y)
        return {"test_accuracy": float(right.mean()), "test_loss": float(loss.mean()), "train_loss": float(train_loss.mean())}

    def per_client(self, x: Vector, buffers: Vector) -> Vector:
        """Accuracy of the model on every client's own mix of classes (N,): the test accuracies of the classes, weighted by the
        class shares of the client's training examples."""
        _, right = self._scores(x, self.test_x, self.test_y)
        classes = self.task.dataset.classes
        labels = self.test_y.numpy()
        accuracy = np.bincount(labels, right, classes) / np.maximum(1, np.bincount(labels, minlength=classes))
        shares = np.stack([np.bincount(self.y[rows].numpy(), minlength=classes) / len(rows) for rows in self.shards])
        return np.asarray(shares @ accuracy)

    def _scores(self, x: Vector, features: torch.Tensor, labels: torch.Tensor) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Per example: cross-entropy, and 1.0 where the prediction is right; fixed batches, so workers change no bit."""

        def score(replica: Replica, batch: tuple[torch.Tensor, torch.Tensor]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
            replica.load(x)
            replica.module.eval()
            with torch.no_grad():
                logits = replica.module(batch[0])
                loss = F.cross_entropy(logits, batch[1], reduction="none")
            return loss.numpy().astype(np.float64), (logits.argmax(1) == batch[1]).numpy().astype(np.float64)

        parts = self._map(score, zip(torch.split(features, EVALUATION_BATCH), torch.split(labels, EVALUATION_BATCH), strict=True))
        return np.concatenate([loss for loss, _ in parts]), np.concatenate([right for _, right in parts])

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


def _tensor(array: npt.NDArray[Any]) -> torch.Tensor:
    """A tensor over a read-only array's values: a copy, since torch knows no read-only memory."""
    return torch.tensor(array)


class Direction:
    """The direction of a step from its gradient h and the iterate y, with the optimiser's state of one job."""

    def __init__(self, rule: LocalRule) -> None:
        if rule.optimizer == "adamw" and rule.momentum:
            raise UsageError(f"momentum: adamw has its own, expected 0, got {rule.momentum}")
        self.rule = rule
        self.start = None if not rule.prox else torch.tensor(rule.start)
        self.correction = None if rule.correction is None else torch.tensor(rule.correction)
        self.u: torch.Tensor | None = None
        self.v: torch.Tensor | None = None
        self.count = 0

    def __call__(self, h: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        rule = self.rule
        direction = self._adamw(h, y) if rule.optimizer == "adamw" else self._momentum(h)
        if self.start is not None and rule.prox_form == "l2":
            direction = direction + rule.prox * (y - self.start)
        elif self.start is not None:
            away = y - self.start
            direction = direction + 2 * rule.prox * away.abs().sum() * away.sign()
        return direction if self.correction is None else direction + self.correction

    def _momentum(self, h: torch.Tensor) -> torch.Tensor:
        if not self.rule.momentum:
            return h
        self.u = h.clone() if self.u is None else self.rule.momentum * self.u + h
        return self.u

    def _adamw(self, h: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.count += 1
        u, v = (torch.zeros_like(h) if moment is None else moment for moment in (self.u, self.v))
        self.u = ADAM_BETA1 * u + (1 - ADAM_BETA1) * h
        self.v = ADAM_BETA2 * v + (1 - ADAM_BETA2) * h * h
        m = self.u / (1 - ADAM_BETA1**self.count)
        return m / ((self.v / (1 - ADAM_BETA2**self.count)).sqrt() + ADAM_EPS) + self.rule.weight_decay * y
