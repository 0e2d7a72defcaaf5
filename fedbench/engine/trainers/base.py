"""What the engine asks of a trainer, and the wrapping of a client's failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fedbench.errors import ClientError, FedbenchError
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

    def gradients(self, clients: Iterable[int], x: Vector) -> Iterator[Vector]:
        """Full-batch gradients (d,) at x, client by client."""
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


def client_error(job: Job, stage: str, error: Exception) -> Exception:
    """The error with client, job and stage in front, unless it says so already."""
    if isinstance(error, FedbenchError):
        return error
    return ClientError(
        f"client {job.client}, job k={job.k} (base version {job.base}, {job.steps} steps), {stage}: {type(error).__name__}: {error}"
    )
