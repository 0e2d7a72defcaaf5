"""A metric of the rows of one scenario at the horizon, and how the rows of a system compare
there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fedbench.analysis.axes import Axis
from fedbench.analysis.curves import value_at
from fedbench.analysis.groups import Group, group_of_run
from fedbench.analysis.horizon import Horizon, horizon, why_not_compared
from fedbench.analysis.metrics import is_higher_better
from fedbench.analysis.pictures import Rows, is_reference
from fedbench.analysis.standings import UNKNOWN, Comparison, standings
from fedbench.analysis.statistics import Estimate, estimate
from fedbench.errors import UsageError


@dataclass(frozen=True)
class AtHorizon:
    """A metric at the horizon, by row.

    where: the horizon.
    left_out: why a row is not compared, for those that are not. References are none of them.
    estimates: over the seeds of a row.
    comparisons: with the best mean of the rows that share a system.
    systems: of each row that is no reference.
    higher_is_better: whether more of the metric is.
    """

    where: Horizon
    left_out: Mapping[str, str]
    estimates: Mapping[str, Estimate]
    comparisons: Mapping[str, Comparison]
    systems: Mapping[str, Group]
    higher_is_better: bool


def at_horizon(rows: Rows, metric: str, axis: Axis, at: float | None = None) -> AtHorizon:
    """Returns a metric of rows at their horizon on an axis, or at an earlier place `at`. The rule
    is that of `fedbench.analysis.horizon`.

    Raises UsageError for an unknown metric, or for a place that not all compared rows reach.
    """
    better = is_higher_better((run for runs in rows.values() for run in runs), metric)
    rivals = {row: runs for row, runs in rows.items() if not is_reference(runs)}
    left_out = {row: why for row, runs in rivals.items() if (why := why_not_compared(runs, axis, metric))}
    compared = {row: runs for row, runs in rivals.items() if row not in left_out}
    where = horizon(compared, axis)
    if at is not None and where.at is not None:
        if not 0 < at <= where.at:
            selector, run = where.limits[0]
            end = f"{where.at:g}, where {selector}, seed {run.seed} ends"
            raise UsageError(f"{axis.words}: expected a place > 0 and at most {end}, got {at:g}")
        where = replace(where, at=at)
    read = {
        row: {run.seed: None if where.at is None else value_at(run, metric, axis, where.at) for run in runs}
        for row, runs in rows.items()
    }
    systems = {row: group_of_run(runs[0]) for row, runs in rivals.items()}
    known: dict[Group, dict[str, dict[int, float]]] = {}
    for row in compared:
        values = {seed: value for seed, value in read[row].items() if value is not None}
        known.setdefault(systems[row], {})[row] = values
    found = {row: one for group in known.values() for row, one in standings(group, higher_is_better=better).items()}
    references = {row: Comparison("reference") for row in rows if row not in rivals}
    return AtHorizon(
        where,
        left_out,
        {row: estimate(values.values()) for row, values in read.items()},
        {row: found.get(row, references.get(row, UNKNOWN)) for row in rows},
        systems,
        better,
    )
