"""Networks for the native trainer: drawn at random, and as formulas in torch's float64 and
automatic gradients."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from hypothesis import strategies as st
from torch.nn import functional as F

from fedbench.kernels.random import Purpose, RandomStream, draw_batches
from fedbench.kernels.train import LayerSpec, LocalJob, LocalTrainer, Rule

torch.set_num_threads(1)

Array = npt.NDArray[Any]
SEED = 5


def linear(inputs: int, outputs: int) -> LayerSpec:
    return LayerSpec("linear", inputs, outputs)


def conv(inputs: int, outputs: int, kernel: int, stride: int = 1, padding: int = 0) -> LayerSpec:
    return LayerSpec("conv2d", inputs, outputs, kernel, stride, padding)


def pool(kernel: int) -> LayerSpec:
    return LayerSpec("max_pool2d", kernel=kernel)


def last(count: int) -> LayerSpec:
    return LayerSpec("last", outputs=count)


def embedding(symbols: int, width: int) -> LayerSpec:
    return LayerSpec("embedding", symbols, width)


RELU, FLATTEN = LayerSpec("relu"), LayerSpec("flatten")
DROPOUT, DROPOUT2D = LayerSpec("dropout", p=0.3), LayerSpec("dropout2d", p=0.4)


@dataclass(frozen=True)
class Net:
    """Layers on examples of `shape`, with examples from a seed."""

    shape: tuple[int, ...]
    layers: tuple[LayerSpec, ...]
    classes: int

    def data(self, n: int = 53, dtype: Any = np.float64, seed: int = 0) -> tuple[Array, Array]:
        random = np.random.default_rng(seed)
        symbols = next((layer.inputs for layer in self.layers if layer.kind == "embedding"), 0)
        x = random.integers(0, symbols, (n, *self.shape)) if symbols else random.standard_normal((n, *self.shape))
        return x.astype(dtype), random.integers(0, self.classes, n)

    @property
    def dim(self) -> int:
        return sum(math.prod(weight) + biases(layer) for layer in self.layers if (weight := weight_shape(layer)))

    def start(self, dtype: Any = np.float64, seed: int = 1) -> Array:
        """Parameters as large as torch's defaults."""
        random = np.random.default_rng(seed)
        parts = []
        for layer in self.layers:
            if weight := weight_shape(layer):
                bound = 1 / math.sqrt(math.prod(weight[1:]))
                parts.append(random.uniform(-bound, bound, math.prod(weight) + biases(layer)))
        return np.concatenate(parts).astype(dtype)

    def trainer(self, batch_size: int = 7, n: int = 53, dtype: Any = np.float64, **options: Any) -> LocalTrainer:
        return LocalTrainer(self.layers, *self.data(n, dtype), seed=SEED, batch_size=batch_size, **options)

    # ---- the same by formulas ----

    def logits(self, w: torch.Tensor, x: torch.Tensor, words: RandomStream | None = None) -> torch.Tensor:
        """Logits of x (n, ..) under the flat parameters w; with dropout if there are words for
        it."""
        at = 0
        for layer in self.layers:
            weight = bias = w[:0]
            if shape := weight_shape(layer):
                weight, bias = w[at : at + math.prod(shape)].reshape(shape), w[at + math.prod(shape) :][: shape[0]]
                at += math.prod(shape) + biases(layer)
            match layer.kind:
                case "linear":
                    x = x @ weight.T + bias
                case "conv2d":
                    x = F.conv2d(x, weight, bias, layer.stride, layer.padding)
                case "max_pool2d":
                    x = F.max_pool2d(x, layer.kernel)
                case "relu":
                    x = F.relu(x)
                case "flatten":
                    x = x.flatten(1)
                case "last" | "embedding":
                    x = x[:, -layer.outputs :] if layer.kind == "last" else F.embedding(x.long(), weight).flatten(1)
                case _ if words is not None:
                    x = x * mask(layer, tuple(x.shape), words)
        return x

    def gradient(self, y: Array, x: Array, labels: Array, words: RandomStream | None = None) -> Array:
        """Of the mean cross-entropy over the examples, at y."""
        w = torch.tensor(y, requires_grad=True)
        F.cross_entropy(self.logits(w, torch.tensor(x), words), torch.tensor(labels)).backward()
        assert w.grad is not None
        return w.grad.numpy()

    def local(self, job: LocalJob, batch_size: int, dtype: Any = np.float64) -> dict[str, Array]:
        """What LocalJob says, step by step, in float64 on examples that were rounded to dtype."""
        x, labels = self.data(dtype=dtype)
        x = x.astype(np.float64)
        rule, hs = job.rule, []
        y = rule.start.copy()
        words = RandomStream(SEED, Purpose.dropout, job.client, job.k)
        rows, offsets = draw_batches(SEED, job.client, job.k, len(job.shard), batch_size, job.steps)
        for begin, end in itertools.pairwise(offsets.tolist()):
            batch = job.shard[rows[begin:end]]
            g = self.gradient(y, x[batch], labels[batch], words)
            if rule.anchor is not None:
                g = g - self.gradient(rule.anchor, x[batch], labels[batch], words)
            hs.append(g + rule.weight_decay * y)
            y = y - rule.lr * (hs[-1] + rule.prox * (y - rule.start) + (0 if rule.correction is None else rule.correction))
        full = self.gradient(rule.start, x[job.shard], labels[job.shard]) + rule.weight_decay * rule.start
        zero = np.zeros_like(y)
        return {
            "end": y,
            "first_gradient": hs[0] if hs else zero,
            "mean_gradient": np.mean(hs, axis=0) if hs else zero,
            "full_gradient": full,
        }


