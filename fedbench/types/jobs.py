"""A local training from the job to its result, and the batch of results that an update consumes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from fedbench.types.arrays import Array, Integers, Vector, Weights

Want = Literal["first_gradient", "mean_gradient", "full_gradient", "public_logits"]
"""The name of a by-product of a job, which is an attribute of its `Work`."""


@dataclass(frozen=True, slots=True)
class Job:
    """One local training of a client.

    Attributes
    ----------
    client : int
        The client, from 0.
    k : int
        How many jobs the client began before this one.
    base : int
        The version of the model from which the job starts.
    steps : int
        The number of local steps.
    """

    client: int
    k: int
    base: int
    steps: int


@dataclass(frozen=True, kw_only=True)
class LocalRule:
    """The rule of a client's local steps, as data.

    With the gradient g of a mini-batch, a step is

        h = g(y) - g(anchor) + weight_decay * y
        u = momentum * u + h
        y <- y - lr * (u + prox * (y - start) + correction)

    Terms that are off are not computed.

    Attributes
    ----------
    start : array (d,)
        The model from which the job starts.
    lr : float
        The rate of a step.
    weight_decay : float
        The factor of y in h.
    momentum : float
        The factor of the earlier u, which is 0 at the start of a job.
    optimizer : {"sgd", "adamw"}
        The rule of a step: as above, or AdamW.
    prox : float
        The strength of the pull to `start`.
    prox_form : {"l2", "l1_squared"}
        The form of the pull. "l1_squared" replaces the term prox * (y - start) by 2 * prox * |y -
        start|_1 * sign(y - start).
    correction : array (d,) or None
        A constant direction that is added to every step.
    anchor : array (d,) or None
        A model whose gradient on the same mini-batch is subtracted.
    wants : tuple of Want
        The by-products that the job's `Work` must have.
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
    """What a job produced: its end model, its progress, and the by-products that its rule wanted.

    Parameters
    ----------
    delta : array (d,)
        The progress, end - start.
    end : array (d,)
        The model at the end.
    buffers : array (m,)
        The model's buffers at the end, such as BatchNorm's.
    server_seconds : float
        Host seconds of the work that the server itself did for this job.
    **by_products : array
        The by-products by name, as in `LocalRule.wants`.

    Raises
    ------
    KeyError
        A by-product is read that the rule did not want.
    """

    def __init__(self, *, delta: Vector, end: Vector, buffers: Vector, server_seconds: float = 0.0, **by_products: Array) -> None:
        self.delta, self.end, self.buffers = delta, end, buffers
        self.server_seconds = server_seconds
        self.by_products = by_products

    def _wanted(self, name: Want) -> Array:
        if name not in self.by_products:
            raise KeyError(f"work has no {name}: the LocalRule must want it, wants=({name!r},)")
        return self.by_products[name]

    @property
    def first_gradient(self) -> Vector:
        """The first h of the LocalRule (d,), without prox and correction; zeros if the job has no
        steps."""
        return self._wanted("first_gradient")

    @property
    def mean_gradient(self) -> Vector:
        """The mean h of the LocalRule (d,), without prox and correction; zeros if the job has no
        steps."""
        return self._wanted("mean_gradient")

    @property
    def full_gradient(self) -> Vector:
        """The gradient over all examples of the client at the start of the job (d,)."""
        return self._wanted("full_gradient")

    @property
    def public_logits(self) -> Array:
        """The logits of the end model on the public examples (P, C)."""
        return self._wanted("public_logits")


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The entries that one update consumes, one row each, in arrival order.

    A job that counts several times has several rows. Everything that the jobs sent is an attribute
    (K, ..) by the name that it has in their Reply, such as `batch.delta`.

    Attributes
    ----------
    clients : integer array (K,)
        Who sent each entry.
    steps : integer array (K,)
        The local steps of its job.
    base : integer array (K,)
        The version from which its job started.
    staleness : integer array (K,)
        The version before the update, minus `base`.
    n : float64 array (K,)
        The number of examples of its client.
    p : float64 array (K,)
        The weight of its client in the objective.
    first : bool array (K,)
        False in the rows that repeat a job.
    version : int
        The version before the update.
    sent : mapping of str to array (K, ..)
        What the jobs sent, by name.
    base_x : callable
        Returns the model (d,) of the version that entry i started from, given i.

    Raises
    ------
    AttributeError
        An attribute is read that no job sent; the message lists what was sent.
    """

    clients: Integers
    steps: Integers
    base: Integers
    staleness: Integers
    n: Weights
    p: Weights
    first: npt.NDArray[np.bool_]
    version: int
    sent: Mapping[str, Array]
    base_x: Callable[[int], Vector]

    def __getattr__(self, name: str) -> Array:
        sent: Mapping[str, Array] = object.__getattribute__(self, "sent")
        if name in sent:
            return sent[name]
        raise AttributeError(f"batch has no {name!r}; the jobs sent {', '.join(sorted(sent))}")
