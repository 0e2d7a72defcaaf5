"""Models as data: a list of layers that every trainer reads, and the initial parameters.

Parameters are one flat vector: layer by layer, weight then bias, in C order and torch's layouts.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench.errors import UsageError, nearest
from fedbench.kernels.random import Purpose, Stream
from fedbench.types import Vector

Shape = tuple[int, ...]


class Layer:
    """One step of a model on one example. Without parameters and keeping the shape, unless it says otherwise."""

    __slots__ = ()

    def output(self, shape: Shape) -> Shape:
        """The shape of the result; ValueError with the reason if the layer does not take `shape`."""
        return shape

    def weight(self) -> Shape:
        """The shape of the weight, outputs first; empty for a layer without parameters."""
        return ()


@dataclass(frozen=True, slots=True)
class Linear(Layer):
    """W x + b on a vector (inputs,): weight (outputs, inputs), bias (outputs,)."""

    inputs: int
    outputs: int

    def __post_init__(self) -> None:
        _at_least(self, 1, inputs=self.inputs, outputs=self.outputs)

    def output(self, shape: Shape) -> Shape:
        if shape != (self.inputs,):
            raise ValueError(f"takes {(self.inputs,)}, gets {shape}{'; put Flatten() before it' if len(shape) > 1 else ''}")
        return (self.outputs,)

    def weight(self) -> Shape:
        return (self.outputs, self.inputs)


@dataclass(frozen=True, slots=True)
class Conv2d(Layer):
    """Cross-correlation on (inputs, h, w), zero padding: weight (outputs, inputs, kernel, kernel), bias (outputs,)."""

    inputs: int
    outputs: int
    kernel: int
    stride: int = 1
    padding: int = 0

    def __post_init__(self) -> None:
        _at_least(self, 1, inputs=self.inputs, outputs=self.outputs, kernel=self.kernel, stride=self.stride)
        _at_least(self, 0, padding=self.padding)

    def output(self, shape: Shape) -> Shape:
        if len(shape) != 3 or shape[0] != self.inputs:
            raise ValueError(f"takes images ({self.inputs}, h, w), gets {shape}")
        height, width = (_window(side + 2 * self.padding, self.kernel, self.stride) for side in shape[1:])
        return (self.outputs, height, width)

    def weight(self) -> Shape:
        return (self.outputs, self.inputs, self.kernel, self.kernel)


@dataclass(frozen=True, slots=True)
class MaxPool2d(Layer):
    """Maximum over disjoint kernel x kernel windows of (channels, h, w); rows and columns that fill no window are left out."""

    kernel: int

    def __post_init__(self) -> None:
        _at_least(self, 1, kernel=self.kernel)

    def output(self, shape: Shape) -> Shape:
        if len(shape) != 3:
            raise ValueError(f"takes images (channels, h, w), gets {shape}")
        height, width = (_window(side, self.kernel, self.kernel) for side in shape[1:])
        return (shape[0], height, width)


@dataclass(frozen=True, slots=True)
class ReLU(Layer):
    """max(x, 0), element by element; its derivative at 0 is 0."""


@dataclass(frozen=True, slots=True)
class Flatten(Layer):
    """The example as a vector, in C order."""

    def output(self, shape: Shape) -> Shape:
        return (math.prod(shape),)


@dataclass(frozen=True, slots=True)
class Dropout(Layer):
    """In training every element is 0 with probability p, else scaled by 1 / (1 - p); the masks are stated in torch_model.py."""

    p: float

    def __post_init__(self) -> None:
        if not 0 <= self.p < 1:
            raise UsageError(f"{self}: p must be in [0, 1), got {self.p}")


@dataclass(frozen=True, slots=True)
class Dropout2d(Dropout):
    """Dropout of whole channels of (channels, h, w)."""

    def output(self, shape: Shape) -> Shape:
        if len(shape) != 3:
            raise ValueError(f"takes images (channels, h, w), gets {shape}")
        return shape


@dataclass(frozen=True, slots=True)
class Parameter:
    """One tensor: its elements are offset .. offset + size - 1 of the flat vector, drawn from U(-bound, bound) for x0."""

    name: str
    shape: Shape
    bound: float
    offset: int

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Model:
    """Layers applied one after the other to an example of `input_shape`. UsageError, naming the layer, if they do not fit."""

    name: str
    input_shape: Shape
    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        shape = self.input_shape
        if not shape or min(shape) < 1:
            raise UsageError(f"model {self.name}: input_shape must have sizes >= 1, got {shape}")
        for index, layer in enumerate(self.layers):
            try:
                shape = layer.output(shape)
            except ValueError as error:
                raise UsageError(f"model {self.name}: layer {index}, {layer}, {error}") from None
        if not self.parameters:
            raise UsageError(f"model {self.name}: has no parameters; it needs a Linear or Conv2d layer")

    @functools.cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """Of one example before every layer, and after the last: len(layers) + 1 shapes."""
        shapes = [self.input_shape]
        for layer in self.layers:
            shapes.append(layer.output(shapes[-1]))
        return tuple(shapes)

    @property
    def output_shape(self) -> Shape:
        return self.shapes[-1]

    @functools.cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Weight and bias of every layer that has them, in order; `3.weight` is that of layers[3]."""
        found: list[Parameter] = []
        offset = 0
        for index, layer in enumerate(self.layers):
            shape = layer.weight()
            if not shape:
                continue
            # PyTorch's default for both: kaiming_uniform(a = sqrt 5) for the weight is this bound, too.
            bound = 1 / math.sqrt(math.prod(shape[1:]))
            for name, of in (("weight", shape), ("bias", shape[:1])):
                found.append(Parameter(f"{index}.{name}", of, bound, offset))
                offset += math.prod(of)
        return tuple(found)

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return sum(parameter.size for parameter in self.parameters)

    def x0(self, seed: int, dtype: npt.DTypeLike = np.float32) -> Vector:
        """Initial parameters (dim,): bound * (2 u - 1) in float64, rounded to dtype. Tensor t has its own stream (k = t), so its
        values depend on the seed, t and its size and bound only. A new array."""
        x = np.empty(self.dim, dtype)
        for tensor, parameter in enumerate(self.parameters):
            u = Stream(seed, Purpose.parameters, 0, tensor).uniform(parameter.size)
            x[parameter.offset : parameter.offset + parameter.size] = parameter.bound * (2 * u - 1)
        return x


