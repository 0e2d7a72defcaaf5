"""Local training of small classifiers in C++: one network and one set of examples, with jobs that
are shared out to threads.

The order of examples and the dropout masks of a job come from its own random streams, so its result
depends on neither threads nor other jobs. Arrays are float32 or float64, C-contiguous, of one
dtype. csrc/include/fedbench/train.hpp states the arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedbench import _core
from fedbench.errors import UsageError

Floats = npt.NDArray[np.floating]
Rows = npt.NDArray[np.int64]

_TRAINER = {np.dtype(np.float32): _core.LocalTrainerFloat32, np.dtype(np.float64): _core.LocalTrainerFloat64}


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """A layer by its kind: linear, conv2d, max_pool2d, relu, flatten, dropout, dropout2d, last or
    embedding. The layer "last" takes the last `outputs` numbers of a vector, and "embedding" makes
    `outputs` numbers of each of `inputs` symbols. Numbers that a kind does not need keep their
    defaults."""

    kind: str
    inputs: int = 0
    outputs: int = 0
    kernel: int = 0
    stride: int = 1
    padding: int = 0
    p: float = 0.0


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule of local steps from `start` (d,), with the gradient g of a mini-batch:

        h = g(y) - g(anchor) + weight_decay * y
        y <- y - lr * (h + prox * (y - start) + correction)

    `correction` and `anchor` are vectors (d,), or None without their terms.
    """

    start: Floats
    lr: float
    weight_decay: float = 0.0
    prox: float = 0.0
    correction: Floats | None = None
    anchor: Floats | None = None


@dataclass(frozen=True, slots=True)
class LocalJob:
    """A local run of `steps` steps by a rule, and the arrays (d,) that get its results.

    `shard` has the client's rows of the examples. `end` gets the model, `first_gradient` the h of
    the first step, and `mean_gradient` the mean of h. `full_gradient` gets the h of `start` without
    anchor, over the whole shard and without dropout, summed in float64. With 0 steps, end is start,
    and the first and the mean gradient are 0.
    """

    client: int
    k: int
    steps: int
    shard: Rows
    rule: Rule
    end: Floats
    first_gradient: Floats | None = None
    mean_gradient: Floats | None = None
    full_gradient: Floats | None = None


@dataclass(frozen=True, slots=True)
class JobColumns:
    """Jobs as columns, each of which has one vector as its result. Job j trains `client[j]` under
    `rules[rule[j]]`, and its vector goes to row `row[j]` of the matrix `out[matrix[j]]` (rows, d).
    `sends` says which vector that is: "delta" (end - start), "first_gradient" or
    "mean_gradient"."""

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

    The examples are not copied, and cannot be resized while the trainer lives. Labels and shards
    are copied. Only one caller at a time may use `train` and `logits`, and only one `forward` and
    `pullback`, which use one thread; another caller gets a RuntimeError.

    The parameters are one vector (dim,): layer by layer, weight then bias, in C order. A step takes
    `batch_size` examples; the last step of an epoch may take fewer. Every epoch has an order of its
    own, or that of the shard if they are not `shuffled`.

    With `fill` (channels,), of the dtype of x, the images of a job's steps change: they get
    `padding` numbers on every side, are cropped to their size, and mirrored, as
    fedbench.tasks.augment draws it. Full gradients and logits are of the images as they are.

    Raises:
        TypeError: an array has a wrong dtype, shape or layout.
        ValueError: layers do not fit (the message names the layer), a label is no class, a feature
            should be a symbol and is none, `fill` is given for other examples than images, this
            machine does not have the instruction set `isa`, or a number of a job is out of range.
        IndexError: a shard is empty or has a row that is no example.
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
        shuffled: bool = True,
        padding: int = 0,
        fill: Floats | None = None,
    ) -> None:
        if x.dtype not in _TRAINER:
            raise TypeError(f"x: expected float32 or float64, got {x.dtype}")
        if batch_size < 1 or threads < 1:
            raise UsageError(f"batch_size and threads: must be >= 1, got {batch_size} and {threads}")
        if padding and fill is None:
            raise UsageError(f"padding: must be 0 without fill, which says what is put around images, got {padding}")
        shape = x.shape[1:]
        self.dtype = x.dtype
        self._core = _TRAINER[x.dtype](layers, shape, _flat(x), y, seed, batch_size, threads, isa, shuffled, padding, fill)

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return self._core.dim

    @property
    def isa(self) -> str:
        """The instruction set that computes: portable, avx2 or avx512."""
        return self._core.isa

    def train(self, jobs: Sequence[LocalJob], progress: Callable[[int], None] | None = None) -> None:
        """Trains all jobs, the longest first, and writes the results into their arrays.

        `progress` is called ten times a second with the number of finished jobs. An exception from
        it, or Ctrl-C, stops the jobs that run and is raised here.
        """
        self._core.train(jobs, progress)

    def set_shards(self, rows: Rows, begin: Rows, count: Rows) -> None:
        """Copies which examples the clients have, for `train_columns`: client i has
        rows[begin[i]:begin[i] + count[i]]. ValueError if that is not within `rows`."""
        self._core.set_shards(rows, begin, count)

    def train_columns(self, jobs: JobColumns) -> None:
        """Trains all jobs, as `train` does. ValueError if a number of a job is out of range, two
        jobs write to one row, or a rule, a matrix or the vector `sends` does not exist."""
        self._core.train_columns(
            *(jobs.client, jobs.k, jobs.steps, jobs.rules, jobs.rule), *(jobs.out, jobs.matrix, jobs.row), jobs.sends
        )

    def logits(self, models: Floats, features: Floats, classes: int) -> Floats:
        """Returns the logits (.., n, classes) of features (n, *input_shape) under models (.., dim),
        without dropout. The features are read once for all models."""
        several, dim = models.shape[:-1], models.shape[-1]
        out = np.empty((*several, len(features), classes), self.dtype)
        self._core.logits(models.reshape(-1, dim), _flat(features), out.reshape(-1, classes))
        return out

    def forward(self, x: Floats, features: Floats, classes: int, masks: tuple[int, int, int, int] | None) -> tuple[Floats, int]:
        """Returns logits as `logits` does, and the number of random words that dropout used. Keeps
        what one `pullback` needs.

        Args:
            x: the model (dim,).
            features: (n, *input_shape).
            classes: how many logits a row has.
            masks: the random stream of the dropout masks (seed, client, k, words to skip); None is
                without dropout.
        """
        out = np.empty((len(features), classes), self.dtype)
        return out, self._core.forward(x, _flat(features), masks, out)

    def pullback(self, dlogits: Floats) -> Floats:
        """Returns the gradient (dim,) of sum(dlogits * logits) of the last `forward`."""
        out = np.empty(self.dim, self.dtype)
        self._core.pullback(dlogits, out)
        return out


def score(logits: Floats, labels: Rows) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Returns for every row of logits (n, C) the cross-entropy, and 1.0 if the first of the largest
    logits is that of the label, else 0.0."""
    if logits.dtype not in _TRAINER:
        raise TypeError(f"logits: expected float32 or float64, got {logits.dtype}")
    return _core.score(logits, labels)


def _flat(x: Floats) -> Floats:
    """Returns examples as rows of features, which are a view. An array that is not C-contiguous is
    returned as it is, and the core refuses it."""
    return x.reshape(len(x), math.prod(x.shape[1:])) if x.flags.c_contiguous else x
