"""Where a scenario lies on a map, and how far outside."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fedbench.analysis.map.between import Numbers, ends, kinds_around
from fedbench.analysis.map.factors import Factor
from fedbench.analysis.map.kept import Costs
from fedbench.analysis.map.parts import MapPart
from fedbench.engine.heterogeneity import ALIKE, FACTORS, Heterogeneity
from fedbench.errors import UsageError, nearest
from fedbench.scenarios.load import validate
from fedbench.scenarios.local_parts import LATER
from fedbench.scenarios.schema import Scenario
from fedbench.written import digits, percent

DIGITS = 6  # of what is measured, so that no last bit matters
SLACK, FAR = 0.06, 0.5
"""A factor is outside if it is beyond its range by more than such a share of the range, since what
is drawn for some clients scatters; and far outside by so much."""
FREE = 0.05
"""Transfers that take less than this share of the computing time are as good as free."""
TIES = ("tied_to_size", "tied_to_label")
WORDS = {
    "skew": "label skew",
    "spread": "sd of log speed",
    "available": "share of time available",
    "upload": "upload over compute",
    "steps": "local steps",
    "at_work": "at work",
    "tied_to_size": "speed tied to size",
    "tied_to_label": "speed tied to label",
}


@dataclass(frozen=True)
class Level:
    """The level of one factor.

    Attributes
    ----------
    factor : str
        Its name in the map.
    measured : float
        What was measured in the scenario. Label skew is the mean total variation between a client's
        classes and all classes.
    taken : float
        The nearest number within the range of the map.
    low, high : float
        The ends of that range.
    beyond : float
        How far outside it lies, as a share of the range; 0 inside.
    note : str
        More about it in words, such as the kinds of the map between which it lies.
    """

    factor: str
    measured: float
    taken: float
    low: float
    high: float
    beyond: float
    note: str = ""

    @property
    def words(self) -> str:
        """What the factor is, in words."""
        return WORDS[self.factor]

    @property
    def is_outside(self) -> bool:
        """Whether the level is outside the map by more than chance."""
        return self.beyond > SLACK

    @property
    def is_far(self) -> bool:
        """Whether the level is far outside the map."""
        return self.beyond > FAR

    def __str__(self) -> str:
        """Returns the level in words, such as `label skew 0.31 (iid to dirichlet_0.3)`."""
        return f"{self.words} {digits(self.measured)}{f' ({self.note})' if self.note else ''}"


def levels(here: Heterogeneity, costs: Costs, numbers: Numbers) -> tuple[Level, ...]:
    """Returns the level of every factor of a map. UsageError if one cannot be measured.

    A scenario has one kind of tie between speed and data at most, as on the map: of two, the
    stronger one counts.
    """
    for factor in costs.design.factors:
        if factor.name not in FACTORS:
            raise UsageError(f"map: factor {factor.name} cannot be measured in a scenario{nearest(factor.name, FACTORS)}")
    found = {one.name: _level(one, round(float(getattr(here, one.name)), DIGITS), costs, numbers) for one in costs.design.factors}
    ties = sorted((abs(found[name].taken), name) for name in TIES if name in found)
    for _, weaker in ties[:-1]:
        found[weaker] = replace(found[weaker], taken=0.0)
    if "at_work" in found and here.scenario.at_work is None:
        found["at_work"] = replace(found["at_work"], note="all, since at_work is not set")
    if "skew" in found:
        found["skew"] = _explained(found["skew"], here)
    return tuple(found.values())


def _explained(skew: Level, here: Heterogeneity) -> Level:
    """Returns the label skew with what else is to be known of it: that there are no classes, or how
    much of it is chance, where that is most of it."""
    if here.scenario.task.is_regression:
        return replace(skew, note="not measured, since labels are real numbers")
    by_chance = here.skew_by_chance
    if by_chance <= max(ALIKE, skew.measured / 2):
        return skew
    chance = f"{digits(round(by_chance, 2))} by chance, since clients have few examples"
    return replace(skew, note="; ".join(filter(None, (skew.note, chance))))


def _level(factor: Factor, measured: float, costs: Costs, numbers: Numbers) -> Level:
    low, high = ends(factor, costs.points, numbers)
    taken = min(max(measured, low), high)
    scaled = math.log if factor.is_log else float
    if taken == measured or (factor.name == "upload" and measured <= FREE):
        beyond = 0.0
    elif factor.is_log and measured <= 0:
        beyond = math.inf
    else:
        beyond = abs(scaled(measured) - scaled(taken)) / (scaled(high) - scaled(low))
    kinds = kinds_around(numbers[factor.name], taken) if factor.kinds else {}
    note = " to ".join(kind for kind, weight in kinds.items() if weight > SLACK)
    return Level(factor.name, measured, taken, low, high, beyond, note)


def outside(here: Heterogeneity, found: tuple[Level, ...], about: MapPart) -> Iterator[str]:
    """Yields in words what the map has not measured: factors beyond their ranges, and what is the
    same at all of its points and other in the scenario."""
    for level in found:
        if level.is_outside:
            yield f"{level.words} {digits(level.measured)} (map: {digits(level.low)} to {digits(level.high)})"
    if sum(level.measured != 0 for level in found if level.factor in TIES) > 1:
        yield "speed tied to size and to label (map: one of them)"
    base = validate(about.scenario, "map")
    yield from _other_task(here.scenario, base)
    yield from _other_system(here, base)


def _other_task(own: Scenario, base: Scenario) -> Iterator[str]:
    if own.clients != base.clients:
        yield f"{own.clients:,} clients (map: {base.clients:,})"
    if is_other_task(own, base):
        yield f"task {own.task.name} with {own.task.model} (map: {base.task.name} with {base.task.model})"
    if own.task.is_regression:
        yield "regression (map: classification)"
    if max(own.local.batch_size, base.local.batch_size) > 2 * min(own.local.batch_size, base.local.batch_size):
        yield f"mini-batches of {own.local.batch_size} (map: {base.local.batch_size})"
    if own.task.loss != base.task.loss:
        yield "task.loss of its own"
    for key in (key for key in LATER if not key.endswith("_sha256")):
        if getattr(own.local, key) != getattr(base.local, key):
            yield f"local.{key} of its own"


def is_other_task(own: Scenario, base: Scenario) -> bool:
    """Returns whether a scenario has another task or model than that of the map."""
    return (own.task.name, own.task.model) != (base.task.name, base.task.model)


def _other_system(here: Heterogeneity, base: Scenario) -> Iterator[str]:
    own = here.scenario
    if getattr(own.availability, "when_offline", "paused") == "lost":
        yield "jobs that are lost when a client leaves (map: paused)"
    if own.dropout:
        yield f"{percent(own.dropout)} of the jobs lost (map: none)"
    if own.rounds.text != base.rounds.text:
        yield f"rounds with {own.rounds.text or 'no rules'} (map: {base.rounds.text or 'no rules'})"
    if here.download > FREE:
        yield f"downloads of {digits(here.download)} of the computing time (map: free)"
    if here.times_vary:
        yield "times that vary from job to job (map: constant)"
    if here.steps_vary:
        yield "local steps that vary (map: constant)"
