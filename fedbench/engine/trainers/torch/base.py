"""The part that both torch trainers share: data as tensors on one device, batches, full gradients,
logits and scores."""

from __future__ import annotations

import functools
import itertools
import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from fedbench.engine.trainers.base import Assignment, Scores, Snapshot, Workload, finished, train_loss_sample
from fedbench.engine.trainers.torch.data import Features, answer, tensor
from fedbench.engine.trainers.torch.loss import loss_of
from fedbench.engine.trainers.torch.replica import Replica, Student
from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, RandomStream, draw_batches
from fedbench.protocols import Logits, Pullback, RowIndices
from fedbench.scenarios.local_parts import LocalPart
from fedbench.tasks.data import Examples
from fedbench.tasks.encoder import EncoderModel
from fedbench.tasks.models import Model
from fedbench.tasks.torch_model import is_faster_channels_last
from fedbench.types import Array, Job, Vector, Work

T = TypeVar("T")
R = TypeVar("R")
EVALUATION_BATCH = 500
ENCODER_BATCH = 50
"""How many examples go through an encoder at a time, in evaluation and for full gradients: the
activations of 64 tokens in all layers of an encoder are large."""


class TorchTask:
    """Computes on a Workload with one device of torch, in `dtype`: float32, or float64 in tests.
    Each of the `workers` threads has a module of its own."""

    name, lanes = "torch", 0
    channels_last_where_faster: ClassVar[bool] = False

    def __init__(self, workload: Workload, *, workers: int = 1, dtype: npt.DTypeLike = np.float32, device: str = "cpu") -> None:
        if workers < 1:
            raise UsageError(f"workers: must be >= 1, got {workers}")
        torch.set_num_threads(1)
        task, seed = workload.task, workload.seed
        self.workload, self.task, self.seed, self.dim = workload, task, seed, task.model.dim
        self.local = workload.local or LocalPart(steps=1)
        self.shards, self.dtype, self.device = workload.ordered, np.dtype(dtype), torch.device(device).type
        self.at = torch.device(device)
        self.real = torch.from_numpy(np.empty(0, dtype)).dtype
        train, test = task.dataset.train, task.dataset.test
        is_encoder = isinstance(task.model, EncoderModel)
        self.part = ENCODER_BATCH if is_encoder else EVALUATION_BATCH
        layered = task.model if isinstance(task.model, Model) else None
        channels_last = layered is not None and self.channels_last_where_faster and is_faster_channels_last(layered)
        self._featured = functools.partial(Features, channels_last=channels_last, dtype=self.real, device=self.at)
        self.x, self.y = self._kept(train)
        self.test_x, self.test_y = self._kept(test)
        self.loss = loss_of(workload)
        unseen = workload.unseen_rows
        self.sample = torch.from_numpy(train_loss_sample(seed, len(train), unseen)).to(self.at)
        self.unseen = torch.from_numpy(unseen).to(self.at)
        self._replicas: queue.SimpleQueue[Replica] = queue.SimpleQueue()
        for _ in range(workers):
            self._replicas.put(self._replica())
        self._pool = ThreadPoolExecutor(workers, "fedbench-worker", initializer=torch.set_num_threads, initargs=(1,))

    def _replica(self) -> Replica:
        return Replica(self.task, self.real, self.at, self.loss)

    def _kept(self, examples: Examples) -> tuple[Features, torch.Tensor]:
        """Returns features and labels on the device."""
        return self._featured(examples.x), self._labels(examples)

    def _labels(self, examples: Examples) -> torch.Tensor:
        labels = tensor(examples.labels).to(self.at)
        return labels if examples.numbers is None else labels.to(self.real)

    @contextmanager
    def _borrowed(self) -> Iterator[Replica]:
        replica = self._replicas.get()
        try:
            yield replica
        finally:
            self._replicas.put(replica)

    def _map(self, function: Callable[[Replica, T], R], items: Iterable[T]) -> list[R]:
        """Applies the function to the items, on all workers, and returns the results in the order
        of the items."""

        def with_replica(item: T) -> R:
            with self._borrowed() as replica:
                return function(replica, item)

        futures = [self._pool.submit(with_replica, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:  # Ctrl-C, or a job that failed: let no other job start
            for future in futures:
                future.cancel()
            raise

    def settings(self) -> AbstractContextManager[None]:
        """Returns a context with the settings of the process that hold while something is
        computed."""
        return nullcontext()

    # ---- training ----

    def draws(self, job: Job) -> tuple[torch.Tensor, list[int], torch.Tensor | None]:
        """Returns for all steps of a job the rows of the training set, the places where batches
        begin and end, and how every image is changed."""
        shard, how = torch.from_numpy(self.shards[job.client]), self.task.augmentation
        drawn, offsets = draw_batches(
            self.seed, job.client, job.k, len(shard), self.workload.batch_size, job.steps, self.workload.shuffled
        )
        changes = None
        if how is not None:
            changes = torch.from_numpy(how.draw(RandomStream(self.seed, Purpose.augmentation, job.client, job.k), len(drawn)))
        return shard[torch.from_numpy(drawn)], offsets.tolist(), changes

    def _batches(self, job: Job) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yields the features and labels of every step."""
        rows, offsets, changes = self.draws(job)
        labels = self.y[rows]
        for begin, end in itertools.pairwise(offsets):
            of_step = slice(begin, end)
            yield self.features(rows[of_step], None if changes is None else changes[of_step]), labels[of_step]

    def features(self, rows: torch.Tensor, changes: torch.Tensor | None) -> torch.Tensor:
        how = self.task.augmentation
        return self.x.rows(rows) if how is None or changes is None else self.x.augmented(rows, how, changes)

    def _work(
        self, replica: Replica, assignment: Assignment, end: Vector, end_buffers: Vector, by_products: dict[str, Array]
    ) -> Work:
        """Returns the Work of a job that has come to `end`, with what its rule wants beyond the
        gradients of its steps."""
        job, rule = assignment.job, assignment.rule
        if "full_gradient" in rule.wants:
            gradient = self._client_gradient(replica, job.client, rule.start, assignment.buffers)
            decays = rule.weight_decay and rule.optimizer == "sgd"  # that of AdamW is no part of a gradient
            by_products["full_gradient"] = gradient + rule.weight_decay * rule.start if decays else gradient
        return finished(assignment, end, end_buffers, by_products, lambda: self._end_logits(replica, end, end_buffers))

    def _client_gradient(self, replica: Replica, client: int, x: Vector, buffers: Vector) -> Vector:
        """Returns the gradient of the mean loss over all examples of a client, computed as in
        evaluation and summed in float64 over batches."""
        rows = torch.from_numpy(self.shards[client]).to(self.at)
        replica.load(x, buffers)
        replica.module.eval()
        total = torch.zeros(self.dim, dtype=torch.float64, device=self.at)
        for part in torch.split(rows, self.part):
            total.add_(replica.backward(self.x.rows(part), self.y[part]), alpha=len(part) / len(rows))
        return answer(total.to(self.real), x)

    def gradients(self, clients: Iterable[int], x: Vector, buffers: Vector) -> Iterator[Vector]:
        for client in clients:
            with self._borrowed() as replica, self.settings():
                gradient = self._client_gradient(replica, client, x, buffers)
            yield gradient

    # ---- public data ----

    @property
    def public_shape(self) -> tuple[int, int]:
        return self.workload.public_shape

    @functools.cached_property
    def _public_features(self) -> Features:
        return self._featured(self.workload.public_features)

    def _end_logits(self, replica: Replica, end: Vector, buffers: Vector) -> Logits:
        """Returns the logits (P, C) of all public rows under a job's end model, computed as in
        evaluation."""
        replica.load(end, buffers)
        replica.module.eval()
        with torch.no_grad():
            parts = [replica.module(part) for part in self._public_features.parts(self.part)]
        return answer(torch.cat(parts), end)

    @functools.cached_property
    def _student(self) -> Student:
        return Student(self._replica(), self.seed)

    def public_logits(
        self, x: Vector, buffers: Vector, rows: RowIndices, training_version: int | None
    ) -> tuple[Logits, Pullback]:
        with self.settings():
            features = self._public_features.rows(torch.from_numpy(rows).to(self.at))
            logits, pull = self._student.logits(x, buffers, features, training_version)

        def pullback(dlogits: Logits) -> Vector:
            with self.settings():
                return pull(dlogits)

        return logits, pullback

    # ---- evaluation ----

    def initial_buffers(self) -> Vector:
        return self.task.model.buffers0(self.dtype)

    models_at_a_time = 1

    def test_scores(self, models: Sequence[Snapshot]) -> list[Scores]:
        return [
            self._scores(*model, zip(self.test_x.parts(self.part), torch.split(self.test_y, self.part), strict=True))
            for model in models
        ]

    def test_logits(self, models: Sequence[Snapshot]) -> list[Logits]:
        return [self._logits(*model) for model in models]

    def _logits(self, x: Vector, buffers: Vector) -> Logits:
        """Returns the logits of the batches of `test_scores`, so that both speak of one model."""

        model = object()

        def logits(replica: Replica, features: torch.Tensor) -> Logits:
            replica.hold(model, x, buffers)
            with torch.no_grad():
                found: Logits = replica.module(features).float().cpu().numpy()
            return found

        with self.settings():
            return np.concatenate(self._map(logits, self.test_x.parts(self.part)))

    def train_scores(self, models: Sequence[Snapshot]) -> list[Scores]:
        return self._scores_of_rows(models, self.sample)

    def unseen_scores(self, models: Sequence[Snapshot]) -> list[Scores]:
        return self._scores_of_rows(models, self.unseen)

    def _scores_of_rows(self, models: Sequence[Snapshot], rows: torch.Tensor) -> list[Scores]:
        batches = torch.split(rows, self.part)
        return [self._scores(*model, [(self.x.rows(part), self.y[part]) for part in batches]) for model in models]

    def _scores(self, x: Vector, buffers: Vector, batches: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> Scores:
        """Returns the scores of fixed batches, so that the number of workers changes no bit."""

        model = object()

        def score(replica: Replica, batch: tuple[torch.Tensor, torch.Tensor]) -> Scores:
            replica.hold(model, x, buffers)
            with torch.no_grad():
                logits = replica.module(batch[0])
                loss = self.loss.each(logits, batch[1])
            right = logits.argmax(1) == batch[1] if self.task.dataset.train.numbers is None else torch.full_like(loss, torch.nan)
            return loss.cpu().numpy().astype(np.float64), right.cpu().numpy().astype(np.float64)

        with self.settings():
            parts = self._map(score, batches)
        return np.concatenate([loss for loss, _ in parts]), np.concatenate([right for _, right in parts])

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
