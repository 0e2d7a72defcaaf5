"""A metric at the horizon as lines of a table: every row has a line at every point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fedbench.analysis.at_horizon import AtHorizon, at_horizon
from fedbench.analysis.axes import Axis
from fedbench.analysis.pictures import Rows
from fedbench.analysis.standings import Comparison
from fedbench.analysis.statistics import Estimate
from fedbench.errors import UsageError


@dataclass(frozen=True)
class MetricLine:
    """One row at one point.

    system: the kind of its group, empty for a reference, which is not compared.
    at: the place on the axis where the metric is read.
    is_limit: whether that is the horizon, and no earlier place that somebody asked for.
    left_out: why the row is not compared; empty if it is.
    """

    point: str
    row: str
    system: str
    metric: str
    axis: Axis
    at: float
    is_limit: bool
    estimate: Estimate
    comparison: Comparison
    left_out: str

    @property
    def is_ahead(self) -> bool:
        """Returns whether the row has the best mean of its system, or cannot be told from it."""
        return self.comparison.standing in ("best", "tied", "ahead")


def metric_lines(points: Mapping[str, Rows], metric: str, axis: Axis, at: float | None = None) -> list[MetricLine]:
    """Returns the lines of all points. At a point the systems have the order of `Group.place`, with
    references behind them, and their rows go from the best mean on.

    Args:
        points: by point, the runs of its rows.
        metric: a column of the curves.
        axis: what the runs have spent alike.
        at: a place before the horizon; None for the horizon.

    Raises:
        UsageError: if no row of a point is compared, or as `at_horizon` raises it.
    """
    lines: list[MetricLine] = []
    for point, rows in points.items():
        try:
            found = at_horizon(rows, metric, axis, at)
        except UsageError as error:
            raise UsageError(f"{point}: {error}") from None
        place = found.where.at
        if place is None:
            row, why = next(iter(found.left_out.items()), ("every row", "a reference"))
            raise UsageError(f"{point}: no row is compared by {metric}: {row}: {why}")

        def key(row: str, found: AtHorizon = found) -> tuple[object, ...]:
            system, mean = found.systems.get(row), found.estimates[row].mean
            worse = -(mean or 0.0) if found.higher_is_better else mean or 0.0
            return system is None, system.place if system else (), row in found.left_out, mean is None, worse, row

        lines += [
            MetricLine(
                point=point,
                row=row,
                system=found.systems[row].kind if row in found.systems else "",
                metric=metric,
                axis=axis,
                at=place,
                is_limit=at is None,
                estimate=found.estimates[row],
                comparison=found.comparisons[row],
                left_out=found.left_out.get(row, ""),
            )
            for row in sorted(rows, key=key)
        ]
    return lines
