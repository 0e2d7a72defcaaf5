"""Interfaces: the tools that the engine lends to algorithms, and the objectives that the reference
trainer takes."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fedbench.types import Info, Vector, Weights

RowIndices = npt.NDArray[np.int64]
Logits = npt.NDArray[np.floating[Any]]
Pullback = Callable[[Logits], Vector]


class Tools(Protocol):
    """What the engine lends to `init`, `broadcast` and `step`."""

    @property
    def info(self) -> Info: ...

    def gradients(self, clients: Iterable[int], x: Vector) -> Iterator[Vector]:
        """Yields the full-batch gradient (d,) at x of one client after the other."""
        ...

    @property
    def public_shape(self) -> tuple[int, int]:
        """The numbers of public examples P and classes C. This and the following methods are for
        algorithms with requires = {"public_data"}."""
        ...

    def public_batches(self, version: int, size: int, steps: int | None = None) -> Iterator[RowIndices]:
        """Yields mini-batches of public rows, drawn by seed and version.

        Args:
            version: the version that is updated.
            size: examples of a batch. The last batch of a pass may be shorter.
            steps: how many batches. Each pass over the rows is shuffled anew. None is one pass.
        """
        ...

    def public_logits(self, x: Vector, rows: RowIndices, *, training: bool = False) -> tuple[Logits, Pullback]:
        """Returns logits of public rows, and the function that turns their gradient (B, C) into
        that of x (d,). The function can be used until the next call.

        Args:
            x: the model. The server's buffers are used with it.
            rows: which public examples (B,).
            training: whether layers such as dropout and BatchNorm act as in training.
        """
        ...


class Random(Protocol):
    """A random stream, as fedbench.kernels.random has it."""

    def uniform(self, count: int) -> npt.NDArray[np.float64]: ...

    def normal(self, count: int) -> npt.NDArray[np.float64]: ...

    def below(self, n: int) -> int: ...

    def permutation(self, n: int) -> npt.NDArray[np.int64]: ...


class SelectionTools(Protocol):
    """What the engine lends to `select`. `random` is a stream of its own for every seed and
    round."""

    @property
    def info(self) -> Info: ...

    @property
    def random(self) -> Random: ...


class Objective(Protocol):
    """A differentiable objective of every client, in numpy, which the reference trainer needs.
    `rows` selects examples of the client; None is all of them."""

    @property
    def clients(self) -> int: ...

    @property
    def dim(self) -> int: ...

    def n(self) -> Weights: ...

    def p(self) -> Weights: ...

    def gradient(self, client: int, x: Vector, rows: RowIndices | None = None) -> Vector: ...

    def metrics(self, x: Vector) -> dict[str, float]: ...


@typing.runtime_checkable
class PublicObjective(Protocol):
    """What an `Objective` also has if it has public data, which some algorithms require."""

    @property
    def public(self) -> npt.NDArray[Any] | None:
        """Features (P, D)."""
        ...

    @property
    def classes(self) -> int: ...

    def logits(self, x: Vector, rows: npt.NDArray[Any]) -> Logits:
        """Returns the logits (B, C) of features (B, D)."""
        ...

    def pullback(self, rows: npt.NDArray[Any], dlogits: Logits) -> Vector:
        """Returns the gradient in x (d,), given that of the logits (B, C) of features (B, D)."""
        ...
