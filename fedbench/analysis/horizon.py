"""The horizon: the place on an axis at which the accuracies of a scenario are compared. All
compared runs reach it.

Runs may end by different causes: the time budget, the cap on updates, divergence. Their final
accuracies then belong to different efforts, so final accuracies are never ranked. The rule, for one
scenario and one axis:

1. A row is not compared if one of its seeds did not finish (it diverged or stalled), has no
   evaluation with an accuracy, or spent nothing on the axis. Such a row does not move the horizon,
   however early it ended; it is shown with its reason.
2. A reference, such as one worker with everybody's data, is shown but not compared, and does not
   move the horizon.
3. The horizon is the smallest end, on the axis, of all runs that are left. A run that was ended by
   the cap on updates may therefore set it, since its curve beyond that end is not known.
4. Where runs stop at their targets (`stop_at_target`) no row is compared. A run that stops because
   its accuracy is high at that moment looks better than it is, even if it was high at several
   evaluations in a row (`hold_points`). Such runs are compared by what the targets take.
5. Every compared seed counts with its newest evaluation at or before the horizon, without
    interpolation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedbench.analysis.axes import Axis, along
from fedbench.analysis.curves import value_at
from fedbench.analysis.metrics import values
from fedbench.results.record import Record

ACCURACY = "test_accuracy"


@dataclass(frozen=True)
class Horizon:
    """The horizon of one scenario on one axis.

    at: the place on the axis, None if no row is compared.
    limits: selector and run of the compared runs that end there.
    is_shared: whether all compared runs end there.
    """

    axis: Axis
    at: float | None
    limits: tuple[tuple[str, Record], ...]
    is_shared: bool


def horizon(rows: Mapping[str, Sequence[Record]], axis: Axis) -> Horizon:
    """Returns the horizon of the rows that are compared; `rows` has their runs by selector."""
    ends = [(float(along(run, axis)[-1]), selector, run) for selector, runs in rows.items() for run in runs]
    at = min((end for end, _, _ in ends), default=None)
    limits = tuple((selector, run) for end, selector, run in ends if end == at)
    return Horizon(axis, at, limits, is_shared=len(limits) == len(ends))


def accuracy_at(run: Record, where: Horizon) -> float | None:
    """Returns the accuracy that counts for one seed, None without a horizon or for a run that ends
    before it."""
    return None if where.at is None else value_at(run, ACCURACY, where.axis, where.at)


def why_not_compared(runs: Sequence[Record], axis: Axis, metric: str = ACCURACY) -> str:
    """Returns why the rule leaves a row out, such as `1 of 3 seeds diverged`; nothing if it does
    not. Another metric stands where the rule says accuracy."""
    reasons = Counter(reason for run in runs if (reason := _why_not(run, axis, metric)))
    return ", ".join(f"{count} of {len(runs)} seeds {reason}" for reason, count in sorted(reasons.items()))


def _why_not(run: Record, axis: Axis, metric: str) -> str:
    if run.state != "finished":
        return run.state
    if run.spec.scenario.budget.stop_at_target:
        return "told to stop at a target"
    measured = values(run, metric)
    if not len(measured) or not all(map(math.isfinite, measured)):
        return "without an accuracy" if metric == ACCURACY else f"without {metric}"
    return "" if along(run, axis)[-1] > 0 else f"without {axis.words}"
