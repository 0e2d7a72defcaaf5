"""Metrics beside accuracy and losses: over clients and classes, and those of the user's own.

A client's accuracy and loss are those of the classes, weighted by their shares in its training
examples. The worst decile is the mean over the worst tenth of the clients, of which there is at
least one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fedbench import own_metrics
from fedbench.errors import UsageError
from fedbench.own_metrics import CLASS, Measure
from fedbench.scenarios.evaluation_parts import MetricPart
from fedbench.types import Vector


class Parts(NamedTuple):
    """What a model achieves: accuracy and loss of every client (N,) and of every class (C,)."""

    client_accuracy: Vector
    client_loss: Vector
    class_accuracy: Vector
    class_loss: Vector


class Unseen(NamedTuple):
    """What a model achieves on the examples of every client that is held out: accuracy and loss."""

    accuracy: Vector
    loss: Vector


class OverParts(NamedTuple):
    """A metric of the library."""

    value: Callable[[Parts], float]


class OfUnseen(NamedTuple):
    """A metric of the library on the examples of the clients that are held out: the mean of a score
    over all of them, so a client weighs as much as it has examples."""

    score: int


def worst_decile(values: Vector, *, higher_is_better: bool) -> float:
    """Returns the mean over the worst tenth of the clients, at least one."""
    ordered = np.sort(values) if higher_is_better else -np.sort(-values)
    return float(ordered[: max(1, len(ordered) // 10)].mean())


OF_CLIENTS: dict[str, Callable[[Parts], float]] = {
    "client_accuracy_mean": lambda parts: float(parts.client_accuracy.mean()),
    "client_accuracy_worst_decile": lambda parts: worst_decile(parts.client_accuracy, higher_is_better=True),
    "client_accuracy_spread": lambda parts: float(parts.client_accuracy.std()),
    "client_loss_mean": lambda parts: float(parts.client_loss.mean()),
    "client_loss_worst_decile": lambda parts: worst_decile(parts.client_loss, higher_is_better=False),
    "client_loss_spread": lambda parts: float(parts.client_loss.std()),
    "class_accuracy_worst": lambda parts: float(parts.class_accuracy.min()),
}


OF_UNSEEN = {"unseen_loss": OfUnseen(0), "unseen_accuracy": OfUnseen(1)}
"""Metrics of unseen clients, with their places in `Scores`."""


def measure_of(part: MetricPart, classes: int) -> Measure | OverParts | OfUnseen:
    """Returns how a metric of a scenario is computed. UsageError for a class that a task of so many
    classes has not; else the errors are those of `own_metrics.made`."""
    if part.code is not None and part.sha256 is not None:
        return own_metrics.made(part.code, part.sha256, part.name, higher_is_better=part.higher_is_better)
    if part.name in OF_CLIENTS:
        return OverParts(OF_CLIENTS[part.name])
    if part.name in OF_UNSEEN:
        return OF_UNSEEN[part.name]
    found = CLASS.fullmatch(part.name)
    assert found is not None
    label = int(found[1])
    if label >= classes:
        raise UsageError(f"evaluation.metrics: {part.name}: expected a class of the {classes}, 0 to {classes - 1}, got {label}")
    return OverParts(lambda parts: float(parts.class_accuracy[label]))
