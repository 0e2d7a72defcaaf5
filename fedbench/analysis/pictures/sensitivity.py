"""The data of pictures of tuning: which options of an algorithm were tried at a point, and with
which result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from fedbench.results.sections import Count


@dataclass(frozen=True)
class Sought:
    """An option whose value was looked for between `low` and `high`. `scale` is log or linear."""

    name: str
    low: float
    high: float
    scale: Literal["log", "linear"]


@dataclass(frozen=True)
class Tried:
    """One trial.

    options: the values of the options that were looked for. One that is not a number, such as a
    default that depends on the scenario, is left out.
    seconds: the mean time to the targets over the tuning seeds, where a miss counts with the
    budget.
    misses: the number of pairs of a seed and a target that it does not reach, of `attempts` pairs.
    With misses, `seconds` is a lower bound.
    unfinished: the number of runs that diverged or stalled.
    """

    trial: Count
    options: Annotated[Mapping[str, float], Field(max_length=100)]
    seconds: float
    misses: Count
    attempts: Count
    unfinished: Count


@dataclass(frozen=True)
class Sensitivity:
    """All trials of one row at one point, the default options first. `chosen` is the number of
    the trial that the rule chose."""

    row: str
    point: str
    budget_seconds: float
    sought: Annotated[tuple[Sought, ...], Field(max_length=20)]
    trials: Annotated[tuple[Tried, ...], Field(max_length=10_000)]
    chosen: Count
