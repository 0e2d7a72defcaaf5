"""The server's unlabelled examples: draws their batches and computes a model's logits on them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from fedbench.engine.trainers.base import SERVER, Backend
from fedbench.kernels import checks
from fedbench.kernels.random import draw_batches
from fedbench.protocols import Logits, Pullback, RowIndices
from fedbench.types import Vector


class PublicData:
    """What `Tools` offers of a backend's public examples. Its methods raise UsageError if there are
    none."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._calls = 0

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of public examples P and of classes C."""
        return self._backend.public_shape

    def batches(self, version: int, size: int, steps: int | None = None) -> Iterator[RowIndices]:
        """Yields mini-batches of public rows: see protocols.Tools."""
        return draw_public_batches(self._backend.seed, version, self.shape[0], size, steps)

    def logits(self, x: Vector, buffers: Vector, rows: RowIndices, version: int, *, training: bool) -> tuple[Logits, Pullback]:
        """Returns the logits of public rows under a model, and their pullback: see protocols.Tools.
        The pullback raises RuntimeError if it is used after the next call."""
        self._calls += 1
        call = self._calls
        logits, pull = self._backend.public_logits(x, buffers, rows, version if training else None)

        def pullback(dlogits: Logits) -> Vector:
            if call != self._calls:
                raise RuntimeError("public_logits: this pullback is of an earlier call; use it before the next one")
            return pull(dlogits)

        return logits, pullback


def draw_public_batches(seed: int, version: int, examples: int, size: int, steps: int | None) -> Iterator[RowIndices]:
    """Yields mini-batches of public rows, drawn as a client's data order is, with k = version.

    Args:
        seed: the run's seed.
        version: the version of the server, which keys the draw.
        examples: the number of public examples.
        size: the rows of a mini-batch.
        steps: the number of mini-batches; None: one pass over the examples.

    Raises:
        ValueError: if a number is out of range.
    """
    version, size = checks.whole("version", version, 0, SERVER), checks.whole("size", size, 1, SERVER)
    steps = None if steps is None else checks.whole("steps", steps, 0, SERVER)
    passes = -(-examples // size)
    rows, offsets = draw_batches(seed, SERVER, version, examples, size, passes if steps is None else steps)
    for begin, end in itertools.pairwise(offsets.tolist()):
        yield rows[begin:end]
