"""How much the options of an algorithm matter at one point: what was tried, and what became of
it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Sought:
    """An option that was looked for, between `low` and `high`; `scale` is log or linear."""

    name: str
    low: float
    high: float
    scale: str


@dataclass(frozen=True)
class Tried:
    """One trial.

    options: the values of the options that were looked for; one that is no number, such as a
    published default that depends on the scenario, is left out. seconds: its restricted mean time
    to the targets over the tuning seeds. misses: pairs of a seed and a target that it does not
    reach, of `attempts`; with any, `seconds` is a lower bound. unfinished: runs that diverged,
    stalled or failed.
    """

    trial: int
    options: Mapping[str, float]
    seconds: float
    misses: int
    attempts: int
    unfinished: int


@dataclass(frozen=True)
class Sensitivity:
    """All trials of one row at one point, the published options first. `chosen`: the number of the
    one that the rule chose."""

    row: str
    point: str
    budget_seconds: float
    sought: tuple[Sought, ...]
    trials: tuple[Tried, ...]
    chosen: int
