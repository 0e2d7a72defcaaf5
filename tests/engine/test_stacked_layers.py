"""Gradients of models side by side: those of torch's own layers under vmap."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad, vmap

from fedbench.engine.trainers.torch.lanes import Lanes
from fedbench.engine.trainers.torch.loss import CrossEntropy
from fedbench.tasks.layers import (
    AvgPool2d,
    Conv2d,
    Dropout,
    Flatten,
    Layer,
    Linear,
    MaxPool2d,
    ReLU,
    Residual,
)
from fedbench.tasks.models import Model
from fedbench.tasks.sequences import Embedding, Last
from fedbench.tasks.torch_model import build

COUNT, EXAMPLES, CLASSES = 3, 4, 10
LAYERS: dict[str, tuple[Layer, ...]] = {
    "plain": (Conv2d(2, 5, 3), MaxPool2d(2), ReLU(), Conv2d(5, 4, 2), Flatten(), Linear(16, CLASSES)),
    "with stride and padding": (
        *(Conv2d(2, 5, 3, stride=2, padding=1), ReLU(), Conv2d(5, 6, 3, stride=2, padding=2, bias=False)),
        *(AvgPool2d(2), Flatten(), Linear(6, CLASSES)),
    ),
    "of one position": (Conv2d(2, 3, 1, bias=False), Conv2d(3, 4, 1, stride=3), ReLU(), Flatten(), Linear(36, CLASSES)),
    "of the whole image": (ReLU(), Conv2d(2, 3, 9, padding=1), Conv2d(3, 3, 2), Flatten(), Linear(3, CLASSES)),
    "residual": (
        Residual((Conv2d(2, 2, 3, padding=1), ReLU(), Conv2d(2, 2, 1))),
        Residual((Conv2d(2, 3, 3, padding=1),), (Conv2d(2, 3, 1),)),
        *(MaxPool2d(4), Flatten(), Linear(12, CLASSES)),
    ),
    "sequence": (Last(6), Embedding(7, 3), Last(5), Flatten(), Linear(15, CLASSES)),
    "pooled first": (AvgPool2d(2), Residual((ReLU(),)), Flatten(), Linear(32, 6), ReLU(), Linear(6, CLASSES)),
}


def lanes_of(model: Model, dtype: torch.dtype, smoothing: float = 0.0) -> Lanes:
    lanes = Lanes(model, COUNT, EXAMPLES, dtype, torch.device("cpu"), CrossEntropy(smoothing))
    for lane in range(COUNT):
        lanes.flat[lane] = torch.from_numpy(model.x0(lane, np.float64))
    return lanes


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_those_of_vmap(name: str, smoothing: float, dtype: torch.dtype, tolerance: float) -> None:
    """Relative to the largest of a tensor. The last lane has a short batch."""
    shape = (9,) if name == "sequence" else (2, 8, 8)
    layers = LAYERS[name]
    model = Model(name, shape, layers)
    lanes = lanes_of(model, dtype, smoothing)
    inputs, generator = lanes.inputs(1), torch.Generator().manual_seed(1)
    x = torch.randn(COUNT, EXAMPLES, *shape, generator=generator, dtype=torch.float64)
    inputs.features.copy_(x if name != "sequence" else (x.abs() * 3).floor().clamp(max=6))
    inputs.weights.fill_(1 / EXAMPLES)
    inputs.weights[-1] = torch.tensor([0.5, 0.5, 0, 0])
    labels = torch.randint(CLASSES, (COUNT, EXAMPLES), generator=generator)
    inputs.slopes.copy_(CrossEntropy(smoothing).slopes(labels, CLASSES, inputs.weights))
    got = lanes.backward(inputs)

    module = build(model, dtype)

    def loss(parameters: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        logits = functional_call(module, parameters, (x,))
        return (CrossEntropy(smoothing).terms(logits, y) * w).sum()

    parameters = {p.name: lanes.flat[:, p.offset : p.offset + p.size].view(-1, *p.shape) for p in model.parameters}
    want = vmap(grad(loss))(parameters, inputs.features, labels, inputs.weights)
    for part in model.parameters:
        a, b = got[:, part.offset : part.offset + part.size], want[part.name].flatten(1)
        assert (a - b).abs().max() <= tolerance * b.abs().max(), part.name
        assert b.abs().max() > 1e-4


def test_masks_are_taken_forward_by_forward() -> None:
    """A rule with an anchor has two of them in a step; then the next step begins."""
    lanes = lanes_of(
        Model("dropped", (6,), (Dropout(0.5), Linear(6, 8), ReLU(), Dropout(0.5), Linear(8, CLASSES))), torch.float64
    )
    inputs = lanes.inputs(2)
    inputs.features.fill_(1.0)
    inputs.slopes.fill_(1.0)
    inputs.of_forwards[0] = 1.0
    found = [lanes.backward(inputs).clone() for _ in range(2)]
    inputs.begin()
    found.append(lanes.backward(inputs).clone())
    assert found[0].equal(found[2])
    assert found[0].any()
    assert not found[1][:, :-CLASSES].any(), "all is dropped but the last bias"
