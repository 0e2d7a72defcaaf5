"""Cases of local SGD with the small models of the field: a few clients, each with its own
mini-batches. Gathering the batches is part of the work.

Our trainer is measured beside three others: the loop in papers' code (nn.Module, DataLoader,
CrossEntropyLoss, optim.SGD), the fastest way that was found in torch (one flat parameter vector,
index_select, channels-last for convolutions), both on one thread, and a large matrix product of as
many operations. Cases that end in -2w give our trainer two threads, and torch still one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from fedbench.bench.case import Case, Outcome, Ready, Rows, Singles, Way, draws
from fedbench.bench.server import TORCH
from fedbench.bench.train_ways import eager, flat, product
from fedbench.kernels.random import draw_batches
from fedbench.kernels.train import LayerSpec, LocalJob, LocalTrainer, Rule

CLIENTS, EXAMPLES, SEED, RATE = 4, 600, 7, 0.01
NEEDS = "fedbench.kernels.train:LocalTrainer"


@dataclass(frozen=True)
class Net:
    """A network: its layers, the shape of an example, and the examples of a step."""

    layers: tuple[LayerSpec, ...]
    shape: tuple[int, ...]
    classes: int
    batch: int


def conv(inputs: int, outputs: int) -> LayerSpec:
    return LayerSpec("conv2d", inputs, outputs, 5)


def linear(inputs: int, outputs: int) -> LayerSpec:
    return LayerSpec("linear", inputs, outputs)


POOL, RELU, FLATTEN = LayerSpec("max_pool2d", kernel=2), LayerSpec("relu"), LayerSpec("flatten")
IMAGE = (1, 28, 28)
SOFTMAX_A9A = Net((linear(123, 2),), (123,), 2, 20)
SOFTMAX = Net((FLATTEN, linear(784, 10)), IMAGE, 10, 25)
MLP = Net((FLATTEN, linear(784, 200), RELU, linear(200, 10)), IMAGE, 10, 10)
CNN_21840 = Net(
    (
        *(conv(1, 10), POOL, RELU),
        *(conv(10, 20), LayerSpec("dropout2d", p=0.5), POOL, RELU, FLATTEN),
        *(linear(320, 50), RELU, LayerSpec("dropout", p=0.5), linear(50, 10)),
    ),
    IMAGE,
    10,
    25,
)
CNN_582026 = Net(
    (conv(1, 32), POOL, RELU, conv(32, 64), POOL, RELU, FLATTEN, linear(1024, 512), RELU, linear(512, 10)), IMAGE, 10, 10
)
CHARS = Net(
    (LayerSpec("last", outputs=20), LayerSpec("embedding", 80, 8), linear(160, 128), RELU, linear(128, 80)), (80,), 80, 20
)


class Given(NamedTuple):
    net: Net
    steps: int
    x: Singles  # (CLIENTS * EXAMPLES, *shape)
    y: Rows
    start: Singles  # (dim,)
    batches: list[list[Rows]]  # rows of every step of every client

    @property
    def random_masks(self) -> bool:
        """Whether there is dropout. torch draws its own masks, so the ends of training cannot be
        compared then."""
        return any(layer.kind.startswith("dropout") for layer in self.net.layers)

    @property
    def flops(self) -> int:
        """The operations of a call: forward, and gradients of the weights and of the inputs, but
        for the inputs of the first layer. A multiply-add counts as two."""
        return CLIENTS * self.steps * self.net.batch * flops_per_example(self.net)


def flops_per_example(net: Net) -> int:
    sides, total, passes = net.shape[1:], 0, 2
    for layer in net.layers:
        if layer.kind == "max_pool2d":
            sides = tuple(side // layer.kernel for side in sides)
        elif layer.kind == "conv2d":
            sides = tuple(side - layer.kernel + 1 for side in sides)
            total += 2 * passes * layer.inputs * layer.outputs * layer.kernel**2 * math.prod(sides)
        elif layer.kind == "linear":
            total += 2 * passes * layer.inputs * layer.outputs
        elif layer.kind != "embedding":
            continue
        passes = 3
    return total


def tensor_sizes(net: Net) -> list[tuple[int, int]]:
    """Returns the size and the inputs of one output of every tensor, weights and biases in
    order."""
    sizes = []
    for layer in net.layers:
        if layer.kind == "embedding":
            sizes.append((layer.inputs * layer.outputs, 1))
        if layer.kind in ("linear", "conv2d"):
            window = layer.inputs * (layer.kernel**2 if layer.kind == "conv2d" else 1)
            sizes += [(layer.outputs * window, window), (layer.outputs, window)]
    return sizes


def inputs(size: tuple[Net, int]) -> Given:
    net, steps = size
    stream = draws("train", net.layers, net.batch)
    x = stream.standard_normal((CLIENTS * EXAMPLES, *net.shape), np.float32)
    symbols = sum(layer.inputs for layer in net.layers if layer.kind == "embedding")
    if symbols:
        x = np.floor(np.minimum(np.abs(x) / 3, 0.999) * symbols).astype(np.float32)
    y = stream.integers(0, net.classes, CLIENTS * EXAMPLES)
    start = np.concatenate([stream.uniform(-1, 1, n) / np.sqrt(window) for n, window in tensor_sizes(net)]).astype(np.float32)
    batches = []
    for client in range(CLIENTS):
        rows, offsets = draw_batches(SEED, client, 0, EXAMPLES, net.batch, steps)
        batches.append([client * EXAMPLES + part for part in np.split(rows, offsets[1:-1])])
    return Given(net, steps, x, y, start, batches)


def ours(given: Given, dtype: type[np.floating] = np.float32, threads: int = 1) -> Ready:
    x, start = given.x.astype(dtype), given.start.astype(dtype)
    trainer = LocalTrainer(given.net.layers, x, given.y, seed=SEED, batch_size=given.net.batch, threads=threads)
    ends = np.empty((CLIENTS, trainer.dim), dtype)
    shards = np.arange(CLIENTS * EXAMPLES).reshape(CLIENTS, EXAMPLES)
    jobs = [LocalJob(client, 0, given.steps, shards[client], Rule(start, RATE), ends[client]) for client in range(CLIENTS)]

    def read(_: None) -> Outcome:
        return {"ends": ends, "logits": trainer.logits(start, x[: given.net.batch], given.net.classes), "flops": given.flops}

    return Ready(lambda: trainer.train(jobs), read)


def truth(given: Given) -> Outcome:
    """Returns the outcome of training in float64. Tests show that torch computes the same in
    float64."""
    return ours(given, np.float64).outcome()


def _case(name: str, net: Net, steps: int, threads: int, *versus: Way[Given]) -> Case[tuple[Net, int], Given]:
    return Case(
        name=name,
        group="train",
        size=(net, steps),
        small=(net, 2),
        inputs=inputs,
        ours=Way("fedbench", partial(ours, threads=threads), (NEEDS,)),
        versus=versus,
        reference=truth,
        tolerance=1e-3,  # a tie of a maximum may fall the other way, and then all later steps differ a little
        unit="client step",
        units=lambda size: CLIENTS * size[1],
    )


EAGER, FLAT = Way("torch-eager-1t", eager, TORCH), Way("torch-best", flat, TORCH)
NETS = {
    "train-softmax-123x2-b20": (SOFTMAX_A9A, 1000),
    "train-softmax-784x10-b25": (SOFTMAX, 200),
    "train-mlp-784x200x10-b10": (MLP, 100),
    "train-chars-mlp-b20": (CHARS, 100),
    "train-cnn-21840-b25": (CNN_21840, 25),
    "train-cnn-582026-b10": (CNN_582026, 8),
}
CASES = tuple(
    case
    for name, size in NETS.items()
    for case in (
        _case(name, *size, 1, EAGER, FLAT, Way("sgemm", product, TORCH, limit=True)),
        _case(f"{name}-2w", *size, 2, EAGER),
    )
)
