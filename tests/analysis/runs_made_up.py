"""Runs that hold their target from a second that the test states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedbench.results.record import Record
from tests.conftest import BUDGET, TARGET, alter, record

SCATTER = (0.0, 0.5, 1.0, 0.25, 0.75, 0.1, 0.6, 0.9, 0.3, 0.4)
SEEDS = len(SCATTER)
STEP = 0.1
"""Seconds of the grid of these scenarios, so fine that early targets get a verdict too."""


def arriving(name: str, seed: int, at: float | None, **more: Any) -> Record:
    """A run that holds the target from second `at` on, or never. Each evaluation is of another
    model; the one before is a tenth of a second earlier."""
    seconds: Sequence[float] = (0, 5, 10, BUDGET)
    curve: Sequence[float] = (0.1, 0.4, 0.5, 0.6)
    if at is not None:
        seconds, curve = (0, at - STEP, at, 1.1 * at, 1.2 * at, BUDGET), (0.1, 0.5, TARGET, 0.85, 0.85, 0.9)
    one = record(name, seed, curve, seconds=seconds, **more)
    alter(one, "spec.scenario.evaluation.every_seconds", STEP)
    return one


def row(name: str, mean: float | None, *, seeds: int = SEEDS, scale: float = 1.0, **more: Any) -> list[Record]:
    """A run a seed, at `mean` seconds and a scatter of up to one second times `scale`."""
    return [arriving(name, seed, None if mean is None else mean + scale * SCATTER[seed], **more) for seed in range(seeds)]
