"""The native trainer: small models as layer lists in C++, jobs shared out to threads. No torch is needed.

It takes LocalRules of plain SGD with weight decay, an l2 prox and a correction; `choose` says when that is enough.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench.engine.trainers.base import (
    SERVER,
    Assignment,
    accuracy_per_client,
    draw_public_batches,
    no_public_data,
    train_loss_sample,
)
from fedbench.errors import UsageError
from fedbench.kernels.train import LayerSpec, LocalJob, LocalTrainer, score
from fedbench.protocols import Logits, Pullback, Rows
from fedbench.tasks.layers import Conv2d, Dropout, Dropout2d, Flatten, Layer, Linear, MaxPool2d, ReLU
from fedbench.tasks.models import Model
from fedbench.tasks.task import Task
from fedbench.types import LocalRule, Vector, Work

RULE_TERMS: frozenset[str] = frozenset()
"""Terms of a LocalRule beyond the plain ones (Algorithm.rule_terms) that this trainer takes: none."""


class NativeTrainer:
    """Trains a Task in the dtype of its examples. Arguments as for TorchTrainer; `isa` as in kernels.train."""

    name = "native"

    def __init__(
        self,
        task: Task,
        shards: Sequence[Rows],
        *,
        batch_size: int,
        seed: int,
        workers: int = 1,
        public: Rows | None = None,
        isa: str = "",
    ) -> None:
        if task.augmentation is not None:
            raise UsageError(
                f"trainer native: images of task {task.name} are augmented, which it does not do; use --trainer torch"
            )
        train = task.dataset.train
        self.task, self.seed, self.shards = task, seed, [np.ascontiguousarray(rows, np.int64) for rows in shards]
        self.dtype, self.dim = train.x.dtype, task.model.dim
        self.core = LocalTrainer(
            layer_specs(task.model), train.x, train.y, seed=seed, batch_size=batch_size, threads=workers, isa=isa
        )
        self.public_x = None if public is None else np.ascontiguousarray(train.x[public])
        self.sample = train.subset(train_loss_sample(seed, len(train)))
        self._calls = 0
        self._words = (-1, 0)  # version, and dropout words used in it by the student

    # ---- training ----

    def train(self, wave: Sequence[Assignment]) -> list[Work]:
        jobs = [self._job(assignment) for assignment in wave]
        self.core.train(jobs)
        return [self._work(assignment, job) for assignment, job in zip(wave, jobs, strict=True)]

    def _job(self, assignment: Assignment) -> LocalJob:
        job, rule = assignment.job, assignment.rule
        beyond = terms_of(rule) - RULE_TERMS
        if beyond:
            raise UsageError(
                f"trainer native: the local rule uses {', '.join(sorted(beyond))}, which it does not take; say so in the algorithm's "
                f"rule_terms, or run with --trainer torch"
            )

        def wanted(name: str) -> Vector | None:
            return np.empty(self.dim, self.dtype) if name in rule.wants else None

        return LocalJob(
            client=job.client,
            k=job.k,
            steps=job.steps,
            shard=self.shards[job.client],
            start=np.ascontiguousarray(rule.start),
            end=np.empty(self.dim, self.dtype),
            lr=rule.lr,
            weight_decay=rule.weight_decay,
            prox=rule.prox,
            correction=None if rule.correction is None else np.ascontiguousarray(rule.correction),
            first_gradient=wanted("first_gradient"),
            mean_gradient=wanted("mean_gradient"),
            full_gradient=wanted("full_gradient"),
        )

    def _work(self, assignment: Assignment, job: LocalJob) -> Work:
        by_products: dict[str, npt.NDArray[Any]] = {}
        for name in ("first_gradient", "mean_gradient", "full_gradient"):
            value = getattr(job, name)
            if value is not None:
                by_products[name] = value
        seconds = 0.0
        if "public_logits" in assignment.rule.wants:
            begin = time.perf_counter()
            by_products["public_logits"] = self.core.logits(job.end, self._public(), self.task.dataset.classes)
            seconds = time.perf_counter() - begin
        delta = job.end - assignment.rule.start
        return Work(delta=delta, end=job.end, buffers=assignment.buffers, server_seconds=seconds, **by_products)

    def gradients(self, clients: Iterable[int], x: Vector, buffers: Vector) -> Iterator[Vector]:
        for client in clients:
            yield self.core.gradient(x, self.shards[client])

    # ---- public data ----

    def _public(self) -> npt.NDArray[Any]:
        """The public features (P, ..)."""
        if self.public_x is None:
            raise no_public_data()
        return self.public_x

    @property
    def public_shape(self) -> tuple[int, int]:
        return len(self._public()), self.task.dataset.classes

    def public_batches(self, version: int, size: int, steps: int | None) -> Iterator[Rows]:
        return draw_public_batches(self.seed, version, self.public_shape[0], size, steps)

    def public_logits(self, x: Vector, buffers: Vector, rows: Rows, version: int, *, training: bool) -> tuple[Logits, Pullback]:
        """Dropout masks in training are keyed by seed and version: every call of a version goes on in their stream."""
        self._calls += 1
        call = self._calls
        used = self._words[1] if self._words[0] == version else 0
        masks = (self.seed, SERVER, version, used) if training else None
        logits, words = self.core.forward(x, np.ascontiguousarray(self._public()[rows]), self.task.dataset.classes, masks)
        if training:
            self._words = (version, used + words)

        def pullback(dlogits: Logits) -> Vector:
            if call != self._calls:
                raise RuntimeError("public_logits: this pullback is of an earlier call; use it before the next one")
            return self.core.pullback(dlogits)

        return logits, pullback

    # ---- evaluation ----

    def initial_buffers(self) -> Vector:
        return np.empty(0, self.dtype)

    def evaluate(self, x: Vector, buffers: Vector) -> dict[str, float]:
        test = self.task.dataset.test
        loss, right = self._scores(x, test.x, test.y)
        train_loss, _ = self._scores(x, self.sample.x, self.sample.y)
        return {"test_accuracy": float(right.mean()), "test_loss": float(loss.mean()), "train_loss": float(train_loss.mean())}

    def per_client(self, x: Vector, buffers: Vector) -> Vector:
        test = self.task.dataset.test
        _, right = self._scores(x, test.x, test.y)
        return accuracy_per_client(self.task.dataset, self.shards, right)

    def _scores(self, x: Vector, features: npt.NDArray[Any], labels: Rows) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Per example: cross-entropy, and 1.0 where the prediction is right."""
        return score(self.core.logits(x, features, self.task.dataset.classes), labels)

    def close(self) -> None:
        """Threads end with the trainer."""


