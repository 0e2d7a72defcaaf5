"""A layer list as a torch module, with dropout masks from our own streams.

Masks, part of the determinism contract. In training, with a stream set, a dropout layer takes from it one 32-bit word per mask
element, in C order: Dropout one per element of the activation, Dropout2d one per (example, channel). An element is kept if
word >= p * 2^32 and is then multiplied by 1 / (1 - p) rounded to the activation's dtype; else it is multiplied by 0. So words are
used step by step (forward by forward), layer by layer, example by example. Nothing here draws from torch's generators.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from fedbench.errors import UsageError
from fedbench.kernels.random import Stream
from fedbench.tasks.models import Conv2d, Dropout, Dropout2d, Flatten, Layer, Linear, MaxPool2d, Model, ReLU


class Masked(nn.Module):
    """A dropout layer; the identity in evaluation and while `stream` is None."""

    def __init__(self, layer: Dropout) -> None:
        super().__init__()
        self.layer = layer
        self.stream: Stream | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.stream is None or not self.training:
            return x
        return x * dropout_mask(self.layer, tuple(x.shape), self.stream, x.dtype).to(x.device)


class LayerStack(nn.Sequential):
    """The module that `build` makes: child i is layers[i], so parameters have the names of Model.parameters."""

    def set_masks(self, stream: Stream | None) -> None:
        """Take dropout masks from this stream (shared by all layers, advanced by a forward in training) until the next call."""
        for module in self:
            if isinstance(module, Masked):
                module.stream = stream


def build(model: Model, dtype: torch.dtype = torch.float32) -> LayerStack:
    """A module that takes batches (b, *input_shape) of dtype. Its parameters are zeros until they are loaded or flattened."""
    return LayerStack(*(_module(layer, dtype) for layer in model.layers))


def _module(layer: Layer, dtype: torch.dtype) -> nn.Module:
    match layer:
        case Linear(inputs, outputs):
            return _empty(nn.Linear(inputs, outputs, device="meta", dtype=dtype))
        case Conv2d(inputs, outputs, kernel, stride, padding):
            return _empty(nn.Conv2d(inputs, outputs, kernel, stride, padding, device="meta", dtype=dtype))
        case MaxPool2d(kernel):
            return nn.MaxPool2d(kernel)
        case ReLU():
            return nn.ReLU()
        case Flatten():
            return nn.Flatten()
        case Dropout():
            return Masked(layer)
    raise UsageError(f"layer {layer}: torch_model does not know how to build it")


def _empty(module: nn.Module) -> nn.Module:
    # Made on the meta device, where torch's initialisation draws nothing: the global generator stays untouched.
    module.to_empty(device="cpu")
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
    return module


def dropout_mask(layer: Dropout, shape: tuple[int, ...], stream: Stream, dtype: torch.dtype) -> torch.Tensor:
    """The mask for activations (b, ..), on the CPU: 0 or 1 / (1 - p), of `shape`, or (b, channels, 1, 1) for Dropout2d."""
    if isinstance(layer, Dropout2d):
        shape = (*shape[:2], 1, 1)
    # p * 2^32 is exact, and so is a uint32 in the float64 in which numpy compares them.
    kept = torch.from_numpy(stream.words(math.prod(shape)) >= layer.p * 2.0**32)
    return kept.reshape(shape).to(dtype) * (1 / (1 - layer.p))


def flatten_parameters(module: nn.Module, flat: torch.Tensor) -> torch.Tensor:
    """Make every parameter of the module a view of `flat` (dim,), in order, and every .grad a view of the tensor returned.

    The module takes over the values of `flat`; both share memory from then on. Backward passes add to the gradient, which starts
    at zero: clear it with `.zero_()`, since `zero_grad()` would unhook the views. UsageError if size, dtype, device or layout of
    `flat` is not that of the parameters.
    """
    parameters = list(module.parameters())
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
