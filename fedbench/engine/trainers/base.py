"""The interface between the engine and the backends that train, the check of the rules that a
backend gets, and the wrapping of a client's failure."""

from __future__ import annotations

import time
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fedbench.errors import ClientError, FedbenchError, UsageError
from fedbench.foreign import described
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.protocols import Logits, Pullback, RowIndices
from fedbench.scenarios.local_parts import LocalPart
from fedbench.shards import Shards
from fedbench.tasks.task import Task
from fedbench.types import Array, Job, LocalRule, Vector, Want, Work
from fedbench.types.arrays import is_array


@dataclass(frozen=True, slots=True)
class Assignment:
    """One job of a wave: the job, its local rule, and the model buffers of its base version
    (m,)."""

    job: Job
    rule: LocalRule
    buffers: Vector


class Places(NamedTuple):
    """The rows into which jobs write their progress: job j writes to row `row[j]` of
    `matrices[matrix[j]]` (jobs, d)."""

    matrices: Sequence[Array]
    matrix: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Columns:
    """A wave of jobs that send one vector, as columns (n,). `rule` has for every job the index of
    its rule in `rules`; `sends` names the vector as `Algorithm.sends` does."""

    client: npt.NDArray[np.int32]
    k: npt.NDArray[np.int32]
    base: npt.NDArray[np.int32]
    steps: npt.NDArray[np.int32]
    rules: Sequence[LocalRule]
    rule: npt.NDArray[np.int64]
    sends: str = "delta"

    def job(self, j: int) -> Job:
        return Job(int(self.client[j]), int(self.k[j]), int(self.base[j]), int(self.steps[j]))


@dataclass(frozen=True)
class Workload:
    """The data on which a trainer of a Task computes.

    Attributes:
        task: the model and the examples.
        shards: the clients' rows of the training set.
        batch_size: examples of a local step.
        seed: keys the order of examples, dropout masks, and how images are changed.
        public: features (P, ..) of the server's unlabelled examples, if there are any.
        local: the scenario's local work: the order of examples, clipping, label smoothing and the
            rates of steps; None is plain.
        unseen: the rows of the clients that are held out, if there are any.
        loss: the code of a loss of the user's own and its sum, if there is one.
        together: about how many jobs there are at a time, for which a device has lanes.
    """

    task: Task
    shards: Sequence[RowIndices]
    batch_size: int
    seed: int
    public: Array | None = None
    local: LocalPart | None = None
    unseen: Sequence[RowIndices] = ()
    loss: tuple[str, str] | None = None
    together: int = 1

    @property
    def unseen_rows(self) -> RowIndices:
        """The training rows of all clients that are held out, client by client."""
        return Shards.of(self.unseen).rows

    @property
    def shuffled(self) -> bool:
        """Whether every pass over a client's examples has an order of its own."""
        return self.local is None or self.local.order == "shuffled"

    @property
    def ordered(self) -> Shards:
        """The clients' rows, in the order in which they are used if they are not shuffled."""
        shards = Shards.of(self.shards)
        if self.local is None or self.local.order != "by_class":
            return shards
        labels = self.task.dataset.train.y
        return Shards.of([rows[np.argsort(labels[rows], kind="stable")] for rows in shards])

    @property
    def public_shape(self) -> tuple[int, int]:
        return len(self.public_features), self.task.dataset.classes

    @property
    def public_features(self) -> Array:
        """The public features. Raises UsageError if there are none."""
        if self.public is None:
            raise no_public_data()
        return self.public


class Backend(Protocol):
    """Computes with one model on one device: it trains jobs, gives full gradients, and gives logits
    with their pullback. The result of a job depends on its Assignment and the seed only: not on the
    wave, its order or the workers. Given vectors on a device, a trainer of that device answers with
    vectors there. `PublicData` and `Evaluator` are built on top of it."""

    name: str
    device: str
    """The kind of device that it computes on: cpu or cuda."""
    lanes: int
    """How many jobs it trains side by side as one; 0 if it trains each by itself."""
    dtype: np.dtype
    dim: int
    seed: int

    def train(self, wave: Sequence[Assignment]) -> list[Work]:
        """Returns the work of every assignment, in the order given."""

    def gradients(self, clients: Iterable[int], x: Vector, buffers: Vector) -> Iterator[Vector]:
        """Yields the full-batch gradients (d,) at x with the model's buffers (m,), client by
        client, computed as in evaluation."""

    @property
    def public_shape(self) -> tuple[int, int]:
        """The numbers of public examples and of classes. Raises UsageError if there are no public
        data."""

    def public_logits(
        self, x: Vector, buffers: Vector, rows: RowIndices, training_version: int | None
    ) -> tuple[Logits, Pullback]:
        """Returns the logits (B, C) of public rows (B,) under a model, and their vector-Jacobian
        product, which is valid until the next call.

        If `training_version` is None, the model computes as in evaluation. Else it computes as in
        training, with dropout masks keyed by seed and version; each call of a version goes on in
        their stream.
        """

    def initial_buffers(self) -> Vector:
        """Returns the model buffers (m,) that go with x0; often empty."""

    def close(self) -> None:
        """Releases threads and memory."""


