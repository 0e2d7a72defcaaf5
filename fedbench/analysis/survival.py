"""The median time by which runs reach a target, if some were only watched to the end of their
budget and did not reach it by then."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbench.errors import UsageError

ROUNDING = 1e-12  # the share that waits is a product, which may be 1/2 and a little more where it should be 1/2


def median_arrival(reached: Sequence[float | None], censored_at: Sequence[float]) -> float | None:
    """Returns the first time by which half of the runs have arrived, None if they have not. The
    share that has arrived is the estimate of Kaplan and Meier (1958).

    The time in `reached` of a run that did not arrive is None; it was watched until its
    `censored_at`. Raises UsageError without runs.
    """
    if not reached or len(reached) != len(censored_at):
        raise UsageError(
            f"arrivals: expected a censoring time for each of at least one run, got {len(reached)} and {len(censored_at)}"
        )
    hits = np.array([time for time in reached if time is not None])
    ends = np.array([end if time is None else time for time, end in zip(reached, censored_at, strict=True)])
    times, arrived = np.unique(hits, return_counts=True)
    watched = (ends[:, None] >= times).sum(axis=0)  # a run that is watched until a time is watched at that time
    waiting = np.cumprod((watched - arrived) / watched)
    half = np.flatnonzero(waiting <= 0.5 + ROUNDING)
    return float(times[half[0]]) if len(half) else None
