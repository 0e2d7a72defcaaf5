"""The metrics that are measured along a run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fedbench import written
from fedbench.errors import UsageError, nearest
from fedbench.results.record import Record, own_curves
from fedbench.results.sections import METRICS
from fedbench.scenarios.schema import ACCURACY


def values(record: Record, metric: str) -> NDArray[np.float64]:
    """Returns a metric at each evaluation of a run, (T,) float64, NaN where it does not exist.
    Raises UsageError for an unknown name."""
    check(metric, record)
    return np.asarray(record.curves[metric], dtype=np.float64)


def about(records: Iterable[Record], metric: str) -> list[Record]:
    """Returns the records with their targets in one metric alone, as a comparison by that metric
    takes them. What else they say stays."""
    return [_about(record, metric) for record in records]


def _about(record: Record, metric: str) -> Record:
    scenario = record.spec.scenario
    if all(target.metric == metric for target in scenario.targets):
        return record
    kept = scenario.model_copy(update={"targets": tuple(one for one in scenario.targets if one.metric == metric)})
    return record.model_copy(update={"spec": record.spec.model_copy(update={"scenario": kept})})


def in_words(metric: str, *values: float) -> str:
    """Returns targets as sentences have them: 60, 70 %, or f1 0.6, 0.7."""
    return written.targets(values) if metric == ACCURACY else f"{metric} {', '.join(f'{value:g}' for value in values)}"


def is_higher_better(records: Iterable[Record], metric: str) -> bool:
    """Returns whether more of a metric is better in these runs. Raises UsageError if one of them
    has no metric of this name."""
    several = list(records)
    for record in several:
        check(metric, record)
    return all(record.spec.scenario.sign(metric) > 0 for record in several)


def check(metric: str, record: Record) -> None:
    """Raises UsageError with the nearest match if a record has no metric of this name. It may have
    some of one's own."""
    known = [*METRICS, *own_curves(record.spec.scenario)]
    if metric not in known:
        raise UsageError(f"unknown metric {metric!r}{nearest(metric, known)}")
