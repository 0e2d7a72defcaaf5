"""Layers for sequences of symbols, which are whole numbers, and for sequences of vectors (length,
width)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from fedbench.kernels.train import LayerSpec
from fedbench.tasks.layers import Flatten, Layer
from fedbench.tasks.tensors import Normal, Shape, Tensor, Uniform


@dataclass(frozen=True, slots=True)
class Last(Layer):
    """The last `count` items of a sequence (length, ..)."""

    count: int

    def output(self, shape: Shape) -> Shape:
        if shape[0] < self.count:
            raise ValueError(f"takes sequences of at least {self.count}, gets {shape}")
        return (self.count, *shape[1:])

    def native(self, output: Shape) -> LayerSpec | None:
        return LayerSpec("last", outputs=math.prod(output)) if len(output) < 3 else None


@dataclass(frozen=True, slots=True)
class Embedding(Layer):
    """Replaces every symbol of (length,) by its row of the weight (symbols, width), which gives
    (length, width).

    The symbols are those of the example itself: the whole numbers 0 .. symbols - 1, as floats,
    which a Task checks. So only Last and Flatten may come before this layer. The rows are drawn by
    PyTorch's default law, N(0, 1). The row of a symbol that a batch does not have has the gradient
    0.
    """

    symbols: int
    width: int

    def output(self, shape: Shape) -> Shape:
        if len(shape) != 1:
            raise ValueError(f"takes sequences of symbols (length,), gets {shape}")
        return (*shape, self.width)

    def weight(self) -> Shape:
        return (self.symbols, self.width)

    def native(self, output: Shape) -> LayerSpec:
        return LayerSpec("embedding", self.symbols, self.width)

    def tensors(self) -> Iterator[Tensor]:
        yield Tensor("weight", self.weight(), Normal(1.0))


@dataclass(frozen=True, slots=True)
class LSTM(Layer):
    """Long short-term memory. Its result has all outputs (length, hidden) for a sequence (length,
    inputs), from a state of zeros.

    Tensors are those of torch.nn.LSTM, which has two biases. They hold the input, forget, cell and
    output gate one under the other, and are drawn from U(-1 / sqrt hidden, 1 / sqrt hidden).
    Source: Hochreiter and Schmidhuber 1997.
    """

    inputs: int
    hidden: int

    def output(self, shape: Shape) -> Shape:
        if len(shape) != 2 or shape[1] != self.inputs:
            raise ValueError(f"takes sequences (length, {self.inputs}), gets {shape}")
        return (shape[0], self.hidden)

    def tensors(self) -> Iterator[Tensor]:
        law, gates = Uniform(1 / math.sqrt(self.hidden)), 4 * self.hidden
        yield Tensor("weight_ih_l0", (gates, self.inputs), law)
        yield Tensor("weight_hh_l0", (gates, self.hidden), law)
        yield Tensor("bias_ih_l0", (gates,), law)
        yield Tensor("bias_hh_l0", (gates,), law)


def symbols_of(layers: list[Layer]) -> int | None:
    """Returns the number of different symbols in examples, from the layers in the order of use.
    None if there is no Embedding, so that examples are any numbers.

    ValueError, which names the layer, for an Embedding that does not get the examples' own symbols.
    """
    found = None
    for index, layer in enumerate(layers):
        if isinstance(layer, Embedding):
            if not all(isinstance(before, Last | Flatten) for before in layers[:index]):
                raise ValueError(f"{layer} takes the symbols of examples, so only Last and Flatten may come before it")
            found = layer.symbols
    return found
