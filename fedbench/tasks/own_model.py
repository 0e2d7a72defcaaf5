"""Models of the user's own: torch modules that a class or a function of the user's makes.

If the module is a list of layers that the library has, it is a Model, whose layers every trainer
reads. If its initial values are torch's defaults too, they are drawn as the library's, so it has
the bits of the library's model of these layers. Every other module is trained by torch, and its
initial values are those that it is made with, under a torch generator that the run's seed seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fedbench import extras, own_models
from fedbench.tasks.layers import Layer
from fedbench.tasks.models import Model
from fedbench.tasks.tensors import Shape, Tensor
from fedbench.types import Vector

if TYPE_CHECKING:
    import torch

    from fedbench.tasks.torch_model import Maskable


class Description(NamedTuple):
    """What a module is.

    Attributes:
        parameters, buffers: those that are in the flat vectors, in order.
        layers: the library's layers that it consists of; None if there are others.
        why: what the library does not have, in words.
        is_default: whether its initial values are those that torch gives to these layers.
    """

    parameters: tuple[Tensor, ...]
    buffers: tuple[Tensor, ...]
    layers: tuple[Layer, ...] | None
    why: str
    is_default: bool


class Source(Protocol):
    """Makes the modules of one model, for examples of one shape and a number of classes."""

    def described(self) -> Description:
        """Returns what the module is. UsageError if it cannot be trained."""

    def values(self, seed: int) -> tuple[Vector, Vector]:
        """Returns the initial parameters (d,) and buffers (m,) in float32."""

    def module(self, dtype: torch.dtype) -> Maskable:
        """Returns a new module in a dtype. Its constants are the same for every seed."""


Make = Callable[[str, Shape, int], Source]
"""Makes a source from the name of a model, the shape of examples and the number of classes."""


@dataclass(frozen=True)
class OwnModel:
    """A torch module that does not consist of the library's layers alone. The interface is that of
    Model. `why` says which of it the native trainer does not have."""

    name: str
    input_shape: Shape
    output_shape: Shape
    source: Source = field(compare=False)
    parameters: tuple[Tensor, ...]
    buffers: tuple[Tensor, ...]
    why: str

    symbols: ClassVar[None] = None

    @property
    def dim(self) -> int:
        """Returns the number of trained parameters."""
        return sum(parameter.size for parameter in self.parameters)

    def x0(self, seed: int, dtype: npt.DTypeLike = np.float32) -> Vector:
        """Returns the initial parameters (dim,) in a new array."""
        return self.source.values(seed)[0].astype(dtype)

    def buffers0(self, dtype: npt.DTypeLike = np.float32) -> Vector:
        """Returns the initial buffers (m,) in a new array, the same for every seed."""
        return self.source.values(0)[1].astype(dtype)


@dataclass(frozen=True)
class OwnLayers(Model):
    """Layers of the library that begin with values of the user's own."""

    source: Source = field(compare=False)

    def x0(self, seed: int, dtype: npt.DTypeLike = np.float32) -> Vector:
        return self.source.values(seed)[0].astype(dtype)

    def buffers0(self, dtype: npt.DTypeLike = np.float32) -> Vector:
        return self.source.values(0)[1].astype(dtype)


def make_own(model: str, sha256: str, input_shape: Shape, classes: int) -> Model | OwnModel:
    """Returns the user's model of that name, whose code has this sum. Its errors are those of
    `source_of`."""
    source = source_of(model, sha256, input_shape, classes)
    return of_source(own_models.short(model), input_shape, classes, source)


def source_of(model: str, sha256: str, input_shape: Shape, classes: int) -> Source:
    """Returns what makes the modules of the user's model.

    Raises:
        UsageError: torch is not installed, the code fails, or the module does not take the
            examples.
        OriginError: the user has not named the code, or it has changed.
    """
    code = own_models.of(model, sha256)
    make: Make | None = own_models.there(code)
    if make is None:
        extras.require("torch", f"model {model}", "torch")
        from fedbench.tasks.own_module import make_here

        make = make_here(code)
    return make(own_models.short(model), input_shape, classes)


def of_source(name: str, input_shape: Shape, classes: int, source: Source) -> Model | OwnModel:
    """Returns the model whose modules a source makes."""
    parameters, buffers, layers, why, is_default = source.described()
    if layers is None:
        return OwnModel(name, input_shape, (classes,), source, parameters, buffers, why)
    return Model(name, input_shape, layers) if is_default else OwnLayers(name, input_shape, layers, source)
