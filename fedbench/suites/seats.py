"""Assigns records to the rows of a suite by their run ids."""

from __future__ import annotations

from collections.abc import Iterable

from fedbench.results.record import Record
from fedbench.suites import tuned
from fedbench.suites.suite import Suite

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
