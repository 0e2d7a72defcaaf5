"""The layers of models side by side, forward and backward, in few operations: on a GPU each is a
launch. stacked_products.py has their axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from fedbench.engine.trainers.torch.stacked_products import Batch, Convolution, Part, Place, Product, Rows
from fedbench.errors import UsageError
from fedbench.tasks.layers import (
    BatchNorm2d,
    Conv2d,
    Dropout,
    Dropout2d,
    Flatten,
    Layer,
    Linear,
    MaxPool2d,
    Pool2d,
    ReLU,
    Residual,
    chain,
)
from fedbench.tasks.sequences import Embedding, Last

aten = torch.ops.aten


class Normalisation:
    """Batch normalisation that weighs the examples. The running averages are those of
    nn.BatchNorm2d on the examples with a weight."""

    def __init__(self, place: Place) -> None:
        self.scale, self.shift = (place.parameters[name][:, :, None, None, None] for name in ("weight", "bias"))
        self.slopes = [place.gradients[name] for name in ("weight", "bias")]
        self.averages = [place.buffers[name] for name in ("running_mean", "running_var")]
        self.positions, self.wants = math.prod(place.shape[1:]), place.wants

    def forward(self, x: torch.Tensor, batch: Batch) -> torch.Tensor:
        self.w = (batch.weights / self.positions)[:, None, :, None, None]
        mean = (self.w * x).sum((2, 3, 4), keepdim=True)
        away = x - mean
        variance = (self.w * away * away).sum((2, 3, 4), keepdim=True)
        count = self.positions / batch.weights[:, :1]
        now = (mean.flatten(1), variance.flatten(1) * count / (count - 1))
        for old, new in zip(self.averages, now, strict=True):
            old.mul_(0.9).add_(new, alpha=0.1)
        self.inverse = (variance + 1e-5).rsqrt()
        self.normal = away * self.inverse
        return torch.addcmul(self.shift, self.normal, self.scale)

    def backward(self, slopes: torch.Tensor) -> torch.Tensor | None:
        of_scale, of_shift = (s.sum((2, 3, 4), keepdim=True) for s in (slopes * self.normal, slopes))
        for where, found in zip(self.slopes, (of_scale, of_shift), strict=True):
            where.copy_(found.flatten(1))
        if not self.wants:
            return None
        # Mean and variance move with the examples too.
        moved = torch.addcmul(of_shift, self.normal, of_scale).mul_(self.w)
        return (slopes - moved).mul_(self.scale * self.inverse)


class Rectifier:
    def forward(self, x: torch.Tensor, batch: Batch) -> torch.Tensor:
        self.y = torch.relu(x)
        return self.y

    def backward(self, slopes: torch.Tensor) -> torch.Tensor:
        # In the layout of the activations, whatever that of the slopes: a pool before it wants
        # that.
        return aten.threshold_backward.grad_input(slopes, self.y, 0, grad_input=torch.empty_like(self.y))  # type: ignore[no-any-return]


class Mask:
    """Dropout."""

    def forward(self, x: torch.Tensor, batch: Batch) -> torch.Tensor:
        self.mask = next(batch.masks).transpose(1, 2)
        return x * self.mask

    def backward(self, slopes: torch.Tensor) -> torch.Tensor:
        return slopes * self.mask


class Pool:
    """Reduces windows: the lanes' channels and examples are channels and images to torch."""

    def __init__(self, layer: Pool2d) -> None:
        self.window, self.is_maximum = [layer.kernel] * 2, isinstance(layer, MaxPool2d)

    def forward(self, x: torch.Tensor, batch: Batch) -> torch.Tensor:
        self.x = x.flatten(0, 1)
        if self.is_maximum:
            y, self.where = F.max_pool2d_with_indices(self.x, self.window)
        else:
            y = F.avg_pool2d(self.x, self.window)
        return torch.unflatten(y, 0, x.shape[:2])

    def backward(self, slopes: torch.Tensor) -> torch.Tensor:
        given = (slopes.flatten(0, 1), self.x, self.window, self.window, [0, 0])
        if self.is_maximum:
            found = aten.max_pool2d_with_indices_backward(*given, [1, 1], False, self.where)
        else:
            found = aten.avg_pool2d_backward(*given, False, True, None)
        return torch.unflatten(found, 0, slopes.shape[:2])


class Vector:
    """Flattens what a lane has of an example."""

    def forward(self, x: torch.Tensor, batch: Batch) -> torch.Tensor:
        self.shape = x.movedim(2, -1).shape
        return x.movedim(2, 1).flatten(2).mT

    def backward(self, slopes: torch.Tensor) -> torch.Tensor:
        return slopes.reshape(self.shape).movedim(-1, 2)


class Tail:
    """The last items of sequences."""

    def __init__(self, layer: Last) -> None:
        self.count = layer.count

    def forward(self, x: torch.Tensor, batch: Batch) -> torch.Tensor:
        self.before = x.shape[1] - self.count
        return x[:, self.before :]

    def backward(self, slopes: torch.Tensor) -> torch.Tensor:
        return F.pad(slopes, (*(0, 0) * (slopes.ndim - 2), self.before, 0))


@dataclass
class Chain:
    """Layers one after the other."""

    parts: Sequence[Part]
    wants: bool

    def forward(self, x: torch.Tensor, batch: Batch) -> torch.Tensor:
        for part in self.parts:
            x = part.forward(x, batch)
        return x

    def backward(self, slopes: torch.Tensor) -> torch.Tensor | None:
        found: torch.Tensor | None = slopes
        for part in reversed(self.parts):
            if found is not None:
                found = part.backward(found)
        return found if self.wants else None


@dataclass
class Sum:
    """A Residual."""

    ways: Sequence[Chain]

    def forward(self, x: torch.Tensor, batch: Batch) -> torch.Tensor:
        body, shortcut = (way.forward(x, batch) for way in self.ways)
        return body + shortcut

    def backward(self, slopes: torch.Tensor) -> torch.Tensor | None:
        body, shortcut = (way.backward(slopes) for way in self.ways)
        return None if body is None or shortcut is None else body + shortcut


def stacked(layers: tuple[Layer, ...], place: Place) -> Chain:
    """Returns the layers of all lanes, whose tensors have the names that they have in
    Model.parameters."""
    parts: list[Part] = []
    wants = place.wants
    for index, (layer, shape) in enumerate(zip(layers, chain(layers, place.shape), strict=False)):
        inner = place.part(f"{index}.")
        parts.append(_part(layer, Place(inner.parameters, inner.gradients, inner.buffers, shape, wants)))
        wants = wants or bool(inner.parameters)
    return Chain(parts, place.wants)


PLAIN: dict[type[Layer], Callable[[], Part]] = {ReLU: Rectifier, Dropout: Mask, Dropout2d: Mask, Flatten: Vector}
PLACED: dict[type[Layer], Callable[[Place], Part]] = {Linear: Product, Embedding: Rows, BatchNorm2d: Normalisation}


def _part(layer: Layer, place: Place) -> Part:
    kind = type(layer)
    if kind in PLAIN:
        return PLAIN[kind]()
    if kind in PLACED:
        return PLACED[kind](place)
    match layer:
        case Conv2d():
            return Convolution(layer, place)
        case Residual(body, shortcut):
            return Sum([stacked(body, place.part("body.")), stacked(shortcut, place.part("shortcut."))])
        case Pool2d():
            return Pool(layer)
        case Last():
            return Tail(layer)
    raise UsageError(f"layer {layer}: torch cannot train it side by side")
