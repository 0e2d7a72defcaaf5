"""The metrics of the last version of a run."""

from __future__ import annotations

import math

import numpy as np

from fedbench.engine.evaluate import Evaluator, GridEvaluator
from fedbench.engine.execute import Execution
from fedbench.engine.measures import worst_decile
from fedbench.kernels.scheduler import NANOSECONDS
from fedbench.results.sections import METRICS, Final, Outcome

OVER_CLIENTS = ("client_accuracy_mean", "client_accuracy_worst_decile")


def final(
    evaluator: Evaluator, grid: GridEvaluator, execution: Execution, end_ns: int, outcome: Outcome, evaluated_on: str
) -> Final:
    """Returns the metrics of the last version and the set on which they were evaluated. Metrics are
    None if they do not exist, as after a divergence."""
    found: dict[str, float | None] = dict.fromkeys((*METRICS, *OVER_CLIENTS))
    own: dict[str, float | None] = dict.fromkeys(evaluator.others)
    if outcome.state != "diverged":
        accuracy = np.sort(evaluator.parts(*execution.judged()).client_accuracy)
        metrics = grid.metrics_of(execution, execution.version)
        found = {name: _finite(metrics[name]) for name in METRICS} | {
            "client_accuracy_mean": _finite(float(accuracy.mean())),
            "client_accuracy_worst_decile": _finite(worst_decile(accuracy, higher_is_better=True)),
        }
        own = {name: _finite(metrics[name]) for name in own}
    return Final(version=execution.version, seconds=end_ns / NANOSECONDS, evaluated_on=evaluated_on, own=own, **found)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
