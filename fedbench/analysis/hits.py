"""What a run spends until it reaches a target: at the first touch, or when it holds it. A run that
never does is a miss, and no statistic leaves misses out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbench.analysis import metrics
from fedbench.analysis.axes import SECONDS, Axis, along, find
from fedbench.analysis.reaching import Goal, reach
from fedbench.analysis.statistics import Estimate, estimate
from fedbench.errors import RecordError
from fedbench.results.record import Record, first_at_least


@dataclass(frozen=True)
class Attempt:
    """What became of one seed. `reached` is the place on the axis of the first hit, None for a
    miss. `censored_at` is the place until which a miss was watched."""

    reached: float | None
    censored_at: float
    unit: str = SECONDS.unit

    @property
    def restricted(self) -> float:
        """Returns the place of the hit, or for a miss the place until which it was watched: a lower
        bound of what it would have needed."""
        return self.censored_at if self.reached is None else self.reached

    def __str__(self) -> str:
        """Returns `12 s`, or `> 40 s` for a miss."""
        return f"{'> ' if self.reached is None else ''}{self.restricted:,.12g} {self.unit}"


def first_hit(record: Record, metric: str, target: float, axis: str | Axis = SECONDS) -> Attempt:
    """Returns what a run had spent at the first evaluation that reached the target. Nothing is
    interpolated.

    A miss is censored at the last evaluation. In seconds, a run that broke off (diverged or
    stalled) is a miss until the end of the scenario's time budget.

    Args:
        record: the run.
        metric: test_accuracy, or a loss, which reaches a target from above.
        target: the value to be reached.
        axis: what is counted: seconds, updates (rounds to the target), gradient_evaluations, steps
            or bytes.

    Raises:
        UsageError: for an unknown metric or axis.
        RecordError: if the record lacks the axis.
    """
    metrics.check(metric, record)
    where = find(axis)
    at, sign = along(record, where), record.spec.scenario.sign(metric)
    end = at_end(record, where, at)
    return Attempt(first_at_least(at, sign * record.curves[metric], sign * target), end, where.unit)


def held(record: Record, target: Goal, axis: str | Axis = SECONDS) -> Attempt:
    """Returns what a run had spent when it held a target, see `fedbench.analysis.reaching`. A run
    that ended too early to tell is a miss, which is censored where it may have held it.

    Args:
        record: the run.
        target: its `metric` and `value`.
        axis: as in `first_hit`.

    Raises:
        UsageError: for an unknown metric or axis.
        RecordError: if the record lacks the axis.
    """
    where, (found,) = find(axis), reach(record, [target])
    if found is None:
        return Attempt(None, at_end(record, where, along(record, where)), where.unit)
    at = along(record, where)
    reached = float(at[found.index])
    return Attempt(reached if found.is_held else None, at_end(record, where, at) if found.is_held else reached, where.unit)


def at_end(record: Record, axis: Axis, at: NDArray[np.float64]) -> float:
    """Returns what a run had spent at its end, given what it had at its evaluations (T,). In
    seconds, one that broke off counts with the scenario's whole budget."""
    end = float(at[-1]) if len(at) else 0.0
    if axis is SECONDS and record.state != "finished":
        end = max(end, float(record.spec.scenario.budget.seconds))
    return end


def within_budget(reached: float | None, budget: float, *, finished: bool) -> tuple[bool, float]:
    """Returns whether a target counts as reached, and the seconds with which it counts. A miss
    counts with the budget. A run that did not finish misses all targets, since it has no model to
    show."""
    if reached is None or not finished:
        return False, budget
    return True, reached


@dataclass(frozen=True)
class Hits:
    """One target over the seeds of one algorithm, on one axis. There is at least one attempt, and
    they are in order of seed."""

    metric: str
    target: float
    axis: Axis
    attempts: tuple[Attempt, ...]

    @property
    def total(self) -> int:
        return len(self.attempts)

    @property
    def hits(self) -> int:
        """Returns the number of seeds that reach the target."""
        return sum(attempt.reached is not None for attempt in self.attempts)

    @property
    def reached(self) -> tuple[float | None, ...]:
        """Returns the place at which every seed reaches the target, None for a miss."""
        return tuple(attempt.reached for attempt in self.attempts)

    @property
    def lower_bound(self) -> bool:
        """Returns whether `restricted_mean` is only a lower bound, because a seed missed."""
        return self.hits < self.total

    @property
    def median(self) -> float | None:
        """Returns the median place, in which a miss counts as infinite; None if the median is
        infinite. Of an even number of seeds it is the mean of the middle two."""
        places = sorted(math.inf if attempt.reached is None else attempt.reached for attempt in self.attempts)
        median = (places[(len(places) - 1) // 2] + places[len(places) // 2]) / 2
        return median if math.isfinite(median) else None

    @property
    def beyond(self) -> float | None:
        """Returns the first place at which a miss was censored, as in "> 20 s"; None without
        misses."""
        return min((attempt.censored_at for attempt in self.attempts if attempt.reached is None), default=None)

    @property
    def restricted_mean(self) -> Estimate:
        """Returns the mean over seeds, in which a miss counts with its `censored_at`."""
        return estimate(attempt.restricted for attempt in self.attempts)


def hits(runs: Sequence[Record], target: Goal, axis: str | Axis = SECONDS) -> Hits:
    """Returns `held` of the runs of one algorithm, one run a seed. Raises RecordError without
    runs."""
    metric, value = target.metric, float(target.value)
    if not runs:
        raise RecordError(f"hits of {metric} = {value:g}: expected at least one run, got none")
    return Hits(metric, value, find(axis), tuple(held(run, target, axis) for run in runs))
