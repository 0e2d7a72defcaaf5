"""The cases of train.py as torch programs write them, on one thread. torch is imported when a way
starts, so this file needs numpy only."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from fedbench.bench.case import Outcome, Ready

if TYPE_CHECKING:
    from torch import Tensor, nn

    from fedbench.bench.train import Given, Net
    from fedbench.kernels.train import LayerSpec
    from fedbench.types import Vector

RATE = 0.01


def module_of(net: Net) -> nn.Sequential:
    from torch import nn

    class Last(nn.Module):
        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

        def forward(self, x: Tensor) -> Tensor:
            return x[:, -self.count :]

    class Embedded(nn.Embedding):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x.long()).flatten(1)

    makers: dict[str, Callable[[LayerSpec], nn.Module]] = {
        "linear": lambda row: nn.Linear(row.inputs, row.outputs),
        "conv2d": lambda row: nn.Conv2d(row.inputs, row.outputs, row.kernel),
        "max_pool2d": lambda row: nn.MaxPool2d(row.kernel),
        "relu": lambda row: nn.ReLU(),
        "flatten": lambda row: nn.Flatten(),
        "last": lambda row: Last(row.outputs),
        "embedding": lambda row: Embedded(row.inputs, row.outputs),
        "dropout": lambda row: nn.Dropout(row.p),
        "dropout2d": lambda row: nn.Dropout2d(row.p),
    }
    return nn.Sequential(*(makers[row.kind](row) for row in net.layers))


def set_parameters(module: nn.Module, x: Vector) -> None:
    import torch

    torch.nn.utils.vector_to_parameters(torch.from_numpy(x.copy()), module.parameters())


def parameters(module: nn.Module) -> Vector:
    import torch

    return torch.nn.utils.parameters_to_vector(module.parameters()).detach().numpy()


def trained(module: nn.Module, start: Tensor, batches: Iterable[tuple[Tensor, Tensor]], lr: float) -> Tensor:
    """Returns the end (d,) of plain SGD from `start` (d,) on the mean cross-entropy of batches, in
    the usual loop."""
    import torch

    torch.nn.utils.vector_to_parameters(start.clone(), module.parameters())
    optimizer, loss = torch.optim.SGD(module.parameters(), lr=lr), torch.nn.CrossEntropyLoss()
    for x, y in batches:
        optimizer.zero_grad()
        loss(module(x), y).backward()
        optimizer.step()
    return torch.nn.utils.parameters_to_vector(module.parameters()).detach()


def _outcome(given: Given, module: nn.Module, ends: list[Tensor]) -> Outcome:
    """Returns the ends of training, or only the logits of the start if torch draws its own dropout
    masks."""
    import torch

    if not given.random_masks:
        return {"ends": np.stack([end.numpy() for end in ends])}
    set_parameters(module, given.start)
    module.eval()
    with torch.no_grad():
        logits = module(torch.from_numpy(given.x[: given.net.batch])).numpy()
    module.train()
    return {"logits": logits}


def eager(given: Given) -> Ready:
    """Trains in the usual loop, with a DataLoader."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    module = module_of(given.net)
    data = TensorDataset(torch.from_numpy(given.x), torch.from_numpy(given.y))
    loaders = [DataLoader(data, batch_sampler=[part.tolist() for part in client]) for client in given.batches]
    start = torch.from_numpy(given.start)
    return Ready(lambda: [trained(module, start, loader, RATE) for loader in loaders], lambda ends: _outcome(given, module, ends))


def flat(given: Given) -> Ready:
    """Trains with parameters and gradients that are views of one vector each, with batches gathered
    by index, and with images that are channels-last."""
    import torch
    from torch.nn import functional as F

    module = module_of(given.net)
    x, y, start = torch.from_numpy(given.x), torch.from_numpy(given.y), torch.from_numpy(given.start)
    images = any(row.kind == "conv2d" for row in given.net.layers)
    if images:
        x = x.contiguous(memory_format=torch.channels_last)
    vector, gradient = start.clone(), torch.zeros_like(start)
    sizes = itertools.accumulate((p.numel() for p in module.parameters()), initial=0)
    for parameter, (begin, end) in zip(module.parameters(), itertools.pairwise(sizes), strict=True):
        parameter.data, parameter.grad = vector[begin:end].view_as(parameter), gradient[begin:end].view_as(parameter)
    batches = [[torch.from_numpy(part) for part in client] for client in given.batches]

    def act() -> list[Tensor]:
        ends = []
        for client in batches:
            vector.copy_(start)
            for rows in client:
                gradient.zero_()
                F.cross_entropy(module(x.index_select(0, rows)), y.index_select(0, rows)).backward()  # type: ignore[no-untyped-call]
                vector.add_(gradient, alpha=-RATE)
            ends.append(vector.clone())
        return ends

    def read(ends: list[Tensor]) -> Outcome:
        kept = vector.clone()
        found = _outcome(given, module, ends)
        vector.copy_(kept)
        return found

    return Ready(act, read)


def product(given: Given) -> Ready:
    """Computes a matrix product (s, k) (k, s) of as many operations, with s = 256, 512 or 1024 so
    that it is nearly a cube."""
    import torch

    side = max((s for s in (512, 1024) if given.flops >= s**3), default=256)
    depth = max(1, round(given.flops / (2 * side * side)))
    a, b, out = torch.ones(side, depth), torch.ones(depth, side), torch.empty(side, side)
    return Ready(lambda: torch.mm(a, b, out=out), lambda _: {"flops": given.flops})
