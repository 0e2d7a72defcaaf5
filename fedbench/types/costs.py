"""The costs that an algorithm declares: traffic, gradients, and the work and memory of the
server."""

from __future__ import annotations

from typing import NamedTuple


class Traffic(NamedTuple):
    """What one job moves, in vectors of the model's size.

    A fraction stands for a compressed message: a tenth of the entries is 0.1, and 8 bits a value
    are 0.25.

    Attributes
    ----------
    down : float
        Vectors to the client.
    up : float
        Vectors to the server.
    exchanges : int
        How many times the job pays the network's latency, both ways.
    """

    down: float = 1
    up: float = 1
    exchanges: int = 1


class GradientWork(NamedTuple):
    """What one job computes, in gradients.

    Attributes
    ----------
    per_step : int
        Mini-batch gradients in every local step.
    full : int
        Gradients over all examples of the client, beside its steps. One counts as many mini-batch
        gradients as it takes batches to cover the examples.
    """

    per_step: int = 1
    full: int = 0


PASSES_OF_A_GRADIENT = 3
"""Forward passes that the gradient of an example counts as: one pass forward, and one backward,
which counts as two."""


class ServerWork(NamedTuple):
    """What the server itself computes with models, in examples.

    The forward pass of a gradient is part of the gradient.

    Attributes
    ----------
    forward : int
        Forward passes in every update.
    gradients : int
        Gradients in every update.
    first_forward : int
        Forward passes once, before the first job.
    first_gradients : int
        Gradients once, before the first job.
    """

    forward: int = 0
    gradients: int = 0
    first_forward: int = 0
    first_gradients: int = 0

    @property
    def passes(self) -> int:
        """The work of an update, in forward passes of an example."""
        return self.forward + PASSES_OF_A_GRADIENT * self.gradients

    @property
    def first_passes(self) -> int:
        """The work before the first job, in forward passes of an example."""
        return self.first_forward + PASSES_OF_A_GRADIENT * self.first_gradients


class ServerMemory(NamedTuple):
    """What the server keeps from update to update, in vectors of the model's size.

    Attributes
    ----------
    own : int
        The server's own vectors: x, moments, ..
    per_client : int
        Vectors for every client.
    per_version : int
        Vectors for every version from which a client still trains.
    public_logits : int
        The largest number of logits of public examples, in numbers and not in vectors.
    """

    own: int = 1
    per_client: int = 0
    per_version: int = 0
    public_logits: int = 0
