"""The reference trainer: local training in numpy, in any precision, for conformance, theory and
tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from fedbench.engine.trainers.base import Assignment, Stage, finished, no_public_data
from fedbench.errors import UsageError
from fedbench.kernels.random import draw_batches
from fedbench.protocols import Logits, Objective, PublicObjective, Pullback, RowIndices
from fedbench.types import Array, Job, LocalRule, Vector, Work

ADAM_BETA1, ADAM_BETA2, ADAM_EPS = 0.9, 0.999, 1e-8


class ReferenceTrainer:
    """Trains an Objective. If `batch_size` is None, every step uses all examples of the client."""

    name, device, lanes = "reference", "cpu", 0

    def __init__(self, objective: Objective, *, dtype: npt.DTypeLike, seed: int = 0, batch_size: int | None = None) -> None:
        self.objective = objective
        self.dtype = np.dtype(dtype)
        self.dim = objective.dim
        self.seed = seed
        self.batch_size = batch_size

    def train(self, wave: Sequence[Assignment]) -> list[Work]:
        return [self._run(a) for a in wave]

    def _run(self, assignment: Assignment) -> Work:
        # A diverging run is an outcome, not a warning.
        with Stage(assignment.job, "local training"), np.errstate(over="ignore", invalid="ignore"):
            return self._local(assignment)

    def _local(self, assignment: Assignment) -> Work:
        job, rule = assignment.job, assignment.rule
        y, total, first = rule.start.copy(), np.zeros_like(rule.start), np.zeros_like(rule.start)
        direction = Direction(rule)
        for step, rows in enumerate(self._rows(job)):
            h = self.objective.gradient(job.client, y, rows)
            if rule.anchor is not None:
                h = h - self.objective.gradient(job.client, rule.anchor, rows)
            if rule.weight_decay and rule.optimizer == "sgd":
                h = h + rule.weight_decay * y
            if step == 0:
                first = h
            total = total + h
            y = y - rule.lr * direction(h, y)
        by_products = {"first_gradient": first, "mean_gradient": total / job.steps if job.steps else total}
        if "full_gradient" in rule.wants:
            by_products["full_gradient"] = self._full(job.client, rule)
        return finished(assignment, y, assignment.buffers, by_products, lambda: self._end_logits(y))

    def _end_logits(self, end: Vector) -> Logits:
        objective, features = self._public()
        return objective.logits(end, features)

    def _rows(self, job: Job) -> Iterator[npt.NDArray[np.int64] | None]:
        if self.batch_size is None:
            for _ in range(job.steps):
                yield None
            return
        examples = int(self.objective.n()[job.client])
        rows, offsets = draw_batches(self.seed, job.client, job.k, examples, self.batch_size, job.steps)
        for begin, end in itertools.pairwise(offsets.tolist()):
            yield rows[begin:end]

    def _full(self, client: int, rule: LocalRule) -> Vector:
        gradient = self.objective.gradient(client, rule.start)
        return gradient + rule.weight_decay * rule.start if rule.weight_decay and rule.optimizer == "sgd" else gradient

    def gradients(self, clients: Iterable[int], x: Vector, buffers: Vector) -> Iterator[Vector]:
        for client in clients:
            yield self.objective.gradient(client, x)

    # ---- public data ----

    def _public(self) -> tuple[PublicObjective, Array]:
        """Returns the objective and its public features (P, D). Raises UsageError if it has
        none."""
        if not isinstance(self.objective, PublicObjective) or self.objective.public is None:
            raise no_public_data()
        return self.objective, self.objective.public

    @property
    def public_shape(self) -> tuple[int, int]:
        objective, features = self._public()
        return len(features), objective.classes

    def public_logits(
        self, x: Vector, buffers: Vector, rows: RowIndices, training_version: int | None
    ) -> tuple[Logits, Pullback]:
        """Ignores `training_version`, since these models have no layers that differ in training."""
        objective, features = self._public()
        batch = features[rows]
        return objective.logits(x, batch), lambda dlogits: objective.pullback(batch, dlogits)

    def initial_buffers(self) -> Vector:
        return np.empty(0, self.dtype)

    def close(self) -> None:
        """Does nothing, since there are no threads."""


class Direction:
    """Computes the direction of a step from its gradient h and the iterate y. It holds the
    optimiser's state of one job."""

    def __init__(self, rule: LocalRule) -> None:
        if rule.optimizer == "adamw" and rule.momentum:
            raise UsageError(f"momentum: adamw has its own, expected 0, got {rule.momentum}")
        self.rule = rule
        self.u: Vector | None = None
        self.v: Vector | None = None
        self.count = 0

    def __call__(self, h: Vector, y: Vector) -> Vector:
        rule = self.rule
        direction = self._adamw(h, y) if rule.optimizer == "adamw" else self._momentum(h)
        if rule.prox and rule.prox_form == "l2":
            direction = direction + rule.prox * (y - rule.start)
        elif rule.prox:
            away = y - rule.start
            direction = direction + 2 * rule.prox * float(np.abs(away).sum()) * np.sign(away)
        if rule.correction is not None:
            direction = direction + rule.correction
        return direction

    def _momentum(self, h: Vector) -> Vector:
        if not self.rule.momentum:
            return h
        self.u = h if self.u is None else self.rule.momentum * self.u + h
        return self.u

    def _adamw(self, h: Vector, y: Vector) -> Vector:
        self.count += 1
        u, v = (np.zeros_like(h) if moment is None else moment for moment in (self.u, self.v))
        self.u = ADAM_BETA1 * u + (1 - ADAM_BETA1) * h
        self.v = ADAM_BETA2 * v + (1 - ADAM_BETA2) * h * h
        m_hat, v_hat = self.u / (1 - ADAM_BETA1**self.count), self.v / (1 - ADAM_BETA2**self.count)
        return np.asarray(m_hat / (np.sqrt(v_hat) + ADAM_EPS) + self.rule.weight_decay * y)
