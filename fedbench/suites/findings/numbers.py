"""Numbers over several points or boards, with intervals over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedbench.analysis import bootstrap
from fedbench.analysis.axes import AXES, SECONDS
from fedbench.analysis.bootstrap import Floats, Interval, Strata
from fedbench.analysis.costs import costs, reached
from fedbench.analysis.ranking import Ranking
from fedbench.analysis.reaching import Rule
from fedbench.documents.suite import Average
from fedbench.suites.findings.results import Results
from fedbench.written import estimate, sign


def rankings(results: Results, kind: str, axis: str = SECONDS.name, *, tuned: bool = True) -> dict[str, Ranking]:
    """Returns by point the rankings of a kind of group that give a verdict."""
    boards = results.tuned if tuned else results.default
    found = {
        point: boards[point].ranking(group, axis)
        for point, group in results.systems[kind].items()
        if point in boards and group in boards[point].groups
    }
    return {point: one for point, one in found.items() if one.leader is not None}


def have_same_seeds(found: Iterable[Ranking]) -> bool:
    """Returns whether all rankings are over the same seeds. A race leaves others; a number over
    several of them would then be a mean over different numbers of seeds."""
    return len({one.found.costs.seeds for one in found if one.found is not None}) <= 1


def can_be_drawn(found: Iterable[Ranking]) -> bool:
    """Returns whether all rankings have as many seeds as an interval by draws of seeds needs."""
    return all(one.found is not None and len(one.found.costs.seeds) >= bootstrap.LEAST for one in found)


def always(found: Mapping[str, Ranking]) -> list[Average]:
    """Returns what it costs to always use one row, from the row with the smallest mean ratio to
    that with the largest. Only rows that all of the points have are compared, since a mean over
    other points is of other costs. In every draw of seeds the cheapest row of a point is found
    anew. Empty for points with different numbers of seeds, as a race leaves them, and for fewer
    seeds than can be drawn."""
    if not found or not have_same_seeds(found.values()) or not can_be_drawn(found.values()):
        return []
    shared = [row for row in next(iter(found.values())).rows if all(row in one.rows for one in found.values())]
    strata = {point: _logs(one) for point, one in found.items()}
    result = []
    for row in shared:
        places = {point: one.rows.index(row) for point, one in found.items()}

        def mean_ratio(means: Strata, places: Mapping[str, int] = places) -> Floats:
            return np.asarray(np.mean([v[:, places[point]] - v.min(axis=1) for point, v in means.items()], axis=0), np.float64)

        ratio = bootstrap.estimate(strata, mean_ratio)
        each = {point: float(v.mean(axis=0)[places[point]] - v.mean(axis=0).min()) for point, v in strata.items()}
        worst = max(each, key=lambda point: each[point])
        value, low, high = map(math.exp, ratio)
        is_bound = any(one.misses(row) for one in found.values())
        most = math.exp(each[worst])
        result.append(
            Average(row=row, ratio=(value, low, high), worst=most, worst_at=worst, points=len(found), is_bound=is_bound)
        )
    return sorted(result, key=lambda one: one.ratio[0])


def _logs(one: Ranking) -> Floats:
    """Returns the log costs of the rows over seeds (n, K), as means over targets."""
    assert one.found is not None
    return np.asarray(one.found.costs.log.mean(axis=2))


@dataclass(frozen=True)
class Waiting:
    """The price of waiting: the cost of the cheapest row in rounds over that of the cheapest one
    without. `misses` says whether these two miss targets."""

    ratio: Interval
    misses: tuple[bool, bool]

    def __str__(self) -> str:
        return estimate(*self.ratio, sign(*self.misses))


def waiting(one: Ranking, synchronous: Sequence[str]) -> Waiting | None:
    """Returns the price of waiting. Every draw of seeds has its own cheapest rows; with fewer seeds
    than can be drawn the interval is that of the two rows that are the cheapest, and has no width
    if one of them misses a target. None if one of the
    sides has no row that reaches a target."""
    if one.found is None:
        return None
    sides = [[k for k in one.found.order if (one.rows[k] in synchronous) == is_first] for is_first in (True, False)]
    if not all(side and one.found.reaches[side].any() for side in sides):
        return None
    first, second = sides
    misses = one.misses(one.rows[first[0]]), one.misses(one.rows[second[0]])
    if not can_be_drawn([one]):
        pair = one.found.pair(first[0], second[0])
        ends = (pair.value, pair.value) if any(misses) else (pair.low, pair.high)
        return Waiting(Interval(pair.value, *ends), misses)
    found = bootstrap.estimate({"": _logs(one)}, lambda means: means[""][:, first].min(axis=1) - means[""][:, second].min(axis=1))
    return Waiting(Interval(*(math.exp(value) for value in found)), misses)


def default_over_tuned(results: Results, row: str) -> dict[str, float]:
    """Returns by point the cost of a row with default options over that with tuned ones, at the
    targets that get a verdict for the tuned row's group. Where a race gave them different numbers
    of seeds, those that both have count; there are no points if these are not as many everywhere.
    A miss counts with what the run had spent.
    Points without a verdict, and those at which neither reaches a target, are left out."""
    found, counts = {}, set[int]()
    defaults, tuned = results.complete(tuned=False), results.complete(tuned=True)
    for point, of_point in tuned.items():
        standing = results.tuned[point].of(row)
        if standing is None or standing.ranking is None or not standing.ranking.targets or row not in defaults.get(point, {}):
            continue
        pairs = zip(defaults[point][row], of_point[row], strict=False)  # seeds ascend from the same first one
        default, own = zip(*pairs, strict=True)
        counts.add(len(own))
        both = costs({"default": default, "tuned": own}).at(standing.ranking.targets)
        if not both.missed.all():
            found[point] = math.exp(both.score[0] - both.score[1])
    return found if len(counts) <= 1 else {}


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def leaders(results: Results, kind: str, point: str) -> dict[Rule, str | None]:
    """Returns the cheapest row of a group by rule of holding a target."""
    group, board = results.systems[kind][point], (results.tuned or results.default)[point]
    return {rule: row for (of, rule), row in board.leaders.items() if of == group}


def at_half(results: Results, row: str) -> float | None:
    """Returns the geometric mean over points of what half of the trials would have found, see
    `fedbench.suites.luck`; None without trials."""
    found = [one.at_half for (_, label), one in results.luck.items() if label == row]
    return geometric_mean(found) if found else None


@dataclass(frozen=True)
class SideBySide:
    """The cheapest rows of two kinds of groups, `more` clients at work over `fewer`: what they take
    until the hardest target that rows of both hold with every seed, as geometric means over
    points."""

    fewer: str
    more: str
    seconds: float
    gradients: float
    points: int


def side_by_side(results: Results) -> SideBySide | None:
    """Returns the comparison of the group with the fewest clients at work with that of all clients.
    Of each, the cheapest of the rows that hold the target with every seed is taken. None without
    two such groups, without public data, at a common point."""
    kinds = [kind for kind, groups in results.systems.items() if not next(iter(groups.values())).public_data]
    if len(kinds) < 2:
        return None
    few, more = (rankings(results, kind) for kind in (kinds[0], kinds[-1]))
    ratios = [both for point in few.keys() & more.keys() if (both := _hardest(results, point, few[point], more[point]))]
    if not ratios:
        return None
    seconds, gradients = np.exp(np.mean(np.log(np.array(ratios)), axis=0)).T
    return SideBySide(kinds[0], kinds[-1], float(seconds[1] / seconds[0]), float(gradients[1] / gradients[0]), len(ratios))


def _hardest(results: Results, point: str, few: Ranking, more: Ranking) -> list[tuple[float, float]] | None:
    """Returns seconds and gradients of the cheapest row of both groups at the hardest target that
    rows of both hold with every seed; None if there is no such target with a verdict, or if the
    groups have different numbers of seeds."""
    if few.found is None or more.found is None or few.found.costs.seeds != more.found.costs.seeds:
        return None
    scenario = results.suite.scenario_at(results.suite.point(point))
    sign = scenario.sign(scenario.compared[0].metric)
    for target in sorted(set(few.targets) & set(more.targets), key=lambda one: -sign * one):
        found = [_cheapest_at(results, point, one, target) for one in (few, more)]
        if all(found):
            return [one for one in found if one is not None]
    return None


def _cheapest_at(results: Results, point: str, one: Ranking, target: float) -> tuple[float, float] | None:
    of_group = reached({row: results.complete(tuned=True)[point][row] for row in one.rows})
    seconds, gradients = (of_group.on(AXES[axis]).at([target]) for axis in ("seconds", "gradient_evaluations"))
    times = np.where(seconds.missed.any(axis=(0, 2)), np.inf, seconds.by_target[:, 0])
    first = int(times.argmin())
    return (float(times[first]), float(gradients.by_target[first, 0])) if np.isfinite(times[first]) else None


def mean_regret(found: Mapping[str, Ranking], row: str) -> float:
    """Returns the mean log regret of a row over the points that have it."""
    values = [math.log(regret.value) for one in found.values() if row in one.rows and (regret := one.regret(row)) is not None]
    return math.fsum(values) / len(values)
