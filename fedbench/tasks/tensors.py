"""The tensors of layers, and the laws by which their initial elements are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fedbench.kernels.random import RandomStream

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Uniform:
    """U(-bound, bound)."""

    bound: float

    def draw(self, stream: RandomStream, size: int) -> npt.NDArray[np.float64]:
        return self.bound * (2 * stream.uniform(size) - 1)


@dataclass(frozen=True, slots=True)
class Normal:
    """N(0, std)."""

    std: float

    def draw(self, stream: RandomStream, size: int) -> npt.NDArray[np.float64]:
        return self.std * stream.normal(size)


@dataclass(frozen=True, slots=True)
class Constant:
    """All elements have the same value, and nothing is drawn."""

    value: float

    def draw(self, stream: RandomStream, size: int) -> npt.NDArray[np.float64]:
        return np.full(size, self.value)


class Tensor(NamedTuple):
    """A parameter or buffer of a model, and the law of its initial elements.

    `law` is None if the file of an encoder's weights must have it. `offset` is the place of its
    first element in the flat vector, once a model has laid out its tensors.
    """

    name: str
    shape: Shape
    law: Uniform | Normal | Constant | None = None
    offset: int = 0

    @property
    def size(self) -> int:
        return math.prod(self.shape)
