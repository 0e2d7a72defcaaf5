"""The costs that an algorithm declares: traffic, gradients, and the work and memory of the
server."""

from __future__ import annotations

from typing import NamedTuple


class Traffic(NamedTuple):
    """What one job moves, in vectors of the model's size: `down` to the client and `up` to the
    server. Each of the `exchanges` pays the network's latency both ways. A fraction stands for a
    compressed message: a tenth of the entries is 0.1, and 8 bits a value are 0.25."""

    down: float = 1
    up: float = 1
    exchanges: int = 1


class GradientWork(NamedTuple):
    """What one job computes, in gradients: `per_step` mini-batch gradients in every local step, and
    `full` gradients over all examples of the client beside its steps. A full gradient counts as
    many mini-batch gradients as it takes batches to cover the examples."""

    per_step: int = 1
    full: int = 0


PASSES_OF_A_GRADIENT = 3
"""The gradient of an example takes a forward pass and a backward pass, which counts as two."""


class ServerWork(NamedTuple):
    """What the server itself computes with models, in examples: so many `forward` passes and
    `gradients` in every update, and `first_forward` and `first_gradients` once, before the first
    job. The forward pass of a gradient is part of the gradient."""

    forward: int = 0
    gradients: int = 0
    first_forward: int = 0
    first_gradients: int = 0

    @property
    def passes(self) -> int:
        """The work of an update in forward passes of an example."""
        return self.forward + PASSES_OF_A_GRADIENT * self.gradients

    @property
    def first_passes(self) -> int:
        """The work before the first job in forward passes of an example."""
        return self.first_forward + PASSES_OF_A_GRADIENT * self.first_gradients


class ServerMemory(NamedTuple):
    """What the server keeps from update to update, in vectors of the model's size: its `own` (x,
    moments, ..), so many `per_client`, and so many `per_version` from which a client still trains.
    Beside them `public_logits`, the largest number of logits of public examples."""

    own: int = 1
    per_client: int = 0
    per_version: int = 0
    public_logits: int = 0
