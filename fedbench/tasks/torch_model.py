"""Builds a torch module from a list of layers, with dropout masks from our own streams.

The masks are part of the determinism contract. In training, a dropout layer takes one 32-bit word
per mask element from the stream that was set, in C order: Dropout one per element of the
activation, Dropout2d one per (example, channel). An element is kept if word >= p * 2^32, and is
then multiplied by 1 / (1 - p) rounded to the activation's dtype; otherwise it is multiplied by 0.
So words are used step by step (forward by forward), layer by layer, and example by example. Nothing
here draws from torch's generators.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional as F

from fedbench.errors import UsageError
from fedbench.tasks.layers import (
    AvgPool2d,
    BatchNorm2d,
    Conv2d,
    Dropout,
    Dropout2d,
    Flatten,
    Layer,
    Linear,
    MaxPool2d,
    ReLU,
    Residual,
)
from fedbench.tasks.models import Model
from fedbench.tasks.sequences import LSTM, Embedding, Last


class Words(Protocol):
    """A stream of random words, such as a RandomStream."""

    def words(self, count: int, /) -> npt.NDArray[np.uint32]: ...


class Masked(nn.Module):
    """The module of a Dropout or Dropout2d. In evaluation, and while `masks` is None, it is the
    identity."""

    def __init__(self, layer: Dropout) -> None:
        super().__init__()
        self.layer = layer
        self.masks: Words | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.masks is None or not self.training:
            return x
        return x * dropout_mask(self.layer, tuple(x.shape), self.masks, x.dtype).to(x.device)


class Sum(nn.Module):
    """The module of a Residual."""

    def __init__(self, body: nn.Sequential, shortcut: nn.Sequential) -> None:
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total: torch.Tensor = self.body(x) + self.shortcut(x)
        return total


class Symbols(nn.Embedding):
    """The module of an Embedding. Its symbols are floats, as all examples are."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.embedding(x.long(), self.weight)


class Outputs(nn.LSTM):
    """The module of an LSTM, which returns only the outputs and not the state."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        outputs: torch.Tensor = super().forward(x)[0]
        return outputs


class Tail(nn.Module):
    """The module of a Last."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, -self.count :]


class Maskable(nn.Module):
    """A module whose dropout layers are Masked."""

    def set_masks(self, masks: Words | None) -> None:
        """Sets the source of dropout masks, until the next call. All layers share it, and every
        forward pass in training advances it."""
        for module in self.modules():
            if isinstance(module, Masked):
                module.masks = masks


class LayerStack(Maskable, nn.Sequential):
    """The module that `build` makes. Child i is layers[i], so tensors have the names that they have
    in Model.parameters and Model.buffers."""


def build(model: Model, dtype: torch.dtype = torch.float32) -> LayerStack:
    """Returns a module that takes batches (b, *input_shape) of dtype. Its parameters and buffers
    are zeros until they are loaded or flattened."""
    return LayerStack(*(_module(layer, dtype) for layer in model.layers))


CHANNELS_LAST_POSITIONS = 64


def is_faster_channels_last(model: Model) -> bool:
    """Returns whether torch's CPU kernels are faster on images whose channels are the fastest
    index.

    This is so where every convolution has an output of at least 64 positions. Measured per step
    with one thread, the three small CNNs of the library are 1.2 to 1.4 times as fast, resnet18 (4 x
    4 at last) is not faster, and alexnet (2 x 2) takes 1.3 times as long: rearranging its weights
    at every step costs more than its few positions gain.
    """
    convolutions = [shape for layer, shape in zip(model.layers, model.shapes[1:], strict=True) if isinstance(layer, Conv2d)]
    return bool(convolutions) and min(math.prod(shape[1:]) for shape in convolutions) >= CHANNELS_LAST_POSITIONS


def _module(layer: Layer, dtype: torch.dtype) -> nn.Module:
    module: nn.Module
    match layer:
        case Linear(inputs, outputs):
            module = nn.Linear(inputs, outputs, device="meta", dtype=dtype)
        case Conv2d(inputs, outputs, kernel, stride, padding, bias):
            module = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=bias, device="meta", dtype=dtype)
        case BatchNorm2d(channels):
            module = nn.BatchNorm2d(channels, device="meta", dtype=dtype)
            module.register_buffer("num_batches_tracked", None)  # only counted: with a fixed momentum nothing depends on it
        case Residual(body, shortcut):
            return Sum(*(nn.Sequential(*(_module(part, dtype) for part in parts)) for parts in (body, shortcut)))
        case MaxPool2d(kernel):
            module = nn.MaxPool2d(kernel)
        case AvgPool2d(kernel):
            module = nn.AvgPool2d(kernel)
        case ReLU():
            module = nn.ReLU()
        case Flatten():
            module = nn.Flatten()
        case Dropout():
            module = Masked(layer)
        case _:
            module = _module_of_sequences(layer, dtype)
    return _empty(module)


