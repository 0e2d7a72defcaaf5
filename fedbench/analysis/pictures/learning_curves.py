"""The data of learning curves: the mean or the median of a metric over the seeds of every row, with
its band, along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedbench.analysis import metrics
from fedbench.analysis.axes import SECONDS, Axis, find
from fedbench.analysis.curves import Band, mean_curve, median_curve
from fedbench.analysis.hits import first_hit
from fedbench.analysis.pictures import Rows
from fedbench.errors import RecordError
from fedbench.results.record import Record


@dataclass(frozen=True)
class Line:
    """The curve of one row.

    at: places on the axis, ascending.
    middle, low, high: the values there. All four are empty if a seed has no value.
    band: what `low` and `high` are, as in `Curve`.
    seeds: the number of runs of the row.
    unfinished: the number of runs that diverged or stalled. The line ends where the first
    of the runs ends.
    hits: for every target the number of seeds that reach it. A run that did not finish reaches
    none.
    """

    row: str
    at: tuple[float, ...]
    middle: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    band: Band
    seeds: int
    unfinished: int
    hits: tuple[int, ...]


@dataclass(frozen=True)
class LearningCurves:
    """The lines of one scenario in the order of its rows. `targets` are those of the metric,
    ascending."""

    axis: str
    axis_title: str
    unit: str
    metric: str
    targets: tuple[float, ...]
    lines: tuple[Line, ...]


def learning_curves(
    rows: Rows, axis: str | Axis = SECONDS, metric: str = "test_accuracy", *, quartiles: bool = False
) -> LearningCurves:
    """Returns the curve of every row, see `fedbench.analysis.curves`.

    Args:
        rows: the runs of one scenario by row.
        axis: seconds, updates, gradient_evaluations, steps or bytes.
        metric: test_accuracy, test_loss, train_loss, or one of the scenario's own.
        quartiles: whether lines are medians with quartiles, rather than means with intervals.

    Raises:
        UsageError: for an unknown axis or metric.
        RecordError: without rows, for a row without runs, or for records that lack the axis.
    """
    where = find(axis)
    if not rows or not all(rows.values()):
        raise RecordError(f"learning curves: expected rows with at least one run each, got {len(rows)} rows")
    first = next(iter(rows.values()))[0]
    metrics.check(metric, first)
    scenario = first.spec.scenario
    targets = sorted(float(one.value) for one in scenario.targets if one.metric == metric)
    lines = tuple(_line(row, runs, where, metric, targets, quartiles) for row, runs in rows.items())
    return LearningCurves(where.name, where.title, where.unit, metric, tuple(targets), lines)


def _line(row: str, runs: Sequence[Record], axis: Axis, metric: str, targets: Sequence[float], quartiles: bool) -> Line:
    curve = (median_curve if quartiles else mean_curve)(runs, metric, axis)
    at, middle, low, high = (tuple(column.tolist()) for column in (curve.at, curve.middle, curve.low, curve.high))
    finished = [run for run in runs if run.state == "finished"]
    hits = tuple(sum(first_hit(run, metric, value).reached is not None for run in finished) for value in targets)
    return Line(row, at, middle, low, high, curve.band, len(runs), len(runs) - len(finished), hits)
