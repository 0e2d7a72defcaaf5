"""Virtual time until a curve reaches a target. A run that never does is a miss; misses are kept in every number."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fedbench.analysis.statistics import Estimate, estimate
from fedbench.results.record import first_hit

__all__ = ["Attempt", "TimeToTarget", "first_hit"]


@dataclass(frozen=True)
class Attempt:
    """One seed. seconds: first hit, None for a miss; censored_at: until when (virtual seconds) a miss was watched."""

    seconds: float | None
    censored_at: float

    @property
    def restricted(self) -> float:
        """The hit, or for a miss the censoring time: a lower bound of the time it would have needed."""
        return self.censored_at if self.seconds is None else self.seconds


@dataclass(frozen=True)
class TimeToTarget:
    """One target over the seeds of one algorithm: `attempts`, at least one, in order of seed."""

    metric: str
    target: float
    attempts: tuple[Attempt, ...]

    @property
    def total(self) -> int:
        return len(self.attempts)

    @property
    def hits(self) -> int:
        return sum(attempt.seconds is not None for attempt in self.attempts)

    @property
    def lower_bound(self) -> bool:
        """Whether `restricted_mean` is only a lower bound, because a seed missed."""
        return self.hits < self.total

    @property
    def median(self) -> float | None:
        """With every miss as +infinity; None if that makes it infinite. An even number of seeds: mean of the middle two."""
        times = sorted(math.inf if attempt.seconds is None else attempt.seconds for attempt in self.attempts)
        median = (times[(len(times) - 1) // 2] + times[len(times) // 2]) / 2
        return median if math.isfinite(median) else None

    @property
    def beyond(self) -> float | None:
        """The earliest time at which a miss was censored ("> 20 s"); None without misses."""
        return min((attempt.censored_at for attempt in self.attempts if attempt.seconds is None), default=None)

    @property
    def restricted_mean(self) -> Estimate:
        """Misses count at their censoring time; see `lower_bound`."""
        return estimate(attempt.restricted for attempt in self.attempts)
