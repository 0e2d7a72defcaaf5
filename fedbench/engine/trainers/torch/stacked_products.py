"""The layers of models side by side that are products with weights, and what all layers are given.

Activations have a lane's examples behind their first axis: images are (lanes, c, b, h, w), vectors
(lanes, n, b). So every product of a lane is one matrix of the batched product of all lanes, a
convolution's too, with its patches as columns; no sum crosses lanes. Gradients of parameters are
written where they belong in the flat gradient of all lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch.nn import functional as F

from fedbench.tasks.layers import Conv2d

ELEMENTS = 1 << 26
"""The most elements that the marks of an embedding have at a time: 256 MiB in float32."""
Views = dict[str, torch.Tensor]


@dataclass
class Batch:
    """What a forward takes beside the features: the weights of the examples (lanes, b), which are 0
    for those that fill up a batch and else equal, with the sum 1, and the dropout masks (lanes, b,
    ..) in the order of use."""

    weights: torch.Tensor
    masks: Iterator[torch.Tensor]


@dataclass(frozen=True)
class Place:
    """Where a layer of all lanes has its parameters, their gradients and its buffers, by name; the
    shape of an example before it; and whether a layer with parameters comes before it, which wants
    to know the slopes."""

    parameters: Views
    gradients: Views
    buffers: Views
    shape: tuple[int, ...]
    wants: bool

    def part(self, name: str) -> Place:
        """Returns the place of a layer within a layer."""
        parameters, gradients, buffers = (
            {key.removeprefix(name): value for key, value in views.items() if key.startswith(name)}
            for views in (self.parameters, self.gradients, self.buffers)
        )
        return Place(parameters, gradients, buffers, self.shape, self.wants)


class Part(Protocol):
    """A layer of all lanes. `backward` follows the `forward` whose slopes it takes."""

    def forward(self, x: torch.Tensor, batch: Batch) -> torch.Tensor: ...

    def backward(self, slopes: torch.Tensor) -> torch.Tensor | None:
        """Returns the slopes before the layer, unless nobody wants them."""


class Product:
    """W x + b: for every lane the product of its weight (outputs, n) with columns (n, m)."""

    def __init__(self, place: Place) -> None:
        weight, bias = place.parameters["weight"], place.parameters.get("bias")
        self.weight, self.slopes = weight.flatten(2), place.gradients["weight"].flatten(2)
        self.bias, self.wants = None if bias is None else bias[..., None], place.wants
        self.bias_slopes = place.gradients.get("bias")

    def forward(self, x: torch.Tensor, batch: Batch) -> torch.Tensor:
        self.columns = x
        return torch.bmm(self.weight, x) if self.bias is None else torch.baddbmm(self.bias, self.weight, x)

    def backward(self, slopes: torch.Tensor) -> torch.Tensor | None:
        torch.bmm(slopes, self.columns.mT, out=self.slopes)
        if self.bias_slopes is not None:
            torch.sum(slopes, 2, out=self.bias_slopes)
        return torch.bmm(self.weight.mT, slopes) if self.wants else None


class Convolution(Product):
    """The columns are the patches of all examples of a lane."""

    def __init__(self, layer: Conv2d, place: Place) -> None:
        super().__init__(place)
        self.layer, self.output = layer, layer.output(place.shape)[1:]

    def forward(self, x: torch.Tensor, batch: Batch) -> torch.Tensor:
        k, step, padding = self.layer.kernel, self.layer.stride, self.layer.padding
        self.shape = x.shape
        if padding:
            x = F.pad(x, (padding,) * 4)
        lane, channel, example, down, across = x.stride()
        lanes, channels, b = self.shape[:3]
        patches = x.as_strided(
            (lanes, channels, k, k, b, *self.output), (lane, channel, down, across, example, step * down, step * across)
        )
        y = super().forward(patches.reshape(lanes, channels * k * k, -1), batch)
        return y.view(lanes, -1, b, *self.output)

    def backward(self, slopes: torch.Tensor) -> torch.Tensor | None:
        (lanes, channels, b, *sides), k = self.shape, self.layer.kernel
        columns = super().backward(slopes.reshape(lanes, self.layer.outputs, -1))
        if columns is None:
            return None
        # Sums patches into images, which are channels of each other here, since they lie side by
        # side.
        columns = columns.view(lanes * channels, k * k, b, -1).transpose(1, 2).reshape(lanes * channels, b * k * k, -1)
        x = F.fold(columns, tuple(sides), k, padding=self.layer.padding, stride=self.layer.stride)
        return x.view(self.shape)


class Rows:
    """Takes rows of a weight (lanes, symbols, width) by the symbols of the examples, as F.embedding
    does, and bit for bit.

    The gradient of F.embedding is one list of all lanes' symbols, which a GPU adds in parts that
    begin anywhere in it: a lane's bits would depend on its place. Here it is a product with marks
    (symbols, indices), 1 where an index is the symbol and 0 elsewhere. The marks of all lanes are
    made for so many indices at a time that they have at most ELEMENTS elements, or those of one
    index.

    A slope that is not finite reaches the rows of all symbols, not its own alone: 0 times it is
    NaN. Such a model has diverged in either case.
    """

    def __init__(self, place: Place) -> None:
        self.weight, self.slopes = place.parameters["weight"], place.gradients["weight"]

    def forward(self, x: torch.Tensor, batch: Batch) -> torch.Tensor:
        indices = x.mT.long()  # (lanes, b, n)
        self.indices = indices.flatten(1)
        rows = self.weight.gather(1, self.indices[..., None].expand(-1, -1, self.weight.shape[2]))
        return torch.unflatten(rows, 1, indices.shape[1:]).transpose(1, 2)

    def backward(self, slopes: torch.Tensor) -> None:
        (lanes, symbols, width), device = self.weight.shape, slopes.device
        of_rows, size = slopes.transpose(1, 2).reshape(lanes, -1, width), max(1, ELEMENTS // (lanes * symbols))
        numbers = torch.arange(symbols, device=device)[:, None]
        self.slopes.zero_()
        for indices, part in zip(torch.split(self.indices, size, 1), torch.split(of_rows, size, 1), strict=True):
            self.slopes.baddbmm_((indices[:, None] == numbers).to(part.dtype), part)
