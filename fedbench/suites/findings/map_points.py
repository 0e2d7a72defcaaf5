"""What was measured at the points of a design, for the axes of a map that does not predict: nothing
is said of what lies in between."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
from fedbench.written import AT_LEAST, AT_MOST, UNKNOWN, Ratio

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
    """What one algorithm costs where it was measured.

    regrets: by point at which it holds a target.
    at: the point with the largest.
    never: at how many points it holds no target, so that it has no largest regret.
    best: at how many points it is in the set of the best.
    """

    row: str
    regrets: dict[str, Ratio]
    at: str
    never: int
    best: int

    @property
    def largest(self) -> Ratio:
        return self.regrets[self.at]


def always(results: Results) -> tuple[int, list[Always]]:
    """Returns how many points of the design have a verdict in seconds, and every algorithm that
    holds a target at one: those that hold one at most points first, and of these those with the
    smallest largest regret."""
    ranked = _rankings(results)
    rows = []
    for row in dict.fromkeys(row for one in ranked.values() for row in one.rows):
        known = {point: one.shown(row) for point, one in ranked.items() if row in one.rows}
        regrets = {point: one for point, one in known.items() if one is not None}
        if regrets:
            at = max(regrets, key=lambda point, regrets=regrets: regrets[point].value)  # type: ignore[misc]
            rows.append(Always(row, regrets, at, len(known) - len(regrets), sum(row in one.best for one in ranked.values())))
    return len(ranked), sorted(rows, key=lambda one: (-len(one.regrets), one.largest.value))


def worst(results: Results) -> Iterator[str]:
    """Yields the table of the largest regret of each algorithm that was measured."""
    count, rows = always(results)
    yield (
        f"The largest regret of each algorithm in seconds over those of the {count} points of the design at which it holds a target. It is "
        "overstated by chance, as the largest of several numbers is, and a lower bound where targets are missed: then the order says "
        "little. At other points an algorithm holds no target, or cannot run. Last, at how many it is in the set of the best."
    )
    cells = [
        (one.row, str(one.largest), one.at, f"{len(one.regrets)}", f"{one.never}", f"{one.best}") for one in rows[:MOST_WORST]
    ]
    yield table(("algorithm", "largest regret", "at", "holds a target at", "holds none at", "among the best at"), cells)
    if len(rows) > MOST_WORST:
        yield f"The next {len(rows) - MOST_WORST} are left out."


@dataclass(frozen=True)
class AtLevel:
    """What algorithms cost in seconds at the points of the design with one level of a factor that
    have a verdict: how many points these are, and by algorithm that is compared at all of them the
    median of its regrets and the largest, from the smallest median on. The largest is None if it
    holds no target at one of the points."""

    factor: str
    level: Value
    points: int
    rows: dict[str, tuple[Ratio, Ratio | None]]


def by_level(results: Results) -> list[AtLevel]:
    """Returns the regrets at each level. Nothing else is held fixed: the other factors differ
    between these points. Of two in the middle the larger one is the median."""
    ranked, found = _rankings(results), []
    for name, factor in results.suite.designed().factors.items():
        for level in factor.values:
            there = [one for point, one in ranked.items() if results.suite.point(point).levels[name] == level]
            rows: dict[str, tuple[Ratio, Ratio | None]] = {}
            for row in sorted(set.intersection(*(set(one.rows) for one in there)) if there else ()):
                known = sorted((one for ranking in there if (one := ranking.shown(row)) is not None), key=lambda one: one.value)
                if len(known) > (half := len(there) // 2):
                    rows[row] = _last(known[: half + 1]), _last(known) if len(known) == len(there) else None
            order = sorted(
                rows, key=lambda row: (rows[row][0].value, math.inf if (one := rows[row][1]) is None else one.value, row)
            )
            if there:
                found.append(AtLevel(name, level, len(there), {row: rows[row] for row in order}))
    return found


def _last(ascending: Sequence[Ratio]) -> Ratio:
    """Returns the last one without an interval; a lower bound if one of them is, since that one may
    be larger."""
    value = ascending[-1].value
    return Ratio(value, value, math.inf if any(math.isinf(one.high) for one in ascending) else value)


def levels(results: Results) -> Iterator[str]:
    """Yields the table of `by_level`."""
    yield (
        f"The median of the regrets in seconds over the points of the design with a level, and the largest: the {MOST_AT_LEVEL} algorithms "
        "with the smallest median (the larger of two in the middle), of those that run at all of these points. Most are lower bounds, and "
        "none has an interval, so the order of close ones says nothing. The other factors differ between the points."
    )
    rows = []
    for one in by_level(results):
        found = [
            f"{row} {middle.text}, at worst {'no target' if largest is None else largest.text}"
            for row, (middle, largest) in one.rows.items()
        ]
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
    return {pair: sorted(_known(several), key=lambda one: one.ratio.value) for pair, several in found.items()}


def _known(several: Sequence[numbers.Waiting]) -> Sequence[numbers.Waiting]:
    """Returns those that are bounded from a side; all, if none is."""
    return [one for one in several if not all(one.misses)] or several


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
        "the points of each cell, the smallest and the largest, which are overstated by chance. All other factors differ between these "
        f"points. {AT_LEAST} is at least and {AT_MOST} at most, since one of the two misses targets; where both do ({UNKNOWN}) "
        "nothing is known, and a point is left out if the cell has others."
    )
    yield table(["spread", *(f"{told(b)} at work" for b in second)], rows)


def _range(several: Sequence[numbers.Waiting]) -> str:
    ends = [f"{one}" for one in ends_of(several)]
    return " to ".join(ends) + (f" ({len(several)} points)" if len(several) > 1 else "")


def ends_of(several: Sequence[numbers.Waiting]) -> list[numbers.Waiting]:
    """Returns the first and the last of several, or the only one."""
    return [*several[:1], *several[1:][-1:]]
