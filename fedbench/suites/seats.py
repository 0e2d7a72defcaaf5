"""Which record is which row of a suite: by its run id, so nothing is filed twice."""

from __future__ import annotations

from collections.abc import Iterable

from fedbench.results.record import Record
from fedbench.suites import tuned
from fedbench.suites.suite import Suite

Seats = dict[str, dict[str, list[Record]]]
"""By point, then by row, see `tuned.rows`: the runs in order of seed."""


def seats(suite: Suite, frozen: tuned.Tuned | None, records: Iterable[Record]) -> Seats:
    """The rows of a suite that have records, in the suite's order. Where the tuned options are the
    published ones, both rows have the same runs."""
    by_id = {record.run_id: record for record in records}
    found: Seats = {}
    for point, row, specs in tuned.rows(suite, frozen, suite.points, suite.selectors()):
        runs = [by_id[spec.run_id] for spec in specs if spec.run_id in by_id]
        if runs:
            found.setdefault(point, {})[row] = runs
    return found
