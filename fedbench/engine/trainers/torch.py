"""The torch trainer: any model as an nn.Module, data as tensors, one intra-op thread per worker.

Workers are threads with a module of their own; a job's result depends on nothing but the job, so their number changes no bit.
"""

from __future__ import annotations

import functools
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

from fedbench.engine.trainers.base import Assignment, client_error
from fedbench.engine.trainers.task_trainer import Scores, TaskTrainer, train_loss_sample
from fedbench.engine.trainers.torch_data import Features, tensor
from fedbench.engine.trainers.torch_replica import Replica, Student
from fedbench.engine.trainers.torch_rule import Direction, is_plain
from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, Stream, draw_batches
from fedbench.protocols import Logits, Pullback, Rows
from fedbench.tasks.task import Task
from fedbench.tasks.torch_model import is_faster_channels_last
from fedbench.types import Job, LocalRule, Vector, Work

EVALUATION_BATCH = 500


class TorchTrainer(TaskTrainer):
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
        super().__init__(task, seed=seed, public=public)
        self.batch_size, self.dtype = batch_size, np.dtype(np.float32)
        self.shards = [torch.from_numpy(rows) for rows in shards]
        train, test = task.dataset.train, task.dataset.test
        channels_last = is_faster_channels_last(task.model)
        self.x, self.y = Features(train.x, channels_last=channels_last), tensor(train.y)
        self.test_x, self.test_y = Features(test.x, channels_last=channels_last), tensor(test.y)
        self.sample = torch.from_numpy(train_loss_sample(seed, len(train)))
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
        replica.load(rule.start, buffers)
        replica.module.set_masks(Stream(self.seed, Purpose.dropout, job.client, job.k))
        replica.module.train()
        by_products: dict[str, npt.NDArray[Any]] = {}
        if is_plain(rule):
            for features, labels in self._batches(job):
                replica.descend(features, labels, rule.lr, rule.weight_decay)
        else:
            by_products = self._follow(replica, job, rule)
        end, end_buffers = replica.flat.numpy().copy(), replica.buffers.numpy().copy()
        if "full_gradient" in rule.wants:
            gradient = self._client_gradient(replica, job.client, rule.start, buffers)
            by_products["full_gradient"] = gradient + rule.weight_decay * rule.start if rule.weight_decay else gradient
        seconds = 0.0
        if "public_logits" in rule.wants:
            begin = time.perf_counter()
            by_products["public_logits"] = self._end_logits(replica, end, end_buffers)
            seconds = time.perf_counter() - begin
        return Work(delta=end - rule.start, end=end, buffers=end_buffers, server_seconds=seconds, **by_products)

    def _follow(self, replica: Replica, job: Job, rule: LocalRule) -> dict[str, npt.NDArray[Any]]:
        """The steps of any rule; the gradients that it wants."""
        y, direction = replica.flat, Direction(rule)
        total: torch.Tensor | None = None
        first: torch.Tensor | None = None
        for features, labels in self._batches(job):
            h = self._gradient(replica, rule, features, labels)
            if "first_gradient" in rule.wants and first is None:
                first = h.clone()
            if "mean_gradient" in rule.wants:
                total = h.clone() if total is None else total.add_(h)
            y.add_(direction(h, y), alpha=-rule.lr)
        by_products: dict[str, npt.NDArray[Any]] = {}
        if "first_gradient" in rule.wants:
            by_products["first_gradient"] = np.zeros(self.dim, self.dtype) if first is None else first.numpy()
        if "mean_gradient" in rule.wants:
            by_products["mean_gradient"] = np.zeros(self.dim, self.dtype) if total is None else (total / job.steps).numpy()
        return by_products

    def _gradient(self, replica: Replica, rule: LocalRule, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """h = g(y) - g(anchor) + weight_decay * y on one mini-batch; a view of the replica's gradient. The buffers are those that the
        forward at y leaves."""
        y, h = replica.flat, replica.backward(features, labels)
        if rule.anchor is not None:
            at_y, here, buffers = h.clone(), y.clone(), replica.buffers.clone()
            y.copy_(torch.tensor(rule.anchor))
            h = at_y - replica.backward(features, labels)
            y.copy_(here)
            replica.buffers.copy_(buffers)
        if rule.weight_decay and rule.optimizer == "sgd":
            h.add_(y, alpha=rule.weight_decay)
        return h

    def _batches(self, job: Job) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Features and labels of every step."""
        shard = self.shards[job.client]
        drawn, offsets = draw_batches(self.seed, job.client, job.k, len(shard), self.batch_size, job.steps)
        rows = shard[torch.from_numpy(drawn)]
        labels, how = self.y[rows], self.task.augmentation
        if how is not None:
            changes = torch.from_numpy(how.draw(Stream(self.seed, Purpose.augmentation, job.client, job.k), len(rows)))
        for begin, end in itertools.pairwise(offsets.tolist()):
            of_step = slice(begin, end)
            features = self.x.rows(rows[of_step]) if how is None else self.x.augmented(rows[of_step], how, changes[of_step])
            yield features, labels[of_step]

    def _client_gradient(self, replica: Replica, client: int, x: Vector, buffers: Vector) -> Vector:
        """Gradient of the mean loss over all examples of a client, as in evaluation, summed in float64 over batches."""
        rows = self.shards[client]
        replica.load(x, buffers)
        replica.module.eval()
        total = torch.zeros(self.dim, dtype=torch.float64)
        for part in torch.split(rows, EVALUATION_BATCH):
            total.add_(replica.backward(self.x.rows(part), self.y[part]), alpha=len(part) / len(rows))
        return total.to(torch.float32).numpy()

    def gradients(self, clients: Iterable[int], x: Vector, buffers: Vector) -> Iterator[Vector]:
        for client in clients:
            replica = self._replicas.get()
            try:
                yield self._client_gradient(replica, client, x, buffers)
            finally:
                self._replicas.put(replica)

    # ---- public data ----

    def _end_logits(self, replica: Replica, end: Vector, buffers: Vector) -> Logits:
        """Logits (P, C) of all public rows under a job's end model, in evaluation."""
        replica.load(end, buffers)
        replica.module.eval()
        with torch.no_grad():
            parts = [
                replica.module(self.x.rows(part)) for part in torch.split(torch.from_numpy(self.public_rows), EVALUATION_BATCH)
            ]
        return torch.cat(parts).numpy()

    @functools.cached_property
    def _replica_of_student(self) -> Student:
        return Student(self.task, self.seed)

    def _student(self, x: Vector, buffers: Vector, rows: Rows, training_version: int | None) -> tuple[Logits, Pullback]:
        return self._replica_of_student.logits(x, buffers, self.x.rows(torch.from_numpy(rows)), training_version)

    # ---- evaluation ----

    def initial_buffers(self) -> Vector:
        return self.task.model.buffers0()

    def _test_scores(self, x: Vector, buffers: Vector) -> Scores:
        parts = zip(self.test_x.parts(EVALUATION_BATCH), torch.split(self.test_y, EVALUATION_BATCH), strict=True)
        return self._scores(x, buffers, parts)

    def _train_scores(self, x: Vector, buffers: Vector) -> Scores:
        sample = [(self.x.rows(part), self.y[part]) for part in torch.split(self.sample, EVALUATION_BATCH)]
        return self._scores(x, buffers, sample)

    def _scores(self, x: Vector, buffers: Vector, batches: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> Scores:
        """Per example: cross-entropy, and 1.0 where the prediction is right; fixed batches, so workers change no bit."""

        def score(replica: Replica, batch: tuple[torch.Tensor, torch.Tensor]) -> Scores:
            replica.load(x, buffers)
            replica.module.eval()
            with torch.no_grad():
                logits = replica.module(batch[0])
                loss = F.cross_entropy(logits, batch[1], reduction="none")
            return loss.numpy().astype(np.float64), (logits.argmax(1) == batch[1]).numpy().astype(np.float64)

        parts = self._map(score, batches)
        return np.concatenate([loss for loss, _ in parts]), np.concatenate([right for _, right in parts])

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
