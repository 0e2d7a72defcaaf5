"""Clients that train alone (`Algorithm.alone`): who can, and how each is judged by its own
model."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from types import MappingProxyType

import numpy as np

from fedbench.engine.evaluate import Evaluator, Metrics, Others
from fedbench.engine.measures import Parts, Unseen
from fedbench.engine.trainers.base import ScoringBackend, Snapshot
from fedbench.errors import UsageError
from fedbench.protocols import Algorithm
from fedbench.results.digests import Digest
from fedbench.results.sections import METRICS
from fedbench.scenarios.schema import Scenario
from fedbench.tasks.encoder import EncoderModel
from fedbench.tasks.models import Model
from fedbench.tasks.own_model import OwnModel
from fedbench.types import Vector
from fedbench.types.arrays import host


def check_alone(algorithm: Algorithm, scenario: Scenario, model: Model | EncoderModel | OwnModel) -> None:
    """Raises UsageError unless clients can be alone: they remember their models, which have no
    buffers."""
    if not algorithm.clients_remember:
        raise UsageError(f"algorithm {algorithm.name}: alone: clients keep their models, so clients_remember must be True")
    if len(model.buffers0()):
        raise UsageError(
            f"algorithm {algorithm.name} is not applicable to scenario {scenario.name}: its clients share no buffers, and model "
            f"{scenario.task.model} of task {scenario.task.name} has buffers (BatchNorm), of which the engine keeps one set for all"
        )


class AloneEvaluator(Evaluator):
    """Scores clients that are alone, each by its own model: `x` of a version is (N, d). A metric is
    the plain mean over clients. A model that the version before had too is not scored again."""

    at_a_time = 1

    def __init__(self, backend: ScoringBackend, others: Others = MappingProxyType({})) -> None:
        super().__init__(backend, others)
        self._known: dict[str, Metrics] = {}  # by the model's digest: those of the last version

    def metrics(self, models: Sequence[Snapshot]) -> list[Metrics]:
        return [self._mean(x, buffers) | self.over(functools.partial(self.parts, x, buffers)) for x, buffers in models]

    def parts(self, x: Vector, buffers: Vector) -> Parts:
        """Returns what every client's own model achieves on its own mix of classes, and the mean
        over clients for every class."""
        return self._parts([one for piece in self._pieces(x, buffers) for one in self.backend.test_scores(piece)])()

    def unseen(self, x: Vector, buffers: Vector) -> Unseen:
        """Returns the means over the clients' own models."""
        found = [self._by_client(one) for piece in self._pieces(x, buffers) for one in self.backend.unseen_scores(piece)]
        return Unseen(*(np.mean(each, axis=0) for each in zip(*found, strict=True)))

    def _mean(self, x: Vector, buffers: Vector) -> Metrics:
        names = [Digest().add(row).hex() for row in host(x)]
        distinct = dict(zip(names, x, strict=True))
        new = {name: row for name, row in distinct.items() if name not in self._known}
        found = [one for piece in self._pieces(new.values(), buffers) for one, _ in self.scored(piece)]
        known = self._known | dict(zip(new, found, strict=True))
        self._known = {name: known[name] for name in distinct}
        return {
            metric: float(np.mean([known[name][metric] for name in names])) for metric in (*METRICS, *self._own, *self._unseen)
        }

    def _pieces(self, rows: Iterable[Vector], buffers: Vector) -> Iterator[list[Snapshot]]:
        """Yields the models, as many at a time as the backend should be given."""
        models = iter(rows)
        while piece := [Snapshot(row, buffers) for row in itertools.islice(models, self.backend.models_at_a_time)]:
            yield piece
