"""Models as data: a list of layers that every trainer reads, and the initial parameters and
buffers.

Parameters are one flat vector, tensor by tensor in C order and torch's layouts; buffers are
another, empty without BatchNorm2d.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
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
from fedbench.tasks.tensors import Constant, Normal, Shape, Tensor, Uniform
from fedbench.types import Vector


@dataclass(frozen=True, slots=True)
class Parameter:
    """One tensor: its elements are offset .. offset + size - 1 of the flat vector, initially drawn
    by `law`."""

    name: str
    shape: Shape
    law: Uniform | Normal | Constant
    offset: int

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Model:
    """Layers applied one after the other to an example of `input_shape`. UsageError, naming the
    layer, if they do not fit."""

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
        """Examples are made of so many symbols, the whole numbers 0 .. symbols - 1; None if they
        are any numbers."""
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
    def parameters(self) -> tuple[Parameter, ...]:
        """Weight and bias of every layer that has them, in order; `3.weight` is that of
        layers[3]."""
        return tuple(_laid_out(numbered(self.layers, "tensors")))

    @functools.cached_property
    def buffers(self) -> tuple[Parameter, ...]:
        """Likewise the buffers, in a vector of their own."""
        return tuple(_laid_out(numbered(self.layers, "buffers")))

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return sum(parameter.size for parameter in self.parameters)

    def x0(self, seed: int, dtype: npt.DTypeLike = np.float32) -> Vector:
        """Initial parameters (dim,): drawn in float64, rounded to dtype. Tensor t has its own
        stream (k = t), so its values depend on the seed, t and its size and law only. A new
        array."""
        return _drawn(self.parameters, seed, dtype)

    def buffers0(self, dtype: npt.DTypeLike = np.float32) -> Vector:
        """The buffers (m,) that go with x0; empty for most models. A new array."""
        return _drawn(self.buffers, 0, dtype)


def _laid_out(tensors: Iterator[Tensor]) -> Iterator[Parameter]:
    offset = 0
    for name, shape, law in tensors:
        yield Parameter(name, shape, law, offset)
        offset += math.prod(shape)


def _drawn(parts: tuple[Parameter, ...], seed: int, dtype: npt.DTypeLike) -> Vector:
    vector = np.empty(sum(part.size for part in parts), dtype)
    for t, part in enumerate(parts):
        vector[part.offset : part.offset + part.size] = part.law.draw(RandomStream(seed, Purpose.parameters, 0, t), part.size)
    return vector