def weight_shape(layer: LayerSpec) -> tuple[int, ...]:
    """Outputs first; empty for a layer without parameters."""
    shapes = {
        "linear": (layer.outputs, layer.inputs),
        "conv2d": (layer.outputs, layer.inputs, layer.kernel, layer.kernel),
        "embedding": (layer.inputs, layer.outputs),
    }
    return shapes.get(layer.kind, ())


def biases(layer: LayerSpec) -> int:
    return 0 if layer.kind == "embedding" else layer.outputs


def mask(layer: LayerSpec, shape: tuple[int, ...], words: RandomStream) -> torch.Tensor:
    """One word per element, or per channel of an example: kept if word >= p 2^32, and then scaled
    by 1 / (1 - p)."""
    shape = (*shape[:2], 1, 1) if layer.kind == "dropout2d" else shape
    kept = words.words(math.prod(shape)) >= layer.p * 2.0**32
    return torch.tensor(np.where(kept, 1 / (1 - layer.p), 0.0).reshape(shape))


BY_PRODUCTS = ("first_gradient", "mean_gradient", "full_gradient")


def changed(job: LocalJob, **changes: Any) -> LocalJob:
    """The job with other values of its own fields or of its rule's."""
    of_rule = {name: changes.pop(name) for name in list(changes) if hasattr(job.rule, name)}
    return replace(job, rule=replace(job.rule, **of_rule), **changes)


def with_outputs(job: LocalJob, names: Sequence[str] = BY_PRODUCTS) -> LocalJob:
    """The job with arrays of its own for `end` and the outputs named, full of what must not
    stay."""
    return replace(job, **{name: np.full_like(job.rule.start, np.nan) for name in ("end", *names)})


def full_gradient(trainer: LocalTrainer, x: Array, shard: Array) -> Array:
    """Returns the gradient (dim,) at x over a shard, that of a job without steps."""
    job = with_outputs(LocalJob(0, 0, 0, shard, Rule(x, 0.0), x), ["full_gradient"])
    trainer.train([job])
    assert job.full_gradient is not None
    return job.full_gradient


# ---- drawn ----


