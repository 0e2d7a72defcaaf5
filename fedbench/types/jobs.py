"""A local training from the job to its result, and the batch of results that an update consumes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fedbench.types.arrays import Integers, Vector, Weights

Want = Literal["first_gradient", "mean_gradient", "full_gradient", "public_logits"]


@dataclass(frozen=True, slots=True)
class Job:
    """One local training. `k` counts the client's own jobs from 0, and `base` is the version from
    which the job starts."""

    client: int
    k: int
    base: int
    steps: int


@dataclass(frozen=True, kw_only=True)
class LocalRule:
    """The rule of a client's local steps, as data:

        h = g(y) - g(anchor) + weight_decay * y
        u = momentum * u + h
        y <- y - lr * (u + prox * (y - start) + correction)

    `prox_form` "l1_squared" replaces the term prox * (y - start) by
    2 * prox * |y - start|_1 * sign(y - start). Terms that are off are not computed. `wants` names
    the by-products that the job's `Work` must have.
    """

    start: Vector
    lr: float
    weight_decay: float = 0.0
    momentum: float = 0.0
    optimizer: Literal["sgd", "adamw"] = "sgd"
    prox: float = 0.0
    prox_form: Literal["l2", "l1_squared"] = "l2"
    correction: Vector | None = None
    anchor: Vector | None = None
    wants: tuple[Want, ...] = ()


class Work:
    """What a job produced: the model at its `end`, `delta` = end - start, the model's `buffers` at
    the end (m,), and the by-products that its rule wanted. `server_seconds` is the host time of the
    work that the server itself did for this job.

    `first_gradient` and `mean_gradient` are the first h and the mean h of the LocalRule, without
    prox and correction; they are zeros if the job has no steps. `full_gradient` is the gradient
    over all examples of the client at the start. `public_logits` are the logits of the end model on
    the public data. Reading a by-product that was not wanted raises a KeyError.
    """

    def __init__(
        self, *, delta: Vector, end: Vector, buffers: Vector, server_seconds: float = 0.0, **by_products: npt.NDArray[Any]
    ) -> None:
        self.delta, self.end, self.buffers = delta, end, buffers
        self.server_seconds = server_seconds
        self.by_products = by_products

    def _wanted(self, name: Want) -> npt.NDArray[Any]:
        if name not in self.by_products:
            raise KeyError(f"work has no {name}: the LocalRule must want it, wants=({name!r},)")
        return self.by_products[name]

    @property
    def first_gradient(self) -> Vector:
        return self._wanted("first_gradient")

    @property
    def mean_gradient(self) -> Vector:
        return self._wanted("mean_gradient")

    @property
    def full_gradient(self) -> Vector:
        return self._wanted("full_gradient")

    @property
    def public_logits(self) -> npt.NDArray[Any]:
        return self._wanted("public_logits")


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The entries that one update consumes, one row each, in arrival order. A job that counts
    several times has several rows. Everything that the jobs sent is an attribute (K, ..) by the
    name that it has in their Reply.

    `staleness` is the version before the update minus `base`. `first` is False in the rows that
    repeat a job.
    """

    clients: Integers
    steps: Integers
    base: Integers
    staleness: Integers
    n: Weights
    p: Weights
    first: npt.NDArray[np.bool_]
    version: int
    sent: Mapping[str, npt.NDArray[Any]]
    base_x: Callable[[int], Vector]

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        sent: Mapping[str, npt.NDArray[Any]] = object.__getattribute__(self, "sent")
        if name in sent:
            return sent[name]
        raise AttributeError(f"batch has no {name!r}; the jobs sent {', '.join(sorted(sent))}")