def _softmax(input_shape: Shape, classes: int) -> Model:
    """Softmax regression: 7,850 parameters for FashionMNIST."""
    return Model("softmax", input_shape, (Flatten(), Linear(math.prod(input_shape), classes)))


def _mlp(input_shape: Shape, classes: int) -> Model:
    """One hidden layer of 200 units."""
    layers = (Flatten(), Linear(math.prod(input_shape), 200), ReLU(), Linear(200, classes))
    return Model("mlp", input_shape, layers)


def _cnn_21840(input_shape: Shape, classes: int) -> Model:
    """The two-layer CNN of FedaGrac [001] for FashionMNIST.

    Order: Dropout2d before the second pool, as in the authors' code; each convolution's ReLU after its pool. In the paper's table
    ReLU comes right after the convolution: it commutes with pooling and dropout, so function and gradient are the same, but four
    times as many elements are touched. After the first fully connected layer ReLU comes before Dropout.
    """
    _needs("cnn_21840", input_shape, classes)
    first = (Conv2d(1, 10, 5), MaxPool2d(2), ReLU())
    second = (Conv2d(10, 20, 5), Dropout2d(0.5), MaxPool2d(2), ReLU())
    head = (Flatten(), Linear(320, 50), ReLU(), Dropout(0.5), Linear(50, 10))
    return Model("cnn_21840", input_shape, first + second + head)


def _cnn_582026(input_shape: Shape, classes: int) -> Model:
    """The CNN of DeFedAvg [000] for FashionMNIST: no padding, ReLU after both convolutions (after the pool, which is the same
    function) and after the first fully connected layer."""
    _needs("cnn_582026", input_shape, classes)
    first = (Conv2d(1, 32, 5), MaxPool2d(2), ReLU())
    second = (Conv2d(32, 64, 5), MaxPool2d(2), ReLU())
    head = (Flatten(), Linear(1024, 512), ReLU(), Linear(512, 10))
    return Model("cnn_582026", input_shape, first + second + head)


MODELS: dict[str, Callable[[Shape, int], Model]] = {
    "softmax": _softmax,
    "mlp": _mlp,
    "cnn_21840": _cnn_21840,
    "cnn_582026": _cnn_582026,
}


def make_model(name: str, input_shape: Shape, classes: int) -> Model:
    """The library model of that name for examples of `input_shape`. UsageError if it is unknown or does not fit them."""
    if name not in MODELS:
        raise UsageError(f"model: unknown name {name!r}{nearest(name, MODELS)}")
    return MODELS[name](input_shape, classes)


def _needs(name: str, input_shape: Shape, classes: int) -> None:
    # The names promise a number of parameters, which only this input and output have.
    if input_shape != (1, 28, 28) or classes != 10:
        raise UsageError(
            f"model {name}: takes images (1, 28, 28) in 10 classes, got {input_shape} in {classes}; use softmax or mlp for them"
        )


def _at_least(layer: Layer, low: int, **values: Any) -> None:
    for name, value in values.items():
        if not isinstance(value, int) or value < low:
            raise UsageError(f"{layer}: {name} must be an integer >= {low}, got {value!r}")


def _window(side: int, kernel: int, stride: int) -> int:
    if side < kernel:
        raise ValueError(f"has a kernel of {kernel}, gets a side of only {side}")
    return (side - kernel) // stride + 1
