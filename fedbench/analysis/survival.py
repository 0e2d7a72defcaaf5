"""Survival analysis: how many runs of an algorithm have reached a target by when, if some were only
watched to the end of their budget and did not reach it by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedbench.errors import UsageError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Arrivals:
    """The Kaplan-Meier estimate of the share of runs that have not arrived yet. Source: Kaplan and
    Meier 1958.

    at, waiting: the share is 1 before `at[0]`, and `waiting[i]` from `at[i]` on; both (T,) float64.
    until: the time until which every run that did not arrive was watched, or the last arrival if
    all arrived.
    """

    at: Floats
    waiting: Floats
    until: float

    def share_at(self, time: float) -> float:
        """Returns the share that has arrived by a time."""
        i = int(np.searchsorted(self.at, time, side="right"))
        return 0.0 if i == 0 else float(1 - self.waiting[i - 1])

    def restricted_mean(self, until: float) -> float:
        """Returns the mean of min(time to arrival, until), the area under the share that waits.
        Raises UsageError for a time beyond `self.until` if some runs still wait then, since nothing
        is known of them."""
        if until > self.until and len(self.waiting) and self.waiting[-1] > 0:
            raise UsageError(f"restricted mean until {until:g}: runs that did not arrive were watched until {self.until:g} only")
        inside = self.at < until
        edges = np.concatenate([[0.0], self.at[inside], [until]])
        heights = np.concatenate([[1.0], self.waiting[inside]])
        return float((np.diff(edges) * heights).sum())

    @property
    def median(self) -> float | None:
        """Returns the first time by which half of the runs have arrived, None if they have not."""
        reached = np.flatnonzero(self.waiting <= 0.5)
        return float(self.at[reached[0]]) if len(reached) else None


def arrivals(reached: Sequence[float | None], censored_at: Sequence[float]) -> Arrivals:
    """Returns the estimate from the times of runs. The time of a run that did not arrive is None;
    it was watched until its `censored_at`. Raises UsageError without runs."""
    if not reached or len(reached) != len(censored_at):
        raise UsageError(
            f"arrivals: expected a censoring time for each of at least one run, got {len(reached)} and {len(censored_at)}"
        )
    from scipy.stats import CensoredData, ecdf  # takes a second

    hits = [time for time in reached if time is not None]
    misses = [end for time, end in zip(reached, censored_at, strict=True) if time is None]
    function = ecdf(CensoredData(uncensored=hits, right=misses)).sf
    until = min(misses) if misses else max(hits)
    return Arrivals(np.asarray(function.quantiles, np.float64), np.asarray(function.probabilities, np.float64), float(until))
