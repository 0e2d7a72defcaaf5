"""The native trainer: computes small models as lists of layers in C++, with jobs shared out to
threads. It does not need torch.

It takes LocalRules of plain SGD with weight decay, an l2 prox, a correction and an anchor; `choose`
sends all other runs to torch.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from fedbench.engine.trainers.base import (
    SERVER,
    Assignment,
    Columns,
    Places,
    Scores,
    Snapshot,
    Stage,
    Workload,
    finished,
    place,
    train_loss_sample,
)
from fedbench.errors import UsageError
from fedbench.kernels.train import JobColumns, LayerSpec, LocalJob, LocalTrainer, Rule, score
from fedbench.protocols import Logits, Pullback, RowIndices
from fedbench.tasks.data import Examples
from fedbench.tasks.encoder import EncoderModel
from fedbench.tasks.models import Model
from fedbench.tasks.own_model import OwnModel
from fedbench.types import Array, Job, LocalRule, Vector, Work

MODELS_AT_A_TIME, MODELS_BYTES = 8, 256 << 10
"""How many models are evaluated in one pass over the examples, which costs less as long as the
models stay in a second-level cache."""


class NativeTrainer:
    """Trains a Task in the dtype of its examples, on `workers` threads; `isa` is that of
    kernels.train."""

    name, device, lanes = "native", "cpu", 0

    def __init__(self, workload: Workload, *, workers: int = 1, isa: str = "") -> None:
        task, seed = workload.task, workload.seed
        train, self.test = task.dataset.train, task.dataset.test
        self.workload, self.seed, self.dim, self.classes = workload, seed, task.model.dim, task.dataset.classes
        self.shards = workload.ordered
        self.dtype, self.workers = train.x.dtype, workers
        how, shuffled = task.augmentation, workload.shuffled
        self.core = LocalTrainer(
            layer_specs(task.model),
            train.x,
            train.y,
            seed=seed,
            batch_size=workload.batch_size,
            threads=workers,
            isa=isa,
            shuffled=shuffled,
            padding=how.padding if how else 0,
            fill=np.array(how.fill, self.dtype) if how else None,
        )
        self.core.set_shards(self.shards.rows, self.shards.begin, self.shards.sizes)
        unseen = workload.unseen_rows
        self.sample, self.unseen = train.subset(train_loss_sample(seed, len(train), unseen)), train.subset(unseen)
        self._words = (-1, 0)  # a version, and how many dropout words the student has used in it

    # ---- training ----

    def train(self, wave: Sequence[Assignment]) -> list[Work]:
        jobs = []
        for assignment in wave:
            with Stage(assignment.job, "local training"):
                jobs.append(self._job(assignment))
        try:
            self.core.train(jobs)
        except Exception:
            self._name_the_refused(wave, jobs)
            raise
        works = []
        for assignment, job in zip(wave, jobs, strict=True):
            with Stage(assignment.job, "by-products"):
                works.append(self._work(assignment, job))
        return works

    def train_columns(self, wave: Columns, places: Places) -> None:
        for number, rule in enumerate(wave.rules):
            if terms_of(rule):
                job = wave.job(int(np.argmax(wave.rule == number)))
                with Stage(job, "local training"):
                    _check_terms(job, rule)
        rules = [_core_rule(rule) for rule in wave.rules]
        try:
            self.core.train_columns(JobColumns(wave.client, wave.k, wave.steps, rules, wave.rule, *places, wave.sends))
        except Exception:
            jobs = [
                Assignment(wave.job(j), wave.rules[rule], self.initial_buffers()) for j, rule in enumerate(wave.rule.tolist())
            ]
            self._name_the_refused(jobs, [self._job(job) for job in jobs])
            raise

    def _name_the_refused(self, wave: Sequence[Assignment], jobs: Sequence[LocalJob]) -> None:
        """Raises ClientError for the first job that the core refuses. The core checks a whole wave
        before it starts and does not say which job it refused, so each job is given to it again,
        alone and without steps."""
        for assignment, job in zip(wave, jobs, strict=True):
            with Stage(assignment.job, "local training"):
                self.core.train([dataclasses.replace(job, steps=0, full_gradient=None)])

    def _job(self, assignment: Assignment) -> LocalJob:
        job, rule = assignment.job, assignment.rule
        _check_terms(job, rule)

        def wanted(name: str) -> Vector | None:
            return np.empty(self.dim, self.dtype) if name in rule.wants else None

        return LocalJob(
            client=job.client,
            k=job.k,
            steps=job.steps,
            shard=self.shards[job.client],
            rule=_core_rule(rule),
            end=np.empty(self.dim, self.dtype),
            first_gradient=wanted("first_gradient"),
            mean_gradient=wanted("mean_gradient"),
            full_gradient=wanted("full_gradient"),
        )

    def _work(self, assignment: Assignment, job: LocalJob) -> Work:
        names = ("first_gradient", "mean_gradient", "full_gradient")
        by_products: dict[str, Array] = {n: value for n in names if (value := getattr(job, n)) is not None}
        return finished(assignment, job.end, assignment.buffers, by_products, lambda: self._logits(job))

    def _logits(self, job: LocalJob) -> Logits:
        return self.core.logits(job.end, self.workload.public_features, self.classes)

    def gradients(self, clients: Iterable[int], x: Vector, buffers: Vector) -> Iterator[Vector]:
        """Yields full gradients, computed for as many clients at a time as there are workers. A
        full gradient is that of a job without steps."""
        x, left = np.ascontiguousarray(x), iter(clients)
        while part := list(itertools.islice(left, self.workers)):
            full = [np.empty(self.dim, self.dtype) for _ in part]
            self.core.train(
                [
                    LocalJob(0, 0, 0, self.shards[client], Rule(x, 0.0), np.empty_like(x), full_gradient=g)
                    for client, g in zip(part, full, strict=True)
                ]
            )
            yield from full

    # ---- public data ----

    @property
    def public_shape(self) -> tuple[int, int]:
        return self.workload.public_shape

    def public_logits(
        self, x: Vector, buffers: Vector, rows: RowIndices, training_version: int | None
    ) -> tuple[Logits, Pullback]:
        version, masks = training_version, None
        if version is not None:
            used = self._words[1] if self._words[0] == version else 0
            masks = (self.seed, SERVER, version, used)
        logits, words = self.core.forward(x, self.workload.public_features[rows], self.classes, masks)
        if version is not None:
            self._words = (version, used + words)
        return logits, self.core.pullback

    # ---- evaluation ----

    def initial_buffers(self) -> Vector:
        return np.empty(0, self.dtype)

    @property
    def models_at_a_time(self) -> int:
        return max(1, min(MODELS_AT_A_TIME, MODELS_BYTES // (self.dim * self.dtype.itemsize)))

    def test_scores(self, models: Sequence[Snapshot]) -> list[Scores]:
        return self._scores(models, self.test)

    def train_scores(self, models: Sequence[Snapshot]) -> list[Scores]:
        return self._scores(models, self.sample)

    def unseen_scores(self, models: Sequence[Snapshot]) -> list[Scores]:
        return self._scores(models, self.unseen)

    def test_logits(self, models: Sequence[Snapshot]) -> list[Logits]:
        return list(self.core.logits(np.stack([model.x for model in models]), self.test.x, self.classes))

    def _scores(self, models: Sequence[Snapshot], examples: Examples) -> list[Scores]:
        logits = self.core.logits(np.stack([model.x for model in models]), examples.x, self.classes)
        return [score(of_model, examples.y) for of_model in logits]

    def close(self) -> None:
        """Does nothing, since the threads end with the trainer."""


def _check_terms(job: Job, rule: LocalRule) -> None:
    beyond = terms_of(rule)
    if beyond:
        raise UsageError(
            f"trainer native: the local rule of {place(job)} uses {', '.join(sorted(beyond))}, which it does not take; say so "
            f"in the algorithm's rule_terms, or run with --trainer torch"
        )


def _core_rule(rule: LocalRule) -> Rule:
    start = np.ascontiguousarray(rule.start)
    return Rule(start, rule.lr, rule.weight_decay, rule.prox, _vector(rule.correction), _vector(rule.anchor))


def _vector(given: Vector | None) -> Vector | None:
    return None if given is None else np.ascontiguousarray(given)


def terms_of(rule: LocalRule) -> frozenset[str]:
    """Returns what a LocalRule uses beyond plain SGD with weight decay, an l2 prox, a correction
    and an anchor, in the words of Algorithm.rule_terms."""
    used = {
        "momentum": bool(rule.momentum),
        "adamw": rule.optimizer == "adamw",
        "l1_squared": bool(rule.prox) and rule.prox_form == "l1_squared",
    }
    return frozenset(term for term, is_used in used.items() if is_used)


def layer_specs(model: Model | EncoderModel | OwnModel) -> list[LayerSpec]:
    """Returns the model's layers as the core takes them. Raises UsageError, naming the first layer
    that is not native, if there is one."""
    if isinstance(model, EncoderModel):
        raise UsageError("it is a pretrained encoder, which has no layers here")
    if isinstance(model, OwnModel):
        raise UsageError(model.why)
    specs = []
    for index, (layer, output) in enumerate(zip(model.layers, model.shapes[1:], strict=True)):
        spec = layer.native(output)
        if spec is None:
            raise UsageError(f"layer {index} ({layer}) is not native")
        specs.append(spec)
    return specs
