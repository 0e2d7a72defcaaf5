"""Layers described as data, which every trainer reads. A layer is described for one example;
trainers add the dimension of the batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Literal

from fedbench.errors import UsageError
from fedbench.kernels.train import LayerSpec
from fedbench.tasks.tensors import Constant, Normal, Shape, Tensor, Uniform

Kind = Literal["tensors", "buffers"]


@dataclass(frozen=True, slots=True)
class Layer:
    """Base class of layers. Unless a layer overrides it, it has no parameters and keeps the
    shape."""

    def __post_init__(self) -> None:
        """Raises UsageError, which names layer and value, unless all values that are to be integers
        are integers >= 1; a padding may be 0."""
        for field in fields(self):
            value, low = getattr(self, field.name), int(field.name != "padding")
            if field.type == "int" and (not isinstance(value, int) or value < low):
                raise UsageError(f"{self}: {field.name} must be an integer >= {low}, got {value!r}")

    def output(self, shape: Shape) -> Shape:
        """Returns the shape of the result. ValueError, with the reason, if the layer does not take
        `shape`."""
        return shape

    def weight(self) -> Shape:
        """Returns the shape of the weight, outputs first; empty for a layer without parameters."""
        return ()

    def tensors(self) -> Iterator[Tensor]:
        """Yields the parameters in order: weight and bias, drawn by PyTorch's default law."""
        shape = self.weight()
        if shape:
            # PyTorch's kaiming_uniform(a = sqrt 5) of the weight has the same bound as the bias.
            law = Uniform(1 / math.sqrt(math.prod(shape[1:])))
            yield Tensor("weight", shape, law)
            yield Tensor("bias", shape[:1], law)

    def buffers(self) -> Iterator[Tensor]:
        """Yields the buffers: values that training changes and that are no parameters."""
        yield from ()

    def native(self, output: Shape) -> LayerSpec | None:
        """Returns the layer for the native trainer, or None if that trainer has no such layer.
        `output` is the shape of the layer's result."""
        return None


@dataclass(frozen=True, slots=True)
class Linear(Layer):
    """W x + b on a vector (inputs,): weight (outputs, inputs), bias (outputs,)."""

    inputs: int
    outputs: int

    def output(self, shape: Shape) -> Shape:
        if shape != (self.inputs,):
            raise ValueError(f"takes {(self.inputs,)}, gets {shape}{'; put Flatten() before it' if len(shape) > 1 else ''}")
        return (self.outputs,)

    def weight(self) -> Shape:
        return (self.outputs, self.inputs)

    def native(self, output: Shape) -> LayerSpec:
        return LayerSpec("linear", self.inputs, self.outputs)


@dataclass(frozen=True, slots=True)
class Conv2d(Layer):
    """Cross-correlation on (inputs, h, w) with zero padding. The weight is (outputs, inputs,
    kernel, kernel), and the bias (outputs,) unless it is off.

    With `normal` the initial weights are N(0, sqrt(2 / (kernel^2 outputs))) and the biases 0,
    instead of PyTorch's default.
    """

    inputs: int
    outputs: int
    kernel: int
    stride: int = 1
    padding: int = 0
    bias: bool = True
    normal: bool = False

    def output(self, shape: Shape) -> Shape:
        if len(shape) != 3 or shape[0] != self.inputs:
            raise ValueError(f"takes images ({self.inputs}, h, w), gets {shape}")
        height, width = (_window(side + 2 * self.padding, self.kernel, self.stride) for side in shape[1:])
        return (self.outputs, height, width)

    def weight(self) -> Shape:
        return (self.outputs, self.inputs, self.kernel, self.kernel)

    def tensors(self) -> Iterator[Tensor]:
        weight, bias = Layer.tensors(self)
        if self.normal:
            std = math.sqrt(2 / (self.kernel * self.kernel * self.outputs))
            weight, bias = weight._replace(law=Normal(std)), bias._replace(law=Constant(0.0))
        yield from (weight, bias) if self.bias else (weight,)

    def native(self, output: Shape) -> LayerSpec | None:
        return LayerSpec("conv2d", self.inputs, self.outputs, self.kernel, self.stride, self.padding) if self.bias else None


@dataclass(frozen=True, slots=True)
class Pool2d(Layer):
    """Base class of layers that reduce disjoint kernel x kernel windows of (channels, h, w). Rows
    and columns that fill no window are left out."""

    kernel: int

    def output(self, shape: Shape) -> Shape:
        if len(shape) != 3:
            raise ValueError(f"takes images (channels, h, w), gets {shape}")
        height, width = (_window(side, self.kernel, self.kernel) for side in shape[1:])
        return (shape[0], height, width)


@dataclass(frozen=True, slots=True)
class MaxPool2d(Pool2d):
    """The maximum of every window."""

    def native(self, output: Shape) -> LayerSpec:
        return LayerSpec("max_pool2d", kernel=self.kernel)


@dataclass(frozen=True, slots=True)
class AvgPool2d(Pool2d):
    """The mean of every window."""


