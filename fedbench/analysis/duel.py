"""Two algorithms where both were run: who reaches a target earlier and by how much, in numbers that hold together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedbench.analysis.hits import Attempt, first_hit
from fedbench.analysis.paired import LEAST_FOR_P, Pair, pairs, resolution
from fedbench.analysis.statistics import LEVEL
from fedbench.errors import UsageError
from fedbench.results.record import Record


@dataclass(frozen=True)
class Side:
    """One algorithm at one target: how many of its runs reach it, and their mean time, where a miss counts with the budget."""

    hits: int
    runs: int
    restricted_mean: float


@dataclass(frozen=True)
class Round:
    """One target of one scenario. difference: first - second, in virtual seconds, of the restricted times over common seeds; negative if
    the first is earlier. resolution: the smallest difference that so many seeds of these two can show."""

    scenario: str
    target: float
    first: Side
    second: Side
    pair: Pair
    resolution: float | None

    @property
    def verdict(self) -> str:
        """`first` or `second` is earlier, `neither` reaches it at all, or `tied`: they cannot be told apart."""
        if self.first.hits == self.second.hits == 0:
            return "neither"
        if not self.pair.differs or self.pair.difference is None:
            return "tied"
        return "first" if self.pair.difference < 0 else "second"


Runs = Mapping[str, tuple[Sequence[Record], Sequence[Record]]]
"""By the name of a scenario: the runs of the first and of the second."""


def restricted(run: Record, target: Mapping[str, float | str]) -> tuple[bool, float]:
    """Whether a run reaches a target within the budget of its scenario, and when; the budget for a miss, and for a run that did not
    finish: it has no model to show."""
    budget = float(run.meta["spec"]["scenario"]["budget"]["seconds"])
    attempt: Attempt = first_hit(run, str(target["metric"]), float(target["value"]))
    hit = attempt.reached is not None and run.state == "finished"
    return hit, attempt.restricted if hit else budget


def duel(runs: Runs) -> list[Round]:
    """All targets of all scenarios, with intervals of which 95 % hold together. UsageError if there is none with a target and two common
    seeds."""
    found = []
    for scenario, (first, second) in runs.items():
        for target in first[0].meta["spec"]["scenario"]["targets"]:
            found.append((scenario, target, {"a": first, "b": second}))
    if not found:
        raise UsageError("compare: no scenario that both were run on has a target")
    rounds = []
    for scenario, target, sides in found:
        times = {name: {run.seed: restricted(run, target) for run in of_one} for name, of_one in sides.items()}
        seconds = {name: {seed: time for seed, (_, time) in of_one.items()} for name, of_one in times.items()}
        least = float(sides["a"][0].meta["spec"]["scenario"]["evaluation"]["every_seconds"])
        (pair,) = pairs(seconds, least=least, alpha=(1 - LEVEL) / len(found))
        shows = resolution(seconds, 2, least=least, alpha=(1 - LEVEL) / len(found))
        rounds.append(Round(scenario, float(target["value"]), _side(times["a"]), _side(times["b"]), pair, shows))
    return rounds


def _side(times: Mapping[int, tuple[bool, float]]) -> Side:
    return Side(sum(hit for hit, _ in times.values()), len(times), sum(time for _, time in times.values()) / len(times))


def sentence(one: Round, first: str, second: str) -> str:
    """What a round shows, in words; never that there is no difference."""
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
    p = "" if pair.p_adjusted is None or pair.seeds < LEAST_FOR_P else f", p = {pair.p_adjusted:.2g}"
    return f"{where}: {sides}: {earlier} is earlier by {interval}{p}"


def _time(side: Side) -> str:
    misses = "" if side.hits == side.runs else f" with {side.runs - side.hits} of {side.runs} missing"
    return f"{side.restricted_mean:.3g} s{misses}"
