"""The metrics that are measured along a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbench.errors import UsageError, nearest
from fedbench.results.record import Record

HIGHER_IS_BETTER = {"test_accuracy": True, "test_loss": False, "train_loss": False}


def values(record: Record, metric: str) -> NDArray[np.float64]:
    """Returns a metric at each evaluation of a run, (T,) float64, NaN where it does not exist.
    Raises UsageError for an unknown name."""
    check(metric)
    return np.asarray(record.curves[metric], dtype=np.float64)


def check(metric: str) -> None:
    """Raises UsageError with the nearest match if there is no metric of this name."""
    if metric not in HIGHER_IS_BETTER:
        raise UsageError(f"unknown metric {metric!r}{nearest(metric, HIGHER_IS_BETTER)}")
