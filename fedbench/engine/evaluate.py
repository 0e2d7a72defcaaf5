"""Evaluates models on a grid of virtual time that is the same for all algorithms. Evaluation takes
no virtual time, draws no random numbers and changes nothing."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

import numpy as np

from fedbench.engine.execute import Execution
from fedbench.engine.goal import Goal
from fedbench.engine.measures import OfUnseen, OverParts, Parts, Unseen
from fedbench.engine.trainers.base import Scores, ScoringBackend, Snapshot
from fedbench.kernels.accumulate import row_dots
from fedbench.kernels.scheduler import NANOSECONDS
from fedbench.own_metrics import Measure
from fedbench.results.sections import METRICS
from fedbench.scenarios.grid import Grid
from fedbench.shards import Shards
from fedbench.types import Array, Vector, Weights

Metrics = dict[str, float]
Progress = Callable[[int, float, Callable[[int], list[Metrics]]], None]
"""Is told of every update: the version, the virtual seconds, and a function that returns the rows
from a grid point on that have metrics."""
Others = Mapping[str, Measure | OverParts | OfUnseen]
Evaluate = Callable[[Sequence[Snapshot]], list[Metrics]]
"""A function from models to the metrics of each by name."""


class Evaluator:
    """Scores models on a task's examples. The test scores of the last model are kept. It draws and
    changes nothing."""

    def __init__(self, backend: ScoringBackend, others: Others = MappingProxyType({})) -> None:
        """`others` are metrics beside accuracy and losses, by name."""
        self.backend, self.others = backend, others
        self._own = {name: one for name, one in others.items() if not isinstance(one, OverParts | OfUnseen)}
        self._unseen = {name: one.score for name, one in others.items() if isinstance(one, OfUnseen)}
        self._over = {name: one.value for name, one in others.items() if isinstance(one, OverParts)}
        self._tested: tuple[Snapshot, Scores] | None = None

    def metrics(self, models: Sequence[Snapshot]) -> list[Metrics]:
        """Returns test_accuracy, which is NaN if labels are real, test_loss, train_loss and the
        other metrics of every model."""
        return [found | self.over(self._parts(scores)) for found, scores in self.scored(models)]

    def scored(self, models: Sequence[Snapshot]) -> list[tuple[Metrics, Scores]]:
        """Returns the metrics of every model but those over its parts, and its test scores."""
        tested, trained = self.backend.test_scores(models), self.backend.train_scores(models)
        self._tested = (models[-1], tested[-1])
        return [
            (
                {"test_accuracy": float(scores[1].mean()), "test_loss": float(scores[0].mean()), "train_loss": float(loss.mean())}
                | own
                | unseen,
                scores,
            )
            for scores, (loss, _), own, unseen in zip(tested, trained, self._of_own(models), self._of_unseen(models), strict=True)
        ]

    def _of_unseen(self, models: Sequence[Snapshot]) -> Sequence[Metrics]:
        if not self._unseen:
            return [{}] * len(models)
        found = self.backend.unseen_scores(models)
        return [{name: float(scores[kind].mean()) for name, kind in self._unseen.items()} for scores in found]

    def _of_own(self, models: Sequence[Snapshot]) -> Sequence[Metrics]:
        if not self._own:
            return [{}] * len(models)
        test = self.backend.workload.task.dataset.test
        logits = self.backend.test_logits(models)
        outputs = logits if test.numbers is None else [one[:, 0] for one in logits]
        return [{name: measure(one, test.labels, test.x) for name, measure in self._own.items()} for one in outputs]

    def over(self, parts: Callable[[], Parts]) -> Metrics:
        """Returns the metrics over clients and classes, if there are any."""
        found = parts() if self._over else None
        return {} if found is None else {name: value(found) for name, value in self._over.items()}

    @property
    def at_a_time(self) -> int:
        """How many versions should be evaluated together."""
        return self.backend.models_at_a_time

    def parts(self, x: Vector, buffers: Vector) -> Parts:
        """Returns what a model achieves on every client's own mix of classes, and on every class.
        For a client, the test scores of the classes are weighted by their shares in its training
        examples."""
        return self._parts(self._test_scores(x, buffers))()

    def unseen(self, x: Vector, buffers: Vector) -> Unseen:
        """Returns what a model achieves on the examples of every client that is held out."""
        return self._by_client(self.backend.unseen_scores([Snapshot(x, buffers)])[0])

    def _by_client(self, scores: Scores) -> Unseen:
        shards = Shards.of(self.backend.workload.unseen)
        if not len(shards):
            return Unseen(np.empty(0), np.empty(0))
        loss, right = (np.add.reduceat(one, shards.begin) / shards.sizes for one in scores)
        return Unseen(right, loss)

    def _parts(self, scores: Scores | list[Scores]) -> Callable[[], Parts]:
        """Returns what makes the parts of one model for all clients, or of a model for each."""

        def made() -> Parts:
            if not isinstance(scores, list):
                loss, right = map(self._by_class, scores)
                return Parts(row_dots(self.shares, right), row_dots(self.shares, loss), right, loss)
            losses, rights = (np.stack([self._by_class(one[kind]) for one in scores]) for kind in (0, 1))
            right, loss = (np.asarray((self.shares * one).sum(axis=1)) for one in (rights, losses))
            return Parts(right, loss, rights.mean(axis=0), losses.mean(axis=0))

        return made

    @functools.cached_property
    def shares(self) -> Weights:
        """The share of every class in the training examples of every client (N, C)."""
        workload = self.backend.workload
        dataset, shards = workload.task.dataset, Shards.of(workload.shards)
        return np.asarray(shards.labels(dataset.train.y, dataset.classes) / shards.sizes[:, None])

    def _by_class(self, values: Vector) -> Weights:
        """Returns the mean over the test examples of every class (C,)."""
        dataset = self.backend.workload.task.dataset
        labels, classes = dataset.test.y, dataset.classes
        return np.asarray(np.bincount(labels, values, classes) / np.maximum(1, np.bincount(labels, minlength=classes)))

    def _test_scores(self, x: Vector, buffers: Vector) -> Scores:
        if self._tested is not None and all(map(np.array_equal, self._tested[0], (x, buffers))):
            return self._tested[1]
        return self.backend.test_scores([Snapshot(x, buffers)])[0]


class Fills(Protocol):
    """Keeps what models achieve at times beside the grid."""

    def fill(self, execution: Execution, version: int, until_ns: int) -> None:
        """Hears that the model is that of this version until a time."""

    def content(self) -> list[object]:
        """Returns what a checkpoint has of it."""

    def restore(self, content: list[object] | None) -> None:
        """Takes that content. ValueError if it does not fit."""


class GridEvaluator:
    """An observer that gives each point of the evaluation grid the metrics of the newest version
    whose time is at or before it. If there is a `goal`, it raises GoalHeld at the first grid point
    at which the goal is held, and makes no later row. Models wait until there are `at_a_time`, or
    until the goal is held if all of them meet it. They are then evaluated together, which reads the
    examples once. `own` are the names of metrics of the user's own. `along` hears of every version
    before its last time."""

    def __init__(
        self,
        evaluate: Evaluate,
        grid: Grid,
        progress: Progress | None = None,
        goal: Goal | None = None,
        at_a_time: int = 1,
        own: Sequence[str] = (),
        along: Fills | None = None,
    ) -> None:
        self._evaluate = evaluate
        self.grid = grid
        self._rows: list[Metrics] = []
        self._complete = 0  # how many rows have metrics: the first ones
        self._waiting: dict[int, Snapshot] = {}  # by version
        self._known: dict[int, Metrics] = {}  # by version: what was evaluated last
        self._at_a_time = at_a_time
        self.progress = progress
        self.goal = goal
        self.names = (*METRICS, *own)
        self.along = along

    @property
    def rows(self) -> list[Metrics]:
        """The rows so far: seconds, version, and the metrics by name."""
        self._evaluate_waiting()
        return self._rows

    @rows.setter
    def rows(self, rows: list[Metrics]) -> None:
        self._rows, self._complete = rows, len(rows)

    def before_update(self, execution: Execution, version: int, time_ns: int) -> None:
        if self.along is not None:
            self.along.fill(execution, version, time_ns - 1)
        self._fill(execution, version, self.grid.points_until(time_ns - 1))

    def after_update(self, execution: Execution, version: int, time_ns: int) -> None:
        if self.progress:
            self.progress(version, time_ns / NANOSECONDS, self._evaluated_from)

    def _evaluated_from(self, first: int) -> list[Metrics]:
        return self._rows[first : self._complete]

    def finish(self, execution: Execution, end_ns: int) -> None:
        """Fills all grid points up to the end with the last version."""
        if self.along is not None:
            self.along.fill(execution, execution.version, end_ns)
        self._fill(execution, execution.version, self.grid.points_until(end_ns))

    def _fill(self, execution: Execution, version: int, points: int) -> None:
        """Adds the rows up to grid point `points` - 1. A version is evaluated once for all of its
        points."""
        self._end_if_held()
        while len(self._rows) < points:
            self._await(execution, version)  # which may raise, and then leaves no row that lacks its model
            self._rows.append({"seconds": self.grid.time_ns(len(self._rows)) / NANOSECONDS, "version": version})
            if len(self._waiting) >= self._at_a_time or not self._waiting or (self.goal and self.goal.may_be_held(self._rows)):
                self._evaluate_waiting()
            self._end_if_held()

    def _end_if_held(self) -> None:
        if self.goal is not None:
            self.goal.see(self._rows, self._complete)

    def _await(self, execution: Execution, version: int) -> None:
        """Keeps the current model, of this version, until it is evaluated."""
        if version not in self._known and version not in self._waiting:
            self._waiting[version] = execution.judged()

    def _evaluate_waiting(self) -> None:
        """Evaluates the models that wait, and completes the rows."""
        if self._waiting:
            self._known = dict(zip(self._waiting, self._evaluate(list(self._waiting.values())), strict=True))
            self._waiting.clear()
        for row in self._rows[self._complete :]:
            row.update(self._known[int(row["version"])])
        self._complete = len(self._rows)

    @property
    def end_seconds(self) -> float:
        """The time of the last row in seconds, rounded so that a virtual clock in nanoseconds does
        not end before it: beyond a month of seconds, a float is about as coarse as a nanosecond."""
        end_ns = self.grid.time_ns(len(self._rows) - 1)
        seconds = end_ns / NANOSECONDS
        return seconds if round(seconds * NANOSECONDS) >= end_ns else math.nextafter(seconds, math.inf)

    def metrics_of(self, execution: Execution, version: int) -> Metrics:
        """Returns the metrics of the current model, computed once per version."""
        self._await(execution, version)
        self._evaluate_waiting()
        return self._known[version]

    def columns(self) -> dict[str, Array]:
        """Returns the rows as columns: seconds float64, version int64, metrics float32 (NaN where a
        task has no such metric)."""
        return {
            "seconds": np.array([row["seconds"] for row in self.rows], np.float64),
            "version": np.array([row["version"] for row in self.rows], np.int64),
            **{name: np.array([row.get(name, np.nan) for row in self.rows], np.float32) for name in self.names},
        }