def _module_of_sequences(layer: Layer, dtype: torch.dtype) -> nn.Module:
    match layer:
        case Embedding(symbols, width):
            return Symbols(symbols, width, device="meta", dtype=dtype)
        case LSTM(inputs, hidden):
            return Outputs(inputs, hidden, batch_first=True, device="meta", dtype=dtype)
        case Last(count):
            return Tail(count)
    raise UsageError(f"layer {layer}: torch_model does not know how to build it")


def _empty(module: nn.Module) -> nn.Module:
    # The module was made on the meta device, where torch's initialisation draws nothing from the
    # global generator.
    module.to_empty(device="cpu")
    with torch.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            tensor.zero_()
    return module


def mask_shape(layer: Dropout, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of the mask for activations of `shape` (b, ..)."""
    return (*shape[:2], 1, 1) if isinstance(layer, Dropout2d) else shape


def dropout_mask(layer: Dropout, shape: tuple[int, ...], stream: Words, dtype: torch.dtype) -> torch.Tensor:
    """Returns the mask for activations (b, ..), on the CPU, of elements 0 or 1 / (1 - p)."""
    shape = mask_shape(layer, shape)
    # numpy compares in float64, where p * 2^32 and every uint32 are exact.
    kept = torch.from_numpy(stream.words(math.prod(shape)) >= layer.p * 2.0**32)
    return kept.reshape(shape).to(dtype) * (1 / (1 - layer.p))


def trained(module: nn.Module) -> list[nn.Parameter]:
    """Returns the parameters that are not frozen, in order."""
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def flatten_parameters(module: nn.Module, flat: torch.Tensor) -> torch.Tensor:
    """Makes every trained parameter of the module a view of `flat` (dim,), in order, and returns
    the tensor of which every .grad is a view.

    The module takes over the values of `flat`, and both share memory from then on. Backward passes
    add to the gradient, which starts at zero. Clear it with `.zero_()`, since `zero_grad()` would
    detach the views. UsageError if size, dtype, device or layout of `flat` is not that of the
    parameters.
    """
    parameters = trained(module)
    dim = sum(parameter.numel() for parameter in parameters)
    if flat.shape != (dim,) or not flat.is_contiguous():
        raise UsageError(f"flat parameters: must be a contiguous ({dim},), got {tuple(flat.shape)} with strides {flat.stride()}")
    for name, parameter in module.named_parameters():
        if (parameter.dtype, parameter.device) != (flat.dtype, flat.device):
            raise UsageError(
                f"flat parameters: {name} is {parameter.dtype} on {parameter.device}, flat is {flat.dtype} on {flat.device}; "
                f"move one of them first"
            )
    gradient = torch.zeros_like(flat)
    offset = 0
    for parameter in parameters:
        part = slice(offset, offset + parameter.numel())
        parameter.data = flat[part].view(parameter.shape)
        parameter.grad = gradient[part].view(parameter.shape)
        offset = part.stop
    return gradient


def changing_buffers(module: nn.Module) -> Iterator[tuple[nn.Module, str, torch.Tensor]]:
    """Yields the buffers that are part of a model, in order: owner, name there and tensor. Those
    that are not floats, or that their owner does not save, are constants."""
    for owner in module.modules():
        for name, buffer in owner.named_buffers(recurse=False):
            if buffer.is_floating_point() and name not in owner._non_persistent_buffers_set:
                yield owner, name, buffer


def flatten_buffers(module: nn.Module, flat: torch.Tensor) -> None:
    """Makes every buffer of the module a view of `flat` (m,), in order, so that both share memory.
    UsageError if `flat` has another size."""
    offset = 0
    for owner, name, buffer in list(changing_buffers(module)):
        setattr(owner, name, flat[offset : offset + buffer.numel()].view(buffer.shape))
        offset += buffer.numel()
    if flat.shape != (offset,):
        raise UsageError(f"flat buffers: must be ({offset},), got {tuple(flat.shape)}")
