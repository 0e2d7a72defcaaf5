"""Models described as data: a list of layers, which every trainer reads, and the initial parameters
and buffers.

The parameters are one flat vector, tensor by tensor, in C order and in torch's layouts. The buffers
are another flat vector, which is empty for a model without BatchNorm2d.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.tasks.layers import (
    Layer,
    chain,
    in_order,
    numbered,
)
from fedbench.tasks.sequences import symbols_of
from fedbench.tasks.tensors import Shape, Tensor
from fedbench.types import Vector


@dataclass(frozen=True)
class Model:
    """Layers that are applied one after the other to an example of `input_shape`. UsageError, which
    names the layer, if they do not fit."""

    name: str
    input_shape: Shape
    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        if not self.input_shape or min(self.input_shape) < 1:
            raise UsageError(f"model {self.name}: input_shape must have sizes >= 1, got {self.input_shape}")
        try:
            chain(self.layers, self.input_shape)
            _ = self.symbols
        except ValueError as error:
            raise UsageError(f"model {self.name}: {error}") from None
        if not self.parameters:
            raise UsageError(f"model {self.name}: has no parameters; it needs a Linear or Conv2d layer")

    @functools.cached_property
    def symbols(self) -> int | None:
        """Returns the number of different symbols in examples, which are the whole numbers 0 ..
        symbols - 1; None if examples are any numbers."""
        return symbols_of([layer for layer, _ in in_order(self.layers, self.input_shape)])

    @functools.cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """Returns the shapes of one example before every layer, and after the last: len(layers) + 1
        of them."""
        return tuple(chain(self.layers, self.input_shape))

    @property
    def output_shape(self) -> Shape:
        return self.shapes[-1]

    @functools.cached_property
    def parameters(self) -> tuple[Tensor, ...]:
        """Returns the parameters of all layers, in order; `3.weight` is the weight of
        layers[3]."""
        return tuple(laid_out(numbered(self.layers, "tensors")))

    @functools.cached_property
    def buffers(self) -> tuple[Tensor, ...]:
        """Returns the buffers of all layers, in order, with offsets in a vector of their own."""
        return tuple(laid_out(numbered(self.layers, "buffers")))

    @property
    def dim(self) -> int:
        """Returns the number of parameters."""
        return sum(parameter.size for parameter in self.parameters)

    def x0(self, seed: int, dtype: npt.DTypeLike = np.float32) -> Vector:
        """Returns the initial parameters (dim,) in a new array, drawn in float64 and rounded to
        dtype. Tensor t has its own stream (k = t), so its values depend only on the seed, t, its
        size and its law."""
        return _drawn(self.parameters, seed, dtype)

    def buffers0(self, dtype: npt.DTypeLike = np.float32) -> Vector:
        """Returns the initial buffers (m,) in a new array, which is empty for most models."""
        return _drawn(self.buffers, 0, dtype)


def laid_out(tensors: Iterable[Tensor]) -> Iterator[Tensor]:
    """Yields the tensors with their places in one flat vector."""
    offset = 0
    for tensor in tensors:
        yield tensor._replace(offset=offset)
        offset += tensor.size


def _drawn(parts: tuple[Tensor, ...], seed: int, dtype: npt.DTypeLike) -> Vector:
    vector = np.empty(sum(part.size for part in parts), dtype)
    for t, part in enumerate(parts):
        assert part.law is not None  # a layer gives every tensor its law
        vector[part.offset : part.offset + part.size] = part.law.draw(RandomStream(seed, Purpose.parameters, 0, t), part.size)
    return vector
