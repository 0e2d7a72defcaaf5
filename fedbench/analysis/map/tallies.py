"""What the runs of a point cost, as one number each, and where a run is censored that misses a
target.

The cost is the geometric mean over targets. For a run that misses a target it is not known, and
likelihoods want a bound that does not depend on how the run itself went. The mean of what it spent
for targets that it reached and of what it had spent at its end is no such bound: it is larger for
the runs that were slower. So the bound is the one for the last target alone, which is the same for
all runs with the same spending: a target can be seen to be held if it is reached until the budget
over 1.2. From there to the mean over targets it is as far as in the runs of the point that miss
nothing. That distance is a mean. What a run certainly cost is said apart (`least`): only this may
be compared with another cost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbench.analysis.map.factors import Floats
from fedbench.analysis.map.runs import Flags


def gap(log: Floats, missed: Flags) -> float | None:
    """Returns how much more the last target costs than the mean over targets, as the mean over
    runs that miss nothing; None without any.

    Args:
        log: the log costs of runs and targets (R, T).
        missed: which of them are misses (R, T).
    """
    whole = ~missed.any(axis=1)
    return float((log[whole].max(axis=1) - log[whole].mean(axis=1)).mean()) if whole.any() else None


def tallied(log: Floats, missed: Flags, watched: Floats, gap: float) -> tuple[Floats, Flags]:
    """Returns the log cost of every run (R,), or the one at which it is censored, and which are.

    Args:
        log: the log costs of runs and targets (R, T).
        missed: which of them are misses (R, T).
        watched: what a run had spent when it last could reach a target and be seen to hold it, as a
            logarithm (R,).
        gap: by how much the last target costs more than the mean over targets.
    """
    is_censored = np.asarray(missed.any(axis=1))
    return np.where(is_censored, watched - gap, log.mean(axis=1)), is_censored


def least(log: Floats, missed: Flags, begun: Floats, watched: Floats) -> Floats:
    """Returns what every run certainly cost, as a logarithm (R,): its cost if it misses nothing,
    else the mean over targets in which a miss counts with what the run had spent when it last could
    reach the target, or had begun to hold it (`begun`, (R, T), infinite if it had not)."""
    return np.asarray(np.where(missed, np.minimum(begun, watched[:, None]), log).mean(axis=1))


def typical(gaps: Sequence[float | None]) -> float:
    """Returns the mean of the gaps that are known, for points of which none is; 0 without any."""
    return float(np.mean([one for one in gaps if one is not None] or [0.0]))
