"""Trains models side by side: their parameters, gradients and buffers as stacked tensors, and what
a step of all of them reads, in memory that stays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import torch

from fedbench.engine.trainers.torch.loss import CrossEntropy
from fedbench.engine.trainers.torch.stacked_layers import stacked
from fedbench.engine.trainers.torch.stacked_products import Batch, Place, Views
from fedbench.own_losses import Loss
from fedbench.tasks.layers import Dropout, in_order
from fedbench.tasks.models import Model
from fedbench.tasks.tensors import Tensor
from fedbench.tasks.torch_model import mask_shape

CORRECTIONS = 2
"""The numbers by which AdamW divides its moments in a step."""


class Lanes:
    """Holds `count` models, called lanes, with parameters `flat` and gradients `gradient` (count,
    d) and buffers (count, m), which are written in place. They see `examples` examples a step."""

    def __init__(
        self,
        model: Model,
        count: int,
        examples: int,
        dtype: torch.dtype,
        device: torch.device,
        loss: Loss,
        labels: torch.dtype = torch.int64,
    ) -> None:
        """`labels` is the dtype of labels as the loss takes them."""
        self.model, self.count, self.examples, self.loss = model, count, examples, loss
        self.dtype, self.device, self.labels = dtype, device, labels
        self.flat, self.gradient = (torch.zeros(count, model.dim, dtype=dtype, device=device) for _ in range(2))
        self.buffers = torch.zeros(count, sum(buffer.size for buffer in model.buffers), dtype=dtype, device=device)
        layers = in_order(model.layers, model.input_shape)
        self.dropouts = [(layer, shape) for layer, shape in layers if isinstance(layer, Dropout)]
        parameters, gradients = (self._views(flat, model.parameters) for flat in (self.flat, self.gradient))
        buffers = self._views(self.buffers, model.buffers)
        self.chain = stacked(model.layers, Place(parameters, gradients, buffers, model.input_shape, wants=False))

    def _views(self, flat: torch.Tensor, parts: tuple[Tensor, ...]) -> Views:
        return {p.name: flat[:, p.offset : p.offset + p.size].view(self.count, *p.shape) for p in parts}

    def inputs(self, forwards: int) -> Inputs:
        """Returns memory for what a step of so many forwards reads."""
        return Inputs(self, forwards)

    def backward(self, inputs: Inputs) -> torch.Tensor:
        """Returns the gradient (lanes, d) of every lane's loss, the sum of the losses of its
        examples times their weights, valid until the next call."""
        x = inputs.features.movedim(1, 2)
        with torch.no_grad():
            logits = self.chain.forward(x, Batch(inputs.weights, inputs.masks()))
        logits.requires_grad_()
        if isinstance(self.loss, CrossEntropy):
            outputs, slopes = logits.log_softmax(1), inputs.slopes
        else:
            labels = inputs.labels.flatten()
            by_example = logits.transpose(1, 2).flatten(0, 1)
            outputs = self.loss.terms(by_example, labels.to(self.labels))
            slopes = inputs.weights.flatten()
        (found,) = torch.autograd.grad(outputs, logits, slopes)
        with torch.no_grad():
            self.chain.backward(found)
        return self.gradient


class Inputs:
    """What a step of all lanes reads, always in the same memory: `features` (lanes, b, ..), and
    `row`, a vector of all else, of which the others are views.

    Attributes:
        corrections: see CORRECTIONS (2, lanes, 1).
        age: the number of a lane's step among those of its job (lanes, 1).
        rates: minus the rates of the lanes (lanes, 1).
        weights: the weights of the examples (lanes, b): 1 / n for the n examples of a lane, and 0
            for those that fill up the batch. The first of a lane is an example.
        slopes: those of the loss at the logarithms of the probabilities (lanes, classes, b), if it
            is the cross-entropy.
        labels: the labels as real numbers (lanes, b), if it is not.
    """

    def __init__(self, lanes: Lanes, forwards: int) -> None:
        count, b, (classes,) = lanes.count, lanes.examples, lanes.model.output_shape
        crosses = isinstance(lanes.loss, CrossEntropy)
        self.forwards = forwards
        self.shapes = [mask_shape(layer, (b, *shape)) for layer, shape in lanes.dropouts]
        size = sum(math.prod(shape) for shape in self.shapes)
        self.parts = [
            (CORRECTIONS, count, 1),
            (count, 1),
            (count, 1),
            (count, b),
            (count, classes if crosses else 1, b),
            (forwards, count, size),
        ]
        self.features = torch.zeros(count, b, *lanes.model.input_shape, dtype=lanes.dtype, device=lanes.device)
        self.row = torch.zeros(sum(map(math.prod, self.parts)), dtype=lanes.dtype, device=lanes.device)
        of_step = (part[0] for part in self.views(self.row[None]))
        self.corrections, self.age, self.rates, self.weights, self.slopes, self.of_forwards = of_step
        self.labels = self.slopes[:, 0]
        self.begin()

    def begin(self) -> None:
        """Begins a step: its first forward comes next."""
        self._turns: Iterator[torch.Tensor] = iter(self.of_forwards.unbind(0))

    def views(self, rows: torch.Tensor) -> Sequence[torch.Tensor]:
        """Returns the parts of the rows of some steps (steps, ..)."""
        ends = itertools.pairwise(itertools.accumulate(map(math.prod, self.parts), initial=0))
        return [rows[:, begin:end].view(len(rows), *shape) for (begin, end), shape in zip(ends, self.parts, strict=True)]

    def masks(self) -> Iterator[torch.Tensor]:
        """Yields the masks (lanes, b, ..) of the next forward of the step, layer by layer."""
        of_layers = torch.split(next(self._turns), [math.prod(shape) for shape in self.shapes], 1)
        return (torch.unflatten(mask, 1, shape) for mask, shape in zip(of_layers, self.shapes, strict=True))
