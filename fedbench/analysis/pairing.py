"""Compares two rows at one point: which one costs less until it holds the targets, by what ratio,
and which one is more accurate at a time that both reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fedbench import written
from fedbench.analysis.axes import SECONDS
from fedbench.analysis.best import Comparison, compare
from fedbench.analysis.board import Board
from fedbench.analysis.costs import TOO_EARLY, costs, finer, resolved
from fedbench.analysis.gathered import Rows
from fedbench.analysis.groups import Group, group_of_run
from fedbench.analysis.horizon import Horizon, accuracy_at, horizon, why_not_compared
from fedbench.analysis.metrics import in_words
from fedbench.analysis.ranking import Ranking
from fedbench.analysis.statistics import LEAST_SEEDS, LEVEL, Estimate, paired_difference
from fedbench.results.record import Record
from fedbench.scenarios.schema import ACCURACY
from fedbench.written import Ratio


@dataclass(frozen=True)
class Side:
    """One row: how many of its pairs of a seed and a target are reached, of how many, and its cost
    in virtual seconds, which is a lower bound if it misses some."""

    hits: int
    attempts: int
    cost: float


@dataclass(frozen=True)
class Line:
    """The comparison at one target, or at all that get a verdict.

    target: None for all of them together.
    has_verdict: whether the target gets a verdict by the rules; without one nothing is decided.
    ratio: the cost of the first row over that of the second, with the interval of this one pair.
    together: the same with the interval that holds together with those of all pairs of the board.
    pairs: how many these are.
    """

    target: float | None
    has_verdict: bool
    first: Side
    second: Side
    seeds: int
    ratio: Ratio
    together: Ratio
    pairs: int

    @property
    def verdict(self) -> str:
        """Returns which one costs less, `first` or `second`; `neither` if none reaches a target;
        `open` where the rules give no verdict; or `tied` if the interval contains 1."""
        if self.first.hits == self.second.hits == 0:
            return "neither"
        if not self.has_verdict:
            return "open"
        return self.ratio.verdict


@dataclass(frozen=True)
class Pairing:
    """Two rows at one point.

    groups: their systems. Rows of different groups are compared with each other alone.
    lines: for all targets together, then for each.
    accuracy: the difference first - second of the test accuracy at `at_seconds`, over common seeds;
    None if one of the rows is not compared by accuracy, for the reason `left_out`.
    metric: that of the targets.
    finer: settings that evaluate more often at the beginning, for targets without a verdict.
    """

    point: str
    groups: tuple[Group, Group]
    lines: tuple[Line, ...]
    accuracy: Estimate | None
    at_seconds: float | None
    left_out: str
    metric: str
    finer: str


def pairing(point: str, rows: Rows, found: Board | None, first: str, second: str) -> Pairing:
    """Returns the comparison of two rows of `rows`.

    Args:
        point: the name of the point.
        rows: the runs of both.
        found: the board of the point, if there is one that has both. If they share a group, the
            scatter of its other rows is used too, so that the answer is that of the board.
        first, second: the names of the two rows.

    Raises:
        RecordError: if the rows have different seeds.
    """
    both = {first: rows[first], second: rows[second]}
    ranking = _shared(found, first, second)
    known = costs({row: rows[row] for row in ranking.rows} if ranking and ranking.rows else both)
    scenario = rows[first][0].spec.scenario
    decided = list(ranking.targets) if ranking else resolved(known, scenario.evaluation.spacing["every_seconds"])
    alone = compare(known.at(decided)) if decided and not ranking else None
    whole = ranking.found if ranking else alone
    lines = [] if whole is None else [_line(whole, None, first, second)]
    lines += [
        _line(compare(known.at([target])), target, first, second, has_verdict=target in decided) for target in known.targets
    ]
    groups = (group_of_run(rows[first][0]), group_of_run(rows[second][0]))
    metric = next((one.metric for one in scenario.compared), ACCURACY)
    return Pairing(point, groups, tuple(lines), *_accuracy(both, first, second), metric, finer(scenario))


def _shared(found: Board | None, first: str, second: str) -> Ranking | None:
    """Returns the ranking of the group that both rows share, None if there is none."""
    one, other = (None, None) if found is None else (found.of(first), found.of(second))
    return one.ranking if one is not None and other is not None and one.group == other.group and other.ranking else None


def _line(found: Comparison, target: float | None, first: str, second: str, *, has_verdict: bool = True) -> Line:
    i, j = found.costs.rows.index(first), found.costs.rows.index(second)
    k = len(found.costs.rows)
    pairs = max(1, k * (k - 1) // 2)
    return Line(
        target=target,
        has_verdict=has_verdict,
        first=_side(found, i),
        second=_side(found, j),
        seeds=int(found.seeds[i, j]),
        ratio=found.pair(i, j),
        together=found.pair(i, j, 1 - (1 - LEVEL) / pairs),
        pairs=pairs,
    )


def _side(found: Comparison, row: int) -> Side:
    missed = found.costs.missed[:, row]
    return Side(int((~missed).sum()), missed.size, math.exp(found.costs.score[row]))


def _accuracy(both: Rows, first: str, second: str) -> tuple[Estimate | None, float | None, str]:
    reasons = [f"{row}: {why}" for row, runs in both.items() if (why := why_not_compared(runs, SECONDS))]
    if reasons:
        return None, None, "; ".join(reasons)
    where = horizon(both, SECONDS)
    values = [_accuracies(both[row], where) for row in (first, second)]
    return paired_difference(values[0], values[1]), where.at, ""


def _accuracies(runs: Sequence[Record], where: Horizon) -> dict[int, float]:
    found = {run.seed: accuracy_at(run, where) for run in runs}
    return {seed: value for seed, value in found.items() if value is not None}


@dataclass(frozen=True)
class Finding:
    """What a comparison shows, in words.

    where: the point, and the target or the accuracy that it is about.
    verdict: the result.
    facts: the numbers behind it.
    sentence: all of that in one line.
    """

    where: str
    verdict: str
    facts: tuple[str, ...]
    sentence: str


def findings(one: Pairing, first: str, second: str) -> list[Finding]:
    """Returns in words what a comparison shows. It never claims that there is no difference."""
    found = []
    if one.groups[0] != one.groups[1]:
        has = (f"{first} has {one.groups[0].words}", f"{second} {one.groups[1].words}")
        why = (
            "They differ in what they are given, so the cheaper one need not be the better algorithm."
            if all(group.at_work for group in one.groups)
            else "Whether they differ in what they are given is not known; at_work of the scenario limits both alike."
        )
        sentence = f"{one.point}: no board has both: {', '.join(has)}. {why}"
        found.append(Finding(one.point, "no board has both", (*has, why), sentence))
    if not any(line.target is None for line in one.lines):
        verdict = f"no target gets a verdict: each is {TOO_EARLY}"
        remedy = f"take higher targets, or evaluate more often at the beginning, such as with {one.finer}"
        found.append(Finding(one.point, verdict, (remedy,), f"{one.point}: {verdict}; {remedy}"))
    # A single target is all targets, and is shown once: the line of all also has the interval among
    # all pairs.
    is_once = [line.target is None for line in one.lines] == [True, False]
    lines = (replace(one.lines[0], target=one.lines[1].target),) if is_once else one.lines
    found += [_finding(one, line, first, second) for line in lines]
    if one.accuracy is None:
        where, verdict = f"{one.point}, accuracy", f"not compared ({one.left_out})"
        found.append(Finding(where, verdict, (), f"{where}: {verdict}"))
    elif one.accuracy.mean is not None and one.at_seconds is not None:
        where, half = f"{one.point}, accuracy at {one.at_seconds:g} s", one.accuracy.half_width
        verdict = f"{first} minus {second} is {_points(one.accuracy.mean)} percentage points"
        ends = f"{_points(one.accuracy.mean - half)} to {_points(one.accuracy.mean + half)}" if half is not None else ""
        facts = (*([f"95 % interval: {ends}"] if ends else []), written.counted(one.accuracy.n, "seed"))
        sentence = f"{where}: {verdict}{f', {ends}' if ends else ''} ({written.counted(one.accuracy.n, 'seed')})"
        found.append(Finding(where, verdict, facts, sentence))
    return found


def _points(value: float) -> str:
    return f"{100 * value:+.2f}"


def _finding(one: Pairing, line: Line, first: str, second: str) -> Finding:
    where = f"{one.point}, {'all targets' if line.target is None else in_words(one.metric, line.target)}"
    if line.verdict == "neither":
        return Finding(where, "neither arrives", (), f"{where}: neither arrives")
    sides = (f"{first} {_cost(line.first)}", f"{second} {_cost(line.second)}")
    both = f"{where}: {', '.join(sides)}"
    if line.seeds < LEAST_SEEDS:
        seeds = "1 common seed says" if line.seeds == 1 else f"{line.seeds} common seeds say"
        verdict = f"{seeds} nothing about a difference, at least {LEAST_SEEDS} do"
        return Finding(where, verdict, sides, f"{both}; {verdict}")
    if line.verdict == "open":  # a ratio would be that of two steps of the grid
        verdict = f"no verdict, it is {TOO_EARLY}"
        return Finding(where, verdict, sides, f"{both}; {verdict}")
    ratio = f"{first} / {second} {line.ratio.equation}"
    verdict = {"first": f"{first} costs less", "second": f"{second} costs less", "tied": "cannot be told apart"}[line.verdict]
    together = [f"among all {line.pairs} pairs of the board {line.together.interval}"] if line.pairs > 1 else []
    return Finding(where, verdict, (*sides, ratio, *together), "; ".join([f"{both}: {verdict}", ratio, *together]))


def _cost(side: Side) -> str:
    missing = side.attempts - side.hits
    told = f" with {missing} of {side.attempts} missing" if missing else ""
    return written.cost(side.cost, missing > 0, style=written.SHORT) + told