Scores = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""Per example: the cross-entropy, and 1.0 where the prediction is right."""
TRAIN_LOSS_EXAMPLES = 2000


class Snapshot(NamedTuple):
    """A model x (d,) and its buffers (m,) at one version. Of clients that are alone x is (N, d),
    and a backend gets it row by row."""

    x: Vector
    buffers: Vector


class ScoringBackend(Backend, Protocol):
    """A backend of a Task that scores models on the task's examples. Scoring draws nothing and
    changes nothing, and a model's scores do not depend on the models beside it."""

    workload: Workload

    @property
    def models_at_a_time(self) -> int:
        """Returns how many models it should be given at a time."""

    def test_scores(self, models: Sequence[Snapshot]) -> list[Scores]:
        """Returns the scores of the test set for every model."""

    def test_logits(self, models: Sequence[Snapshot]) -> list[Logits]:
        """Returns the logits (n, C) float32 of the test set for every model."""

    def train_scores(self, models: Sequence[Snapshot]) -> list[Scores]:
        """Returns the scores of the examples of `train_loss_sample` for every model."""

    def unseen_scores(self, models: Sequence[Snapshot]) -> list[Scores]:
        """Returns the scores of the workload's `unseen_rows` for every model."""


def train_loss_sample(seed: int, examples: int, unseen: RowIndices | None = None) -> RowIndices:
    """Returns the training examples on which the training loss is measured: at most 2,000,
    ascending, and none of a client that is held out."""
    order = RandomStream(seed, Purpose.evaluation).permutation(examples)
    if unseen is not None and len(unseen):
        order = order[~np.isin(order, unseen)]
    return np.sort(order[:TRAIN_LOSS_EXAMPLES])


@typing.runtime_checkable
class TrainsColumns(Protocol):
    """A trainer that takes jobs in bulk."""

    def train_columns(self, wave: Columns, places: Places) -> None:
        """Writes what every job sends to its place, with the bits of `train`."""


SERVER = 2**31 - 1
"""The server's number in random streams that are keyed by client; no client has it."""


def no_public_data() -> UsageError:
    return UsageError("public data: the algorithm needs unlabelled public examples, and there are none")


_CHOICES = {name: typing.get_args(typing.get_type_hints(LocalRule)[name]) for name in ("optimizer", "prox_form")}
_WANTS = frozenset(typing.get_args(Want))
_NUMBERS = (float, int, np.floating, np.integer)


def checked_rule(rule: object, dtype: np.dtype, shape: tuple[int, ...], factor: float = 1.0) -> LocalRule:
    """Returns the rule, its rate times `factor`, if it fits a model of this dtype and shape (d,).
    Raises TypeError or ValueError, naming the field, if it does not."""
    if not isinstance(rule, LocalRule):
        raise TypeError(f"must be a LocalRule, got {type(rule).__name__}")
    for name in ("start", "correction", "anchor"):
        vector = getattr(rule, name)
        if vector is None and name != "start":
            continue
        if not is_array(vector) or vector.dtype != dtype or vector.shape != shape:
            got = f"{vector.dtype} {vector.shape}" if is_array(vector) else type(vector).__name__
            widened = "; a numpy float64 scalar times a float32 vector gives float64: use Python floats"
            raise TypeError(f"{name} must be {dtype} {shape}, got {got}{widened if 'float64' in got else ''}")
    for name in ("lr", "weight_decay", "momentum", "prox"):
        if not isinstance(getattr(rule, name), _NUMBERS):
            raise TypeError(f"{name} must be a number, got {getattr(rule, name)!r}")
    for name, choices in _CHOICES.items():
        if getattr(rule, name) not in choices:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {getattr(rule, name)!r}")
    wants: object = rule.wants
    if not isinstance(wants, tuple) or not _WANTS.issuperset(wants):
        raise ValueError(f"wants must be a tuple of {', '.join(map(repr, typing.get_args(Want)))}, got {wants!r}")
    return rule if factor == 1.0 else replace(rule, lr=rule.lr * factor)


def finished(
    assignment: Assignment, end: Vector, buffers: Vector, by_products: dict[str, Array], logits: Callable[[], Logits]
) -> Work:
    """Returns the Work of a job that has come to `end` with these buffers. If its rule wants them,
    the logits of its end model are computed, which is work of the server."""
    seconds = 0.0
    if "public_logits" in assignment.rule.wants:
        begin = time.perf_counter()
        by_products["public_logits"] = logits()
        seconds = time.perf_counter() - begin
    return Work(delta=end - assignment.rule.start, end=end, buffers=buffers, server_seconds=seconds, **by_products)


def place(job: Job) -> str:
    """Returns a job in words, for errors."""
    return f"client {job.client}, job k={job.k} (base version {job.base}, {job.steps} steps)"


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the work of a job. An error inside becomes a ClientError that names client, job and
    stage, unless it is a FedbenchError already."""

    job: Job
    name: str

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, FedbenchError):
            what, *code = described(error)
            raise ClientError(f"{place(self.job)}, {self.name}: {what}", *code) from error
