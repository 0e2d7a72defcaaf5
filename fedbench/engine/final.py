"""The metrics of the last version of a run."""

from __future__ import annotations

import math

import numpy as np

from fedbench.engine.evaluate import Evaluator, GridEvaluator
from fedbench.engine.execute import Execution
from fedbench.kernels.scheduler import NANOSECONDS
from fedbench.results.sections import Final, Outcome


def final(
    evaluator: Evaluator, grid: GridEvaluator, execution: Execution, end_ns: int, outcome: Outcome, evaluated_on: str
) -> Final:
    """Returns the metrics of the last version and the set on which they were evaluated. Metrics are
    None if they do not exist, as after a divergence."""
    names = (*grid.names, "client_accuracy_mean", "client_accuracy_worst_decile")
    found: dict[str, float | None] = dict.fromkeys(names)
    if outcome.state != "diverged":
        accuracy = np.sort(evaluator.per_client(*execution.judged()))
        worst = accuracy[: max(1, len(accuracy) // 10)]
        metrics = grid.metrics_of(execution, execution.version) | {
            "client_accuracy_mean": float(accuracy.mean()),
            "client_accuracy_worst_decile": float(worst.mean()),
        }
        found = {name: metrics[name] if math.isfinite(metrics[name]) else None for name in names}
    own = {name: found.pop(name) for name in evaluator.own}
    return Final(version=execution.version, seconds=end_ns / NANOSECONDS, evaluated_on=evaluated_on, own=own, **found)
