"""What the engine asks of a trainer, and the wrapping of a client's failure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fedbench.errors import ClientError, FedbenchError, UsageError
from fedbench.kernels.random import draw_batches
from fedbench.protocols import Logits, Pullback, Rows
from fedbench.types import Job, LocalRule, Vector, Work


@dataclass(frozen=True, slots=True)
class Assignment:
    """One job of a wave: what to train, and the model buffers of its base version (m,)."""

    job: Job
    rule: LocalRule
    buffers: Vector


class Trainer(Protocol):
    """Computes jobs. The result of a job depends on its Assignment and the seed only: not on the wave, its order or the workers."""

    name: str
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

    def public_batches(self, version: int, size: int, steps: int | None) -> Iterator[Rows]:
        """Mini-batches of public rows: see protocols.Tools."""
        ...

    def public_logits(self, x: Vector, buffers: Vector, rows: Rows, version: int, *, training: bool) -> tuple[Logits, Pullback]:
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


SERVER = 2**31 - 1
"""The server's number in streams that are keyed by client: no client has it."""


def draw_public_batches(seed: int, version: int, examples: int, size: int, steps: int | None) -> Iterator[Rows]:
    """The order of public rows is drawn like a client's data order, with k = version."""
    passes = -(-examples // size)
    rows, offsets = draw_batches(seed, SERVER, version, examples, size, passes if steps is None else steps)
    for begin, end in itertools.pairwise(offsets.tolist()):
        yield rows[begin:end]


def no_public_data() -> UsageError:
    return UsageError("public data: the algorithm needs unlabelled public examples, and there are none")


def client_error(job: Job, stage: str, error: Exception) -> Exception:
    """The error with client, job and stage in front, unless it says so already."""
    if isinstance(error, FedbenchError):
        return error
    return ClientError(
        f"client {job.client}, job k={job.k} (base version {job.base}, {job.steps} steps), {stage}: {type(error).__name__}: {error}"
    )
