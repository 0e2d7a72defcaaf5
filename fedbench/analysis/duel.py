"""Compares two algorithms on the scenarios on which both were run: which one reaches a target
earlier, and by how much. All intervals hold together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fedbench.analysis.hits import first_hit, within_budget
from fedbench.analysis.holm import holm
from fedbench.analysis.paired import Pair, pairs, resolution
from fedbench.analysis.statistics import LEVEL
from fedbench.errors import UsageError
from fedbench.results.record import Record


@dataclass(frozen=True)
class Side:
    """One algorithm at one target: how many of its runs reach it, and their mean time, where a miss
    counts with the budget."""

    hits: int
    runs: int
    restricted_mean: float


@dataclass(frozen=True)
class Round:
    """The comparison at one target of one scenario.

    pair: its difference is first - second in virtual seconds, over common seeds, where a miss
    counts with the budget. It is negative if the first is earlier.
    resolution: the smallest difference that so many seeds of these two can show.
    """

    scenario: str
    target: float
    first: Side
    second: Side
    pair: Pair
    resolution: float | None

    @property
    def verdict(self) -> str:
        """Returns which one is earlier, `first` or `second`; `neither` if none reaches the target;
        or `tied` if the two cannot be told apart."""
        if self.first.hits == self.second.hits == 0:
            return "neither"
        if not self.pair.differs or self.pair.difference is None:
            return "tied"
        return "first" if self.pair.difference < 0 else "second"


Runs = Mapping[str, tuple[Sequence[Record], Sequence[Record]]]
"""By the name of a scenario: the runs of the first and of the second algorithm."""


def restricted(run: Record, target: Mapping[str, float | str]) -> tuple[bool, float]:
    """Returns `within_budget` of a run and a target of its scenario."""
    reached = first_hit(run, str(target["metric"]), float(target["value"])).reached
    return within_budget(reached, float(run.meta["spec"]["scenario"]["budget"]["seconds"]), finished=run.state == "finished")


def duel(runs: Runs) -> list[Round]:
    """Returns the rounds of all targets of all scenarios. The intervals hold together at 95 %, and
    the p-values are adjusted over all rounds. Raises UsageError if no scenario has a target."""
    found = [
        (scenario, target, {"a": first, "b": second})
        for scenario, (first, second) in runs.items()
        for target in first[0].meta["spec"]["scenario"]["targets"]
    ]
    if not found:
        raise UsageError("compare: no scenario that both were run on has a target")
    alpha = (1 - LEVEL) / len(found)
    rounds = []
    for scenario, target, sides in found:
        times = {name: {run.seed: restricted(run, target) for run in of_one} for name, of_one in sides.items()}
        seconds = {name: {seed: time for seed, (_, time) in of_one.items()} for name, of_one in times.items()}
        least = float(sides["a"][0].meta["spec"]["scenario"]["evaluation"]["every_seconds"])
        (pair,) = pairs(seconds, least=least, alpha=alpha)
        shows = resolution(seconds, 2, least=least, alpha=alpha)
        rounds.append(Round(scenario, float(target["value"]), _side(times["a"]), _side(times["b"]), pair, shows))
    tested = [i for i, one in enumerate(rounds) if one.pair.p_adjusted is not None]
    adjusted = holm([p for one in rounds if (p := one.pair.p_adjusted) is not None], 1 - LEVEL)
    for i, test in zip(tested, adjusted, strict=True):
        rounds[i] = replace(rounds[i], pair=replace(rounds[i].pair, p_adjusted=test.p))
    return rounds


def _side(times: Mapping[int, tuple[bool, float]]) -> Side:
    return Side(sum(hit for hit, _ in times.values()), len(times), sum(time for _, time in times.values()) / len(times))


def sentence(one: Round, first: str, second: str) -> str:
    """Returns in words what a round shows. It never claims that there is no difference."""
    where = f"{one.scenario}, {100 * one.target:g} %"
    if one.verdict == "neither":
        return f"{where}: neither arrives ({one.first.runs} and {one.second.runs} seeds)"
    sides = f"{first} {_time(one.first)}, {second} {_time(one.second)}"
    pair = one.pair
    if pair.difference is None or pair.half_width is None:
        return f"{where}: {sides}; {pair.seeds} common seeds say nothing about a difference"
    gap, half = abs(pair.difference), pair.half_width
    interval = f"{gap:.3g} s, interval {gap - half:.3g} to {gap + half:.3g}"
    if one.verdict == "tied":
        seen = "" if one.resolution is None else f"; these seeds would show {one.resolution:.3g} s"
        return f"{where}: {sides}: cannot be told apart{seen}"
    earlier = first if one.verdict == "first" else second
    p = "" if pair.p_adjusted is None else f", p = {pair.p_adjusted:.2g}"
    return f"{where}: {sides}: {earlier} is earlier by {interval}{p}"


def _time(side: Side) -> str:
    misses = "" if side.hits == side.runs else f" with {side.runs - side.hits} of {side.runs} missing"
    return f"{side.restricted_mean:.3g} s{misses}"
