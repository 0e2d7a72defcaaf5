"""Interfaces: the tools that the engine lends to algorithms, and the objectives that the reference
trainer takes."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fedbench.types import Array, Info, Vector, Weights

RowIndices = npt.NDArray[np.int64]
"""The numbers of examples (B,), int64."""
Logits = npt.NDArray[np.floating]
"""Logits (B, C) of B examples and C classes, in the run's dtype."""
Pullback = Callable[[Logits], Vector]
"""Turns the gradient with respect to logits (B, C) into that with respect to the model (d,)."""


class Tools(Protocol):
    """What the engine lends to `init`, `broadcast` and `step`.

    The public examples are for algorithms with requires = {"public_data"}.
    """

    @property
    def info(self) -> Info:
        """What is known about the clients."""

    def gradients(self, clients: Iterable[int], x: Vector) -> Iterator[Vector]:
        """Yields the full-batch gradient at x of one client after the other.

        Parameters
        ----------
        clients : iterable of int
            The clients, in the order of the gradients.
        x : array (d,)
            The model.

        Yields
        ------
        array (d,)
            The gradient over all examples of a client.
        """

    @property
    def public_shape(self) -> tuple[int, int]:
        """The number of public examples P and of classes C."""

    def public_batches(self, version: int, size: int, steps: int | None = None) -> Iterator[RowIndices]:
        """Yields mini-batches of public rows, drawn by seed and version.

        Parameters
        ----------
        version : int
            The version that is updated.
        size : int
            Examples of a batch. The last batch of a pass may be shorter.
        steps : int, optional
            How many batches. Each pass over the rows is shuffled anew. None is one pass.

        Yields
        ------
        int64 array (B,)
            The rows of a batch.
        """

    def public_logits(self, x: Vector, rows: RowIndices, *, training: bool = False) -> tuple[Logits, Pullback]:
        """Returns logits of public rows, and the function that turns their gradient into that of x.

        Parameters
        ----------
        x : array (d,)
            The model. The server's buffers are used with it.
        rows : int64 array (B,)
            Which public examples.
        training : bool
            Whether layers such as dropout and BatchNorm act as in training.

        Returns
        -------
        logits : array (B, C)
            The logits.
        pullback : callable
            Takes the gradient with respect to the logits (B, C), and returns that with respect to x
            (d,). It can be used until the next call.
        """


class Random(Protocol):
    """A random stream, with the same numbers for the same seed on every machine."""

    def uniform(self, count: int) -> npt.NDArray[np.float64]:
        """Draws numbers that are uniform in [0, 1).

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        float64 array (count,)
            The numbers.
        """

    def normal(self, count: int) -> npt.NDArray[np.float64]:
        """Draws numbers of the standard normal distribution.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        float64 array (count,)
            The numbers.
        """

    def below(self, n: int) -> int:
        """Draws a whole number, uniformly.

        Parameters
        ----------
        n : int
            The number of values, n >= 1.

        Returns
        -------
        int
            A number in 0 .. n - 1.
        """

    def permutation(self, n: int) -> npt.NDArray[np.int64]:
        """Draws an order of n things, uniformly.

        Parameters
        ----------
        n : int
            How many things.

        Returns
        -------
        int64 array (n,)
            The numbers 0 .. n - 1 in the drawn order.
        """


class SelectionTools(Protocol):
    """What the engine lends to `select`."""

    @property
    def info(self) -> Info:
        """What is known about the clients."""

    @property
    def random(self) -> Random:
        """A random stream of its own for every seed and round."""


class Objective(Protocol):
    """A differentiable objective of every client, in numpy, which the reference trainer needs."""

    @property
    def clients(self) -> int:
        """The number of clients N."""

    @property
    def dim(self) -> int:
        """The number of parameters d."""

    def n(self) -> Weights:
        """Returns the number of examples of every client.

        Returns
        -------
        float64 array (N,)
            The numbers.
        """

    def p(self) -> Weights:
        """Returns the weight of every client in the objective.

        Returns
        -------
        float64 array (N,)
            The weights, which sum to 1.
        """

    def gradient(self, client: int, x: Vector, rows: RowIndices | None = None) -> Vector:
        """Returns the gradient of a client's objective.

        Parameters
        ----------
        client : int
            The client.
        x : array (d,)
            The model.
        rows : int64 array (B,), optional
            Which examples of the client. None is all of them.

        Returns
        -------
        array (d,)
            The mean gradient over the examples.
        """

    def metrics(self, x: Vector) -> dict[str, float]:
        """Returns what a model is evaluated by.

        Parameters
        ----------
        x : array (d,)
            The model.

        Returns
        -------
        dict of str to float
            The values by the metric's name.
        """


@typing.runtime_checkable
class PublicObjective(Protocol):
    """What an `Objective` also has if it has public data, which some algorithms require."""

    @property
    def public(self) -> Array | None:
        """The features of the public examples (P, D), or None."""

    @property
    def classes(self) -> int:
        """The number of classes C."""

    def logits(self, x: Vector, rows: Array) -> Logits:
        """Returns the logits of examples.

        Parameters
        ----------
        x : array (d,)
            The model.
        rows : array (B, D)
            The features of the examples.

        Returns
        -------
        array (B, C)
            The logits.
        """

    def pullback(self, rows: Array, dlogits: Logits) -> Vector:
        """Returns the gradient with respect to the model, given that with respect to the logits.

        The logits are linear in the model, so that it is not needed.

        Parameters
        ----------
        rows : array (B, D)
            The features of the examples.
        dlogits : array (B, C)
            The gradient with respect to their logits.

        Returns
        -------
        array (d,)
            The gradient with respect to the model.
        """