def terms_of(rule: LocalRule) -> frozenset[str]:
    """What a LocalRule uses beyond plain SGD with weight decay, an l2 prox and a correction; the words of Algorithm.rule_terms."""
    used = {
        "momentum": bool(rule.momentum),
        "adamw": rule.optimizer == "adamw",
        "l1_squared": bool(rule.prox) and rule.prox_form == "l1_squared",
        "anchor": rule.anchor is not None,
    }
    return frozenset(term for term, is_used in used.items() if is_used)


def layer_specs(model: Model) -> list[LayerSpec]:
    """The model's layers as the core takes them. UsageError, naming the first, if it has one that is not native."""
    return [_layer_spec(index, layer) for index, layer in enumerate(model.layers)]


def _layer_spec(index: int, layer: Layer) -> LayerSpec:
    match layer:
        case Linear(inputs, outputs):
            return LayerSpec("linear", inputs, outputs)
        case Conv2d(inputs, outputs, kernel, stride, padding, bias=True):
            return LayerSpec("conv2d", inputs, outputs, kernel, stride, padding)
        case MaxPool2d(kernel):
            return LayerSpec("max_pool2d", kernel=kernel)
        case ReLU():
            return LayerSpec("relu")
        case Flatten():
            return LayerSpec("flatten")
        case Dropout2d(p):
            return LayerSpec("dropout2d", p=p)
        case Dropout(p):
            return LayerSpec("dropout", p=p)
    raise UsageError(f"layer {index} ({layer}) is not native")
