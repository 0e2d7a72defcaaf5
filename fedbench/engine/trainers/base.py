"""What the engine asks of a trainer, what it lets through to one, and the wrapping of a client's failure."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fedbench.errors import ClientError, FedbenchError, UsageError
from fedbench.kernels import checks
from fedbench.kernels.random import draw_batches
from fedbench.origins import described
from fedbench.protocols import Logits, Pullback, RowIndices
from fedbench.types import Job, LocalRule, Vector, Want, Work


@dataclass(frozen=True, slots=True)
class Assignment:
    """One job of a wave: what to train, and the model buffers of its base version (m,)."""

    job: Job
    rule: LocalRule
    buffers: Vector


class Places(NamedTuple):
    """Rows for the progress of jobs: that of job j goes to row `row[j]` of `matrices[matrix[j]]` (jobs, d)."""

    matrices: Sequence[npt.NDArray[Any]]
    matrix: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Columns:
    """A wave of jobs that send one vector: int32 columns (n,), for every job which of the `rules` is its own, and what `Algorithm.sends`
    names."""

    client: npt.NDArray[np.int32]
    k: npt.NDArray[np.int32]
    base: npt.NDArray[np.int32]
    steps: npt.NDArray[np.int32]
    rules: Sequence[LocalRule]
    rule: npt.NDArray[np.int64]
    sends: str = "delta"

    def job(self, j: int) -> Job:
        return Job(int(self.client[j]), int(self.k[j]), int(self.base[j]), int(self.steps[j]))


class Trainer(Protocol):
    """Computes jobs. The result of a job depends on its Assignment and the seed only: not on the wave, its order or the workers."""

    name: str
    device: str
    """The kind of device that it computes on: cpu or cuda."""
    dtype: np.dtype[Any]
    dim: int

    def train(self, wave: Sequence[Assignment]) -> list[Work]:
        """Work of every assignment, in the order given."""
        ...

    def gradients(self, clients: Iterable[int], x: Vector, buffers: Vector) -> Iterator[Vector]:
        """Full-batch gradients (d,) at x with the model's buffers (m,), as in evaluation, client by client."""
        ...

    @property
    def public_shape(self) -> tuple[int, int]:
        """Public examples and classes. UsageError if there are no public data."""
        ...

    def public_batches(self, version: int, size: int, steps: int | None) -> Iterator[RowIndices]:
        """Mini-batches of public rows: see protocols.Tools."""
        ...

    def public_logits(
        self, x: Vector, buffers: Vector, rows: RowIndices, version: int, *, training: bool
    ) -> tuple[Logits, Pullback]:
        """Logits of public rows under a model, and their pullback: see protocols.Tools."""
        ...

    def initial_buffers(self) -> Vector:
        """Model buffers (m,) that go with x0; often empty."""
        ...

    def evaluate(self, x: Vector, buffers: Vector) -> dict[str, float]:
        """Metrics of a model by name, such as test_accuracy, test_loss and train_loss. Draws nothing, changes nothing."""
        ...

    def per_client(self, x: Vector, buffers: Vector) -> Vector:
        """The task's metric on every client's own mix of data (N,)."""
        ...

    def close(self) -> None:
        """Let go of threads and memory."""
        ...


@typing.runtime_checkable
class TrainsColumns(Protocol):
    """A trainer that takes jobs in bulk."""

    def train_columns(self, wave: Columns, places: Places) -> None:
        """What every job sends, to its place: the bits of `train`."""
        ...


SERVER = 2**31 - 1
"""The server's number in streams that are keyed by client: no client has it."""


def draw_public_batches(seed: int, version: int, examples: int, size: int, steps: int | None) -> Iterator[RowIndices]:
    """The order of public rows is drawn like a client's data order, with k = version. ValueError for a number out of range."""
    version, size = checks.whole("version", version, 0, SERVER), checks.whole("size", size, 1, SERVER)
    steps = None if steps is None else checks.whole("steps", steps, 0, SERVER)
    passes = -(-examples // size)
    rows, offsets = draw_batches(seed, SERVER, version, examples, size, passes if steps is None else steps)
    for begin, end in itertools.pairwise(offsets.tolist()):
        yield rows[begin:end]


def no_public_data() -> UsageError:
    return UsageError("public data: the algorithm needs unlabelled public examples, and there are none")


_CHOICES = {name: typing.get_args(typing.get_type_hints(LocalRule)[name]) for name in ("optimizer", "prox_form")}
_WANTS = frozenset(typing.get_args(Want))
_NUMBERS = (float, int, np.floating, np.integer)


def checked_rule(rule: object, dtype: np.dtype[Any], shape: tuple[int, ...]) -> LocalRule:
    """The rule, if it is one for a model of this dtype and shape (d,). TypeError or ValueError, naming the field, if it is not."""
    if not isinstance(rule, LocalRule):
        raise TypeError(f"must be a LocalRule, got {type(rule).__name__}")
    for name in ("start", "correction", "anchor"):
        vector = getattr(rule, name)
        if vector is None and name != "start":
            continue
        if not isinstance(vector, np.ndarray) or vector.dtype != dtype or vector.shape != shape:
            got = f"{vector.dtype} {vector.shape}" if isinstance(vector, np.ndarray) else type(vector).__name__
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
    return rule


def place(job: Job) -> str:
    """A job in words, for errors."""
    return f"client {job.client}, job k={job.k} (base version {job.base}, {job.steps} steps)"


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the work of a job: what fails inside is a ClientError with client, job and stage in front, unless it is an error for
    users already."""

    job: Job
    name: str

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, FedbenchError):
            raise ClientError(f"{place(self.job)}, {self.name}: {described(error)}") from error
