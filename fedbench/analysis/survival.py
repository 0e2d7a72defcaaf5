"""The median time by which runs reach a target, if some were only watched to the end of their
budget and did not reach it by then."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

ROUNDING = 1e-12  # the share that waits is a product, which may be 1/2 and a little more where it should be 1/2


def median_arrival(reached: npt.ArrayLike, censored_at: npt.ArrayLike) -> float | None:
    """Returns the first time by which half of the runs have arrived, None if they have not. The
    share that has arrived is the estimate of Kaplan and Meier (1958).

    The time in `reached` (n,) of a run that did not arrive is infinite or none; it was watched
    until its `censored_at` (n,).
    """
    given = np.asarray(reached, np.float64)
    arrives = np.isfinite(given)
    times, arrived = np.unique(given[arrives], return_counts=True)
    ends = np.where(arrives, given, censored_at)
    watched = (ends[:, None] >= times).sum(axis=0)  # a run that is watched until a time is watched at that time
    waiting = np.cumprod((watched - arrived) / watched)
    half = np.flatnonzero(waiting <= 0.5 + ROUNDING)
    return float(times[half[0]]) if len(half) else None
