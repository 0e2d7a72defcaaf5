"""Whether two suites order the rows that both have alike."""

from __future__ import annotations

import numpy as np

from fedbench.analysis import bootstrap
from fedbench.analysis.agreement import LEAST, agreement, of_means
from fedbench.analysis.bootstrap import Interval
from fedbench.analysis.costs import Costs, costs, resolved
from fedbench.analysis.gathered import Rows
from fedbench.suites.findings.numbers import rankings
from fedbench.suites.findings.results import Results
from fedbench.written import estimate


def common(one: Results, other: Results) -> tuple[str, list[str]] | None:
    """Returns the kind of group with the fewest clients at work that both suites have, and their
    common points; None without one of them, or if one suite is a race: its rows have different
    numbers of seeds."""
    if one.race is not None or other.race is not None:
        return None
    kinds = [kind for kind in one.systems if kind in other.systems]
    points = [point.name for point in one.suite.points if point.name in one.tuned and point.name in other.tuned]
    return (kinds[0], points) if kinds and points else None


def told(one: Results, other: Results) -> str:
    """Returns the sentence in Markdown on whether the order of one suite is that of the other;
    nothing if they have too little in common."""
    found = common(one, other)
    if found is None:
        return ""
    kind, points = found
    taus = {point: tau for point in points if (tau := in_group(one, other, kind, point)) is not None}
    if not taus:
        return ""
    verb = "hardly carries" if any(tau.low <= 0 for tau in taus.values()) else "carries"
    each = ", ".join(f"{estimate(*tau)} at {point}" for point, tau in taus.items())
    before = {point: tau for point in points if (tau := by_version_1(one, other, point)) is not None}
    least = min(before, key=lambda point: before[point].value)
    return (
        f"**With {kind} the order {verb} over from {one.suite.name} to {other.suite.name}**: Kendall's tau of the costs is {each}, where 1 "
        f"is the same order and 0 no relation. By version 1 of the rules, which mixed all systems, it was lowest at {least}, "
        f"{estimate(*before[least])}."
    )


def overall(one: Results, other: Results, point: str) -> Interval | None:
    """Returns the agreement of the orders of all tuned rows that both compare at a point, whatever
    their groups, at the targets that then get a verdict."""
    first, second = _costs(one, point), _costs(other, point)
    return None if first is None or second is None else agreement(first, second)


def in_group(one: Results, other: Results, kind: str, point: str) -> Interval | None:
    """Returns the agreement of the orders within a kind of group."""
    first, second = (rankings(side, kind).get(point) for side in (one, other))
    if first is None or second is None or first.found is None or second.found is None:
        return None
    return agreement(first.found.costs, second.found.costs)


def by_version_1(one: Results, other: Results, point: str) -> Interval | None:
    """Returns `overall` by version 1 of the rules: first touch, and the arithmetic mean over all
    targets, where a miss counts with the budget."""
    rows = shared(one, other, point)
    strata = {}
    for name, results in (("first", one), ("second", other)):
        touched, budget = costs(_rows(results, point), rule="touch").among(rows), results.tuned[point].budget
        strata[name] = np.where(touched.missed, budget, touched.spent).mean(axis=2)
    return bootstrap.estimate(strata, of_means) if len(rows) >= LEAST else None


def shared(one: Results, other: Results, point: str) -> list[str]:
    """Returns the rows that both suites compare at a point."""
    return [row.row for row in one.tuned[point].ranked if (found := other.tuned[point].of(row.row)) and found.ranking]


def shared_in_group(one: Results, other: Results, kind: str, point: str) -> list[str]:
    """Returns the rows that both suites compare at a point within a kind of group."""
    first, second = (rankings(side, kind).get(point) for side in (one, other))
    return [] if first is None or second is None else [row for row in first.rows if row in second.rows]


def _costs(results: Results, point: str) -> Costs | None:
    rows = _rows(results, point)
    found = costs(rows)
    every = next(iter(rows.values()))[0].spec.scenario.evaluation.spacing["every_seconds"]
    targets = resolved(found, every)
    return found.at(targets) if targets else None


def _rows(results: Results, point: str) -> Rows:
    rows = results.complete(tuned=True)[point]
    return {one.row: rows[one.row] for one in results.tuned[point].ranked}
