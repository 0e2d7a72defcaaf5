"""Local training of small classifiers in C++: one network over one set of examples, jobs shared out
to threads.

The order of examples and the dropout masks of a job come from its own streams, so its result
depends on neither threads nor other jobs. Arrays are float32 or float64, C-contiguous, of one
dtype. csrc/include/fedbench/train.hpp states the arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench import _core
from fedbench.errors import UsageError

Floats = npt.NDArray[np.floating[Any]]
Rows = npt.NDArray[np.int64]

_TRAINER: dict[Any, Any] = {np.dtype(np.float32): _core.LocalTrainerFloat32, np.dtype(np.float64): _core.LocalTrainerFloat64}
_SCORE: dict[Any, Any] = {np.dtype(np.float32): _core.score_float32, np.dtype(np.float64): _core.score_float64}


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """A layer by its kind: linear, conv2d, max_pool2d, relu, flatten, dropout, dropout2d, last (of
    a vector its last `outputs` numbers) or embedding (of `inputs` symbols, in `outputs` numbers
    each); what a kind does not need stays 0 or 1."""

    kind: str
    inputs: int = 0
    outputs: int = 0
    kernel: int = 0
    stride: int = 1
    padding: int = 0
    p: float = 0.0


@dataclass(frozen=True, slots=True)
class LocalJob:
    """A local run of `steps` steps from `start` (d,), and where its results go (d,).

    h = g(y) - g(anchor) + weight_decay * y;  y <- y - lr * (h + prox * (y - start) + correction)

    `shard` holds the client's rows of the examples. `end` gets the model; `first_gradient` h of the
    first step, `mean_gradient` the mean of h, `full_gradient` g(start) + weight_decay * start over
    the whole shard, without dropout. With 0 steps, end is start, first and mean are 0.
    """

    client: int
    k: int
    steps: int
    shard: Rows
    start: Floats
    end: Floats
    lr: float
    weight_decay: float = 0.0
    prox: float = 0.0
    correction: Floats | None = None
    anchor: Floats | None = None
    first_gradient: Floats | None = None
    mean_gradient: Floats | None = None
    full_gradient: Floats | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule of several jobs: `start`, `correction` and `anchor` (d,) and the numbers as in
    LocalJob."""

    start: Floats
    lr: float
    weight_decay: float = 0.0
    prox: float = 0.0
    correction: Floats | None = None
    anchor: Floats | None = None


@dataclass(frozen=True, slots=True)
class JobColumns:
    """Jobs of clients, of which one vector each is asked for: "delta" (end - start),
    "first_gradient" or "mean_gradient". Job j trains `client[j]` under `rules[rule[j]]`, and its
    vector goes to row `row[j]` of `out[matrix[j]]`, a matrix (rows, d)."""

    client: npt.NDArray[np.int32]
    k: npt.NDArray[np.int32]
    steps: npt.NDArray[np.int32]
    rules: Sequence[Rule]
    rule: npt.NDArray[np.int64]
    out: Sequence[Floats]
    matrix: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]
    sends: str = "delta"


class LocalTrainer:
    """Threads that train jobs of a network on examples x (n, *input_shape) with labels y (n,)
    int64.

    The examples are not copied, and cannot be resized while the trainer lives; labels and shards
    are copied. One caller at a time may be in `train`, `gradient` and `logits`, and one in
    `forward` and `pullback`, which are of one thread: RuntimeError for another one.

    Parameters are one vector (dim,): layer by layer, weight then bias, in C order. `batch_size`
    examples a step, the last of an epoch may be fewer. TypeError for a wrong dtype, shape or
    layout; ValueError for layers that do not fit, naming the layer, a label that is no class, a
    feature that should be a symbol and is none, an `isa` that this machine does not have, or a
    number of a job that is out of range; IndexError for a shard that is empty or names no example.
    """

    def __init__(
        self,
        layers: Sequence[LayerSpec],
        x: Floats,
        y: Rows,
        *,
        seed: int,
        batch_size: int,
        threads: int = 1,
        isa: str = "",
    ) -> None:
        if x.dtype not in _TRAINER:
            raise TypeError(f"x: expected float32 or float64, got {x.dtype}")
        if batch_size < 1 or threads < 1:
            raise UsageError(f"batch_size and threads: must be >= 1, got {batch_size} and {threads}")
        shape = x.shape[1:]
        self.dtype = x.dtype
        self._core = _TRAINER[x.dtype](layers, shape, _flat(x), y, seed, batch_size, threads, isa)

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return int(self._core.dim)

    @property
    def isa(self) -> str:
        """The instruction set that computes: portable, avx2 or avx512."""
        return str(self._core.isa)

    def train(self, jobs: Sequence[LocalJob], progress: Callable[[int], None] | None = None) -> None:
        """All jobs, the longest first, into their arrays. `progress` is told the number of finished
        jobs ten times a second; what it raises, and Ctrl-C, stops the jobs that run and is
        raised."""
        self._core.train(jobs, progress)

    def set_shards(self, rows: Rows, begin: Rows, count: Rows) -> None:
        """Client i has the examples rows[begin[i]:begin[i] + count[i]], for `train_columns`; they
        are copied. ValueError for what is not within `rows`."""
        self._core.set_shards(rows, begin, count)

    def train_columns(self, jobs: JobColumns) -> None:
        """All jobs, as `train` does. ValueError for a number of a job that is out of range, two
        jobs with one place, or a vector that there is not."""
        self._core.train_columns(
            *(jobs.client, jobs.k, jobs.steps, jobs.rules, jobs.rule), *(jobs.out, jobs.matrix, jobs.row), jobs.sends
        )

    def gradient(self, x: Floats, rows: Rows) -> Floats:
        """Gradient (dim,) of the mean cross-entropy over rows of the examples, without dropout,
        summed in float64."""
        out = np.empty_like(x)
        self._core.gradient(x, rows, out)
        return out

    def logits(self, x: Floats, features: Floats, classes: int) -> Floats:
        """Logits (n, classes) of features (n, *input_shape) under the model x (dim,), without
        dropout."""
        out = np.empty((len(features), classes), self.dtype)
        self._core.logits(x, _flat(features), out)
        return out

    def forward(self, x: Floats, features: Floats, classes: int, masks: tuple[int, int, int, int] | None) -> tuple[Floats, int]:
        """Logits like `logits`, kept for one `pullback`, and the dropout words used. `masks` (seed,
        client, k, words to skip) names the stream of the dropout masks; None is without dropout."""
        out = np.empty((len(features), classes), self.dtype)
        return out, int(self._core.forward(x, _flat(features), masks, out))

    def pullback(self, dlogits: Floats) -> Floats:
        """Gradient (dim,) of sum(dlogits * logits) of the last `forward`."""
        out = np.empty(self.dim, self.dtype)
        self._core.pullback(dlogits, out)
        return out


def score(logits: Floats, labels: Rows) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Per row of logits (n, C): cross-entropy, and 1.0 where the first of the largest logits is
    that of the label (n,)."""
    if logits.dtype not in _SCORE:
        raise TypeError(f"logits: expected float32 or float64, got {logits.dtype}")
    loss, right = _SCORE[logits.dtype](logits, labels)
    return loss, right


def _flat(x: Floats) -> Floats:
    """Examples as rows of features: a view. What is not C-contiguous goes on as it is, and is
    refused there."""
    return x.reshape(len(x), math.prod(x.shape[1:])) if x.flags.c_contiguous else x
