"""Which record is which row of a suite: by its run id, so nothing is filed twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fedbench.results.record import Record
from fedbench.suites import suite as suites
from fedbench.suites import tuned
from fedbench.suites.suite import Suite

TUNED = " (tuned)"
Seats = dict[str, dict[str, list[Record]]]
"""By point, then by row, such as `fedbuff` with its published options and `fedbuff (tuned)`: the runs in order of seed."""


def seats(suite: Suite, frozen: tuned.Tuned | None, records: Iterable[Record]) -> Seats:
    """The rows of a suite that have records, in the suite's order. Where the tuned options are the published ones, both rows have the same
    runs."""
    by_id: Mapping[str, Record] = {record.run_id: record for record in records}
    selectors = suite.selectors()
    wanted = [(point.name, selector, spec) for point, selector, spec in suites.published(suite, suite.points, selectors)]
    if frozen is not None:
        wanted += [
            (point.name, selector + TUNED, spec) for point, selector, spec in tuned.runs(suite, frozen, suite.points, selectors)
        ]
    found: Seats = {point.name: {} for point in suite.points}
    for point, row, spec in wanted:
        record = by_id.get(spec.run_id)
        if record is not None:
            found[point].setdefault(row, []).append(record)
    return {point: rows for point, rows in found.items() if rows}
