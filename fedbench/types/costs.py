"""What an algorithm declares of its cost."""

from __future__ import annotations

from typing import NamedTuple


class Traffic(NamedTuple):
    """What one job moves, in vectors of the model's size: `down` to the client and `up` to the
    server, in so many `exchanges`, each of which pays the network's latency both ways. A fraction
    is a message that was made smaller: a tenth of the entries sent, or 8 bits a value, which is
    0.25."""

    down: float = 1
    up: float = 1
    exchanges: int = 1


class GradientWork(NamedTuple):
    """What one job computes, in gradients: `per_step` mini-batch gradients in every local step, and
    `full` gradients over all examples of the client beside its steps. A full gradient is as many
    mini-batch gradients as batches cover the examples."""

    per_step: int = 1
    full: int = 0


class ServerMemory(NamedTuple):
    """What the server keeps from update to update, in vectors of the model's size: its `own` (x,
    moments, ..), `per_client`, and `per_version` that a client is still training from."""

    own: int = 1
    per_client: int = 0
    per_version: int = 0
