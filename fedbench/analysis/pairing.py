"""Compares two rows at one point: which one costs less until it holds the targets, by what ratio,
and which one is more accurate at a time that both reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fedbench.analysis.axes import SECONDS
from fedbench.analysis.best import Comparison, Ratio, compare
from fedbench.analysis.board import Board
from fedbench.analysis.costs import costs, resolved
from fedbench.analysis.gathered import Rows
from fedbench.analysis.groups import Group, group_of_run
from fedbench.analysis.horizon import Horizon, accuracy_at, horizon, why_not_compared
from fedbench.analysis.ranking import Ranking
from fedbench.analysis.statistics import LEAST_SEEDS, LEVEL, Estimate, paired_difference
from fedbench.results.record import Record


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
        return "first" if self.ratio.high < 1 else "second" if self.ratio.low > 1 else "tied"


@dataclass(frozen=True)
class Pairing:
    """Two rows at one point.

    groups: their systems. Rows of different groups are compared with each other alone.
    lines: for all targets together, then for each.
    accuracy: the difference first - second of the test accuracy at `at_seconds`, over common seeds;
    None if one of the rows is not compared by accuracy, for the reason `left_out`.
    """

    point: str
    groups: tuple[Group, Group]
    lines: tuple[Line, ...]
    accuracy: Estimate | None
    at_seconds: float | None
    left_out: str


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
    every = rows[first][0].meta["spec"]["scenario"]["evaluation"].get("every_seconds")
    decided = list(ranking.targets) if ranking else resolved(known, every)
    alone = compare(known.at(decided)) if decided and not ranking else None
    whole = ranking.found if ranking else alone
    lines = [] if whole is None else [_line(whole, None, first, second)]
    lines += [
        _line(compare(known.at([target])), target, first, second, has_verdict=target in decided) for target in known.targets
    ]
    groups = (group_of_run(rows[first][0]), group_of_run(rows[second][0]))
    return Pairing(point, groups, tuple(lines), *_accuracy(both, first, second))


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


def sentences(one: Pairing, first: str, second: str) -> list[str]:
    """Returns in words what a comparison shows. It never claims that there is no difference."""
    told = []
    if one.groups[0] != one.groups[1]:
        told.append(
            f"{one.point}: no board has both: {first} has {one.groups[0].words}, {second} {one.groups[1].words}. They differ in "
            "what they are given, so the cheaper one need not be the better algorithm."
        )
    if not any(line.target is None for line in one.lines):
        told.append(
            f"{one.point}: no target gets a verdict, since one of the rows needs fewer than ten steps of the grid for each"
        )
    told += [_sentence(one.point, line, first, second) for line in one.lines]
    if one.accuracy is None:
        told.append(f"{one.point}, accuracy: not compared ({one.left_out})")
    elif one.accuracy.mean is not None and one.at_seconds is not None:
        half = one.accuracy.half_width
        interval = f", {_points(one.accuracy.mean - half)} to {_points(one.accuracy.mean + half)}" if half is not None else ""
        told.append(
            f"{one.point}, accuracy at {one.at_seconds:g} s: {first} less {second} is {_points(one.accuracy.mean)} percentage "
            f"points{interval} ({one.accuracy.n} seeds)"
        )
    return told


def _points(value: float) -> str:
    return f"{100 * value:+.2f}"


def _sentence(point: str, line: Line, first: str, second: str) -> str:
    where = f"{point}, {'all targets' if line.target is None else f'{100 * line.target:g} %'}"
    if line.verdict == "neither":
        return f"{where}: neither arrives"
    sides = f"{first} {_cost(line.first)}, {second} {_cost(line.second)}"
    if line.seeds < LEAST_SEEDS:
        return f"{where}: {sides}; {line.seeds} common seeds say nothing about a difference, at least {LEAST_SEEDS} do"
    ratio = f"{first} / {second} {line.ratio.sign or '='} {line.ratio.value:.2f} {line.ratio.interval}"
    if line.verdict == "open":
        return f"{where}: {sides}; {ratio}; no verdict, the target is reached within ten steps of the grid"
    cheaper = {"first": f"{first} costs less", "second": f"{second} costs less", "tied": "cannot be told apart"}[line.verdict]
    together = f"; among all {line.pairs} pairs of the board {line.together.interval}" if line.pairs > 1 else ""
    return f"{where}: {sides}: {cheaper}; {ratio}{together}"


def _cost(side: Side) -> str:
    misses = "" if side.hits == side.attempts else f" with {side.attempts - side.hits} of {side.attempts} missing"
    return f"{'≥ ' if misses else ''}{side.cost:.3g} s{misses}"
