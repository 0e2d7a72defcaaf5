"""Evaluation on a grid of virtual time that is the same for all algorithms: it costs nothing, draws nothing, changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench.engine.execute import Execution
from fedbench.kernels.scheduler import NANOSECONDS

METRICS = ("test_accuracy", "test_loss", "train_loss")
Progress = Callable[[int, float, float | None], None]


class GridEvaluator:
    """Observer: grid point tau gets the metrics of the newest version with time <= tau."""

    def __init__(self, every_seconds: float, progress: Progress | None = None) -> None:
        self.grid_ns = round(every_seconds * NANOSECONDS)
        self.rows: list[dict[str, float]] = []
        self.progress = progress
        self._last: tuple[int, dict[str, float]] | None = None

    def before_update(self, execution: Execution, version: int, time_ns: int) -> None:
        self._fill(execution, version, -(-time_ns // self.grid_ns))

    def after_update(self, execution: Execution, version: int, time_ns: int) -> None:
        if self.progress:
            accuracy = self.rows[-1]["test_accuracy"] if self.rows else None
            self.progress(version, time_ns / NANOSECONDS, accuracy)

    def finish(self, execution: Execution, end_ns: int) -> None:
        """All grid points up to the end, with the last version."""
        self._fill(execution, execution.version, end_ns // self.grid_ns + 1)

    def _fill(self, execution: Execution, version: int, points: int) -> None:
        """Rows up to grid point `points` - 1; one evaluation serves all points of a version."""
        if len(self.rows) >= points:
            return
        metrics = self.metrics_of(execution, version)
        while len(self.rows) < points:
            self.rows.append({"seconds": len(self.rows) * self.grid_ns / NANOSECONDS, "version": version, **metrics})

    def metrics_of(self, execution: Execution, version: int) -> dict[str, float]:
        """Metrics of the current model, computed once per version."""
        if self._last is None or self._last[0] != version:
            self._last = (version, execution.trainer.evaluate(execution.state.x, execution.buffers))
        return self._last[1]

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The rows as columns: seconds float64, version int64, metrics float32 (NaN where a task has no such metric)."""
        columns: dict[str, npt.NDArray[Any]] = {
            "seconds": np.array([row["seconds"] for row in self.rows], np.float64),
            "version": np.array([row["version"] for row in self.rows], np.int64),
        }
        for name in METRICS:
            columns[name] = np.array([row.get(name, np.nan) for row in self.rows], np.float32)
        return columns