@dataclass(frozen=True, slots=True)
class BatchNorm2d(Layer):
    """Every channel of (channels, h, w) is normalised, then scaled by weight (channels,) and
    shifted by bias (channels,).

    In training, mean and variance are those over the batch, and the buffers keep running averages
    of them; evaluation uses these. Momentum 0.1, epsilon 1e-5 and the unbiased running variance are
    those of PyTorch. The number of batches seen is not kept, since nothing depends on it.
    """

    channels: int

    def output(self, shape: Shape) -> Shape:
        if len(shape) != 3 or shape[0] != self.channels:
            raise ValueError(f"takes images ({self.channels}, h, w), gets {shape}")
        return shape

    def tensors(self) -> Iterator[Tensor]:
        yield Tensor("weight", (self.channels,), Constant(1.0))
        yield Tensor("bias", (self.channels,), Constant(0.0))

    def buffers(self) -> Iterator[Tensor]:
        yield Tensor("running_mean", (self.channels,), Constant(0.0))
        yield Tensor("running_var", (self.channels,), Constant(1.0))


@dataclass(frozen=True, slots=True)
class Residual(Layer):
    """body(x) + shortcut(x); a shortcut without layers is x itself."""

    body: tuple[Layer, ...]
    shortcut: tuple[Layer, ...] = ()

    def output(self, shape: Shape) -> Shape:
        ends = [chain(layers, shape)[-1] for layers in (self.body, self.shortcut)]
        if ends[0] != ends[1]:
            raise ValueError(f"adds {ends[0]} of its body and {ends[1]} of its shortcut; they must have one shape")
        return ends[0]

    def tensors(self) -> Iterator[Tensor]:
        return self._of_both("tensors")

    def buffers(self) -> Iterator[Tensor]:
        return self._of_both("buffers")

    def _of_both(self, kind: Kind) -> Iterator[Tensor]:
        for part, layers in (("body", self.body), ("shortcut", self.shortcut)):
            yield from (tensor._replace(name=f"{part}.{tensor.name}") for tensor in numbered(layers, kind))


@dataclass(frozen=True, slots=True)
class ReLU(Layer):
    """max(x, 0), element by element; its derivative at 0 is 0."""

    def native(self, output: Shape) -> LayerSpec:
        return LayerSpec("relu")


@dataclass(frozen=True, slots=True)
class Flatten(Layer):
    """The example as a vector, in C order."""

    def output(self, shape: Shape) -> Shape:
        return (math.prod(shape),)

    def native(self, output: Shape) -> LayerSpec:
        return LayerSpec("flatten")


@dataclass(frozen=True, slots=True)
class Dropout(Layer):
    """In training every element is set to 0 with probability p, or else scaled by 1 / (1 - p). How
    masks are drawn is stated in torch_model.py."""

    p: float

    def __post_init__(self) -> None:
        if not 0 <= self.p < 1:
            raise UsageError(f"{self}: p must be in [0, 1), got {self.p}")

    def native(self, output: Shape) -> LayerSpec:
        return LayerSpec("dropout", p=self.p)


@dataclass(frozen=True, slots=True)
class Dropout2d(Dropout):
    """Dropout of whole channels of (channels, h, w)."""

    def output(self, shape: Shape) -> Shape:
        if len(shape) != 3:
            raise ValueError(f"takes images (channels, h, w), gets {shape}")
        return shape

    def native(self, output: Shape) -> LayerSpec:
        return LayerSpec("dropout2d", p=self.p)


def chain(layers: tuple[Layer, ...], shape: Shape) -> list[Shape]:
    """Returns the len(layers) + 1 shapes before every layer and after the last one. ValueError,
    which names the layer, if they do not fit."""
    shapes = [shape]
    for index, layer in enumerate(layers):
        try:
            shapes.append(layer.output(shapes[-1]))
        except ValueError as error:
            raise ValueError(f"layer {index}, {layer}, {error}") from None
    return shapes


def in_order(layers: tuple[Layer, ...], shape: Shape) -> Iterator[tuple[Layer, Shape]]:
    """Yields every layer with the shape of its input, in the order of use. A Residual is replaced
    by the layers of its body and then of its shortcut."""
    for layer, given in zip(layers, chain(layers, shape), strict=False):
        if isinstance(layer, Residual):
            yield from in_order(layer.body, given)
            yield from in_order(layer.shortcut, given)
        else:
            yield layer, given


def numbered(layers: tuple[Layer, ...], kind: Kind) -> Iterator[Tensor]:
    """Yields the parameters or buffers of all layers, in order. The name `3.weight` is that of the
    weight of layers[3]."""
    for index, layer in enumerate(layers):
        for tensor in getattr(layer, kind)():
            yield tensor._replace(name=f"{index}.{tensor.name}")


def _window(side: int, kernel: int, stride: int) -> int:
    if side < kernel:
        raise ValueError(f"has a kernel of {kernel}, gets a side of only {side}")
    return (side - kernel) // stride + 1
