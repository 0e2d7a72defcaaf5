"""Tells how many examples of which class every client has, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbench.engine.data import Data
from fedbench.scenarios import system
from fedbench.scenarios.held_out import shared
from fedbench.scenarios.schema import Scenario


@dataclass(frozen=True)
class LabelMap:
    """The clients from the fastest to the slowest. For every one of `clients`, `counts` has its
    training examples of every class and `step_seconds` the mean virtual seconds of its local
    step."""

    scenario: str
    seed: int
    clients: tuple[int, ...]
    counts: tuple[tuple[int, ...], ...]
    step_seconds: tuple[float, ...]


def label_map(scenario: Scenario, seed: int) -> LabelMap:
    """Returns the examples of all clients as a seed deals them out. Raises MissingDataError if the
    data set is not on this machine."""
    data = Data(scenario, seed)
    train = data.task.dataset.train
    counts = shared(scenario, train.y, seed, train.owner, data.task.dataset.owners).clients.labels(
        train.y, data.task.dataset.classes
    )
    needed = counts.astype(np.float64) if system.needs_counts(scenario) else None
    seconds = np.broadcast_to(system.step_seconds(scenario, seed, needed), len(counts))
    order = np.argsort(seconds, kind="stable")
    return LabelMap(
        scenario=scenario.name,
        seed=seed,
        clients=tuple(order.tolist()),
        counts=tuple(map(tuple, counts[order].tolist())),
        step_seconds=tuple(seconds[order].tolist()),
    )
