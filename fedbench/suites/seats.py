"""Assigns records to the rows of a suite by their run ids."""

from __future__ import annotations

from collections.abc import Iterable

from fedbench.analysis.groups import Group, group_of
from fedbench.results.record import Record
from fedbench.suites import tuned
from fedbench.suites.suite import Point, Suite
from fedbench.suites.tuned import TUNED

Seats = dict[str, dict[str, list[Record]]]
"""By point and by row, as `tuned.rows` names them: the runs in order of seed."""


def seats(suite: Suite, frozen: tuned.Tuned | None, records: Iterable[Record]) -> Seats:
    """Returns the rows of a suite that have records, in the suite's order. If the tuned options of
    an algorithm are the default ones, both of its rows have the same runs."""
    by_id = {record.run_id: record for record in records}
    found: Seats = {}
    for point, row, specs in tuned.rows(suite, frozen, suite.points, suite.selectors()):
        runs = [by_id[spec.run_id] for spec in specs if spec.run_id in by_id]
        if runs:
            found.setdefault(point, {})[row] = runs
    return found


def group_of_row(suite: Suite, frozen: tuned.Tuned | None, point: Point, row: str) -> Group:
    """Returns the system that a row has at a point: how many clients may be at work, and whether
    there are public data. It is named as `tuned.rows` names it."""
    selector = row.removesuffix(TUNED)
    choice = frozen.points.get(point.name, {}).get(selector) if frozen is not None and row != selector else None
    scenario = suite.scenario_at(point)
    algorithm = suite.algorithm(selector, choice.options if choice else None, point)
    return group_of(algorithm, scenario.clients, scenario.at_work)
