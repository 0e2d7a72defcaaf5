"""What was measured at the points of a design, for the axes of a map that does not predict: nothing
is said of what lies in between."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fedbench.analysis.axes import SECONDS
from fedbench.analysis.ranking import Ranking
from fedbench.suites.design.schema import Value
from fedbench.suites.findings import numbers
from fedbench.suites.findings.markdown import table
from fedbench.suites.findings.results import Results
from fedbench.suites.findings.tables import OTHER_AXES, cell
from fedbench.suites.mapped import factors
from fedbench.suites.mapped.factors import AT_WORK, SPREAD, told
from fedbench.suites.suite import Point
from fedbench.written import Ratio

MOST_WORST, MOST_AT_LEVEL = 12, 4
UNITS = {"seconds": "seconds", **{axis: words for axis, (words, _) in OTHER_AXES.items()}}


def measured(results: Results, axes: Sequence[str]) -> Iterator[str]:
    """Yields the table of points: the cheapest row and the set of the best of each."""
    middle = factors.base(results.suite.designed())
    yield (
        "Each cell has the cheapest algorithm with its cost, then the others of the set of the best with their regret. Factors that "
        f"are not named are as in the middle: {factors.in_words(middle)}. On the site each point has a board of all its algorithms."
    )
    rows = []
    for point in (one for one in results.suite.points if one.kind in ("design", "held_out")):
        changed = {name: level for name, level in point.levels.items() if level != middle[name] or name == AT_WORK}
        rows.append([point.name, factors.in_words(changed), *(cell(_ranking(results, point, axis), axis) for axis in axes)])
    yield table(["point", "levels", *(f"fewest {UNITS[axis]}" for axis in axes)], rows)


def _ranking(results: Results, point: Point, axis: str = SECONDS.name) -> Ranking | None:
    """Returns the ranking of the rows without public data at a point."""
    board = (results.tuned or results.default).get(point.name)
    groups = [] if board is None else [group for group in board.groups if not group.public_data]
    return board.ranking(groups[0], axis) if board is not None and groups else None


def _rankings(results: Results) -> dict[str, Ranking]:
    """Returns the rankings in seconds at the points of the design that give a verdict."""
    found = {point.name: _ranking(results, point) for point in results.suite.points if point.kind == "design"}
    return {name: one for name, one in found.items() if one is not None and one.leader is not None}


def best(results: Results) -> dict[str, list[str]]:
    """Returns the sets of the best in seconds at the points of the design that have one."""
    return {name: one.best for name, one in _rankings(results).items()}


@dataclass(frozen=True)
class Always:
    """What one algorithm costs where it was measured: its regrets by point, the point with the
    largest, and at how many of them it is in the set of the best."""

    row: str
    regrets: dict[str, Ratio]
    at: str
    best: int

    @property
    def largest(self) -> Ratio:
        return self.regrets[self.at]


def always(results: Results) -> tuple[int, list[Always]]:
    """Returns how many points of the design have a verdict in seconds, and every algorithm: those
    with most points first, and of these those with the smallest largest regret."""
    ranked = _rankings(results)
    rows = []
    for row in dict.fromkeys(row for one in ranked.values() for row in one.rows):
        regrets = {point: found for point, one in ranked.items() if row in one.rows and (found := one.regret(row)) is not None}
        at = max(regrets, key=lambda point, regrets=regrets: regrets[point].value)  # type: ignore[misc]
        rows.append(Always(row, regrets, at, sum(row in one.best for one in ranked.values())))
    return len(ranked), sorted(rows, key=lambda one: (-len(one.regrets), one.largest.value))


def worst(results: Results) -> Iterator[str]:
    """Yields the table of the largest regret of each algorithm that was measured."""
    count, rows = always(results)
    yield (
        f"The largest regret of each algorithm in seconds over the {count} points of the design with a verdict. It is overstated by "
        "chance, as the largest of several numbers is. An algorithm is not compared at points where it cannot run, or from which a race "
        "dropped it and went on; there others cost less. Last, at how many points it is in the set of the best."
    )
    cells = [(one.row, str(one.largest), one.at, f"{len(one.regrets)}", f"{one.best}") for one in rows[:MOST_WORST]]
    yield table(("algorithm", "largest regret", "at", "compared at", "among the best at"), cells)


@dataclass(frozen=True)
class AtLevel:
    """What algorithms cost in seconds at the points of the design with one level of a factor that
    have a verdict: how many points these are, and by algorithm that is compared at all of them the
    median of its regrets and the largest, from the smallest median on."""

    factor: str
    level: Value
    points: int
    rows: dict[str, tuple[Ratio, Ratio]]


def by_level(results: Results) -> list[AtLevel]:
    """Returns the regrets at each level. Nothing else is held fixed: the other factors differ
    between these points. Of two in the middle the larger one is the median."""
    ranked, found = _rankings(results), []
    for name, factor in results.suite.designed().factors.items():
        for level in factor.values:
            there = [one for point, one in ranked.items() if results.suite.point(point).levels[name] == level]
            rows = {}
            for row in sorted({row for one in there for row in one.rows}):
                regrets = [one.regret(row) for one in there if row in one.rows]
                known = sorted((one for one in regrets if one is not None), key=lambda one: one.value)
                if len(known) == len(there):
                    rows[row] = (_last(known[: len(known) // 2 + 1]), _last(known))
            order = sorted(rows, key=lambda row: (*(one.value for one in rows[row]), row))
            if there:
                found.append(AtLevel(name, level, len(there), {row: rows[row] for row in order}))
    return found


def _last(ascending: Sequence[Ratio]) -> Ratio:
    """Returns the last one; a lower bound if one of them is, since that one may be larger."""
    is_bound = any(math.isinf(one.high) for one in ascending)
    return replace(ascending[-1], high=math.inf) if is_bound else ascending[-1]


def levels(results: Results) -> Iterator[str]:
    """Yields the table of `by_level`."""
    yield (
        f"The median of the regrets in seconds over the points of the design with a level, and the largest: the {MOST_AT_LEVEL} algorithms "
        "with the smallest median, of those that are compared at all of these points. The other factors differ between the points, so "
        "this says what was measured, and predicts nothing."
    )
    rows = []
    for one in by_level(results):
        found = [f"{row} {middle.text}, at worst {largest.text}" for row, (middle, largest) in one.rows.items()]
        rows.append([factors.in_words({one.factor: one.level}), f"{one.points}", "; ".join(found[:MOST_AT_LEVEL])])
    yield table(("level", "points", "median regret"), rows)


def prices(results: Results) -> dict[tuple[Value, Value], list[numbers.Waiting]]:
    """Returns the prices of waiting at the points of the design by spread and clients at work, from
    the smallest on."""
    found: dict[tuple[Value, Value], list[numbers.Waiting]] = {}
    for name, one in _rankings(results).items():
        levels, price = results.suite.point(name).levels, numbers.waiting(one, results.synchronous)
        if price is not None:
            found.setdefault((levels[SPREAD], levels[AT_WORK]), []).append(price)
    return {pair: sorted(several, key=lambda one: one.ratio.value) for pair, several in found.items()}


def waiting(results: Results) -> Iterator[str]:
    design = results.suite.designed()
    if SPREAD not in design.factors or AT_WORK not in design.factors:
        yield f"The design has no {SPREAD} or no {AT_WORK}."
        return
    found = prices(results)
    second = [level for level in design.factors[AT_WORK].values if any(pair[1] == level for pair in found)]
    rows = [[told(a), *(_range(found.get((a, b), [])) for b in second)] for a in design.factors[SPREAD].values]
    yield (
        "The cost in seconds of the cheapest algorithm in rounds over that of the cheapest one that does not wait, as measured: at "
        "the points of each cell, the smallest and the largest. All other factors differ between these points."
    )
    yield table(["spread", *(f"{told(b)} at work" for b in second)], rows)


def _range(several: Sequence[numbers.Waiting]) -> str:
    ends = [f"{one}" for one in ends_of(several)]
    return " to ".join(ends) + (f" ({len(several)} points)" if len(several) > 1 else "")


def ends_of(several: Sequence[numbers.Waiting]) -> list[numbers.Waiting]:
    """Returns the first and the last of several, or the only one."""
    return [*several[:1], *several[1:][-1:]]
