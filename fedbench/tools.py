"""What the engine lends to algorithms, and what the reference trainer asks of an objective."""

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
        """Full-batch gradients (d,) at x, client by client."""
        ...

    @property
    def public_shape(self) -> tuple[int, int]:
        """Public examples P and classes C. This and what follows is for algorithms with requires =
        {"public_data"}."""
        ...

    def public_batches(self, version: int, size: int, steps: int | None = None) -> Iterator[RowIndices]:
        """Mini-batches of public rows, keyed by seed and version: one shuffled pass, or `steps`
        batches, each pass shuffled anew. The last batch of a pass may be short."""
        ...

    def public_logits(self, x: Vector, rows: RowIndices, *, training: bool = False) -> tuple[Logits, Pullback]:
        """Logits (B, C) of these public rows under x and the server's buffers, and the function
        that takes their gradient (B, C) to that of x (d,); it holds until the next call.
        `training`: layers such as dropout and BatchNorm act as in training."""
        ...


class Random(Protocol):
    """A random stream; see kernels.random."""

    def uniform(self, count: int) -> npt.NDArray[np.float64]: ...

    def normal(self, count: int) -> npt.NDArray[np.float64]: ...

    def below(self, n: int) -> int: ...

    def permutation(self, n: int) -> npt.NDArray[np.int64]: ...


class SelectionTools(Protocol):
    """What the engine lends to `select`. `random` is keyed by seed and round."""

    @property
    def info(self) -> Info: ...

    @property
    def random(self) -> Random: ...


class Objective(Protocol):
    """A differentiable objective per client, in numpy: what the reference trainer needs. Row
    selections are `rows` of the client's examples; None means all of them."""

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
    """An objective with public data: what the reference trainer needs beside `Objective` for
    algorithms that require them."""

    @property
    def public(self) -> npt.NDArray[Any] | None:
        """Features (P, D)."""
        ...

    @property
    def classes(self) -> int: ...

    def logits(self, x: Vector, rows: npt.NDArray[Any]) -> Logits:
        """(B, C) for features (B, D)."""
        ...

    def pullback(self, rows: npt.NDArray[Any], dlogits: Logits) -> Vector:
        """The gradient (d,) from that of the logits of features (B, D)."""
        ...