@st.composite
def nets(draw: st.DrawFn, dropout: bool = False) -> Net:
    """Up to five layers on images, then up to three on vectors, and logits that a ReLU may cut."""
    shape = start = draw(st.one_of(st.tuples(st.integers(1, 20)), st.tuples(st.integers(1, 3), *[st.integers(4, 9)] * 2)))
    layers: list[LayerSpec] = []
    while len(shape) == 3 and len(layers) < 5 and draw(st.integers(0, 4)):
        side = min(shape[1:])
        kinds = [
            "relu",
            "conv2d",
            "conv2d",
            *(["dropout", "dropout2d"] if dropout else []),
            *(["max_pool2d"] if side > 1 else []),
        ]
        layer = draw_layer(draw, draw(st.sampled_from(kinds)), shape[0], side)
        layers.append(layer)
        if layer.kind == "conv2d":
            sides = ((s + 2 * layer.padding - layer.kernel) // layer.stride + 1 for s in shape[1:])
            shape = (layer.outputs, *sides)
        elif layer.kind == "max_pool2d":
            shape = (shape[0], *(s // layer.kernel for s in shape[1:]))
    if len(shape) == 3 or draw(st.booleans()):
        layers.append(FLATTEN)
    shape = (math.prod(shape),)
    if all(layer.kind == "flatten" for layer in layers) and draw(st.integers(0, 2)) == 0:
        kept = draw(st.integers(1, shape[0]))
        layers += [last(kept), embedding(draw(st.integers(1, 40)), draw(st.integers(1, 9)))]
        shape = (kept * layers[-1].outputs,)
    for kind in draw(
        st.lists(st.sampled_from(["relu", "linear", "flatten", "last", *(["dropout"] if dropout else [])]), max_size=3)
    ):
        layers.append(draw_layer(draw, kind, shape[0], 1))
        shape = (layers[-1].outputs,) if kind in ("linear", "last") else shape
    classes = draw(st.integers(2, 12))
    end = draw(st.sampled_from([(), (), (RELU,), (FLATTEN,)]))
    return Net(start, (*layers, linear(shape[0], classes), *end), classes)


def draw_layer(draw: st.DrawFn, kind: str, inputs: int, side: int) -> LayerSpec:
    match kind:
        case "linear":
            return linear(inputs, draw(st.integers(1, 21)))
        case "last":
            return last(draw(st.integers(1, inputs)))
        case "conv2d":
            padding = draw(st.integers(0, 2))
            kernel = draw(st.integers(1, min(5, side + 2 * padding)))
            return conv(inputs, draw(st.integers(1, 7)), kernel, draw(st.integers(1, 3)), padding)
        case "max_pool2d":
            return pool(draw(st.integers(2, min(3, side))))
    return {"relu": RELU, "flatten": FLATTEN, "dropout": DROPOUT, "dropout2d": DROPOUT2D}[kind]


# ---- made by hand: every kind of layer, in few examples ----

SOFTMAX = Net((13,), (linear(13, 3),), 3)
MLP = Net((1, 8, 8), (FLATTEN, linear(64, 10), RELU, linear(10, 4)), 4)
SMALL_CNN = Net(
    (1, 10, 10), (conv(1, 6, 3), pool(2), RELU, conv(6, 9, 2), pool(2), RELU, FLATTEN, linear(9, 7), RELU, linear(7, 5)), 5
)
STRIDED = Net((3, 13, 12), (conv(3, 6, 5, 3, 2), RELU, conv(6, 5, 2, 2, 1), FLATTEN, linear(45, 3)), 3)
POOL_FIRST = Net((2, 11, 9), (pool(3), RELU, conv(2, 7, 3, 1, 1), RELU, RELU, pool(2), FLATTEN, RELU, linear(7, 5)), 5)
LEFT_OVER = Net(
    (2, 9, 9), (conv(2, 7, 3, 2, 1), RELU, conv(7, 5, 3, 1, 1), pool(2), FLATTEN, linear(20, 11), RELU, linear(11, 3)), 3
)
WIDE = Net((3,), (linear(3, 2100), RELU, linear(2100, 40), RELU, linear(40, 3)), 3)  # weights in several blocks of a cache
NO_HEAD = Net((2, 5, 6), (RELU, conv(2, 1, 3), FLATTEN), 12)
DROPPED = Net(
    (1, 9, 9),
    (
        conv(1, 6, 3),
        DROPOUT2D,
        pool(2),
        RELU,
        conv(6, 4, 2),
        DROPOUT,
        FLATTEN,
        DROPOUT,
        linear(16, 9),
        RELU,
        DROPOUT,
        linear(9, 4),
    ),
    4,
)
SYMBOLS = Net((11,), (last(7), embedding(5, 9), RELU, linear(63, 12), RELU, linear(12, 4)), 4)
RARE_SYMBOLS = Net((6,), (embedding(200, 3), last(11), linear(11, 3)), 3)  # of every batch most rows are unused
NETS = {
    "symbols": SYMBOLS,
    "rare symbols": RARE_SYMBOLS,
    "softmax": SOFTMAX,
    "mlp": MLP,
    "small cnn": SMALL_CNN,
    "strided": STRIDED,
    "pool first": POOL_FIRST,
    "left over": LEFT_OVER,
    "wide": WIDE,
    "no head": NO_HEAD,
    "dropped": DROPPED,
}
