"""For how long a target is to be held, by version 2 of the rules: from its first evaluation at t on
in all of [t, 1.2 t], and until three different models were evaluated."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

HOLD = (6, 5)  # the window ends at t times this fraction; whole numbers, so that no rounding decides
MODELS = 3

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def ends(at_ns: Integers, version: Integers) -> Integers:
    """Returns for every evaluation the index of the last one that has to be above the target, if
    the target is reached there; the number of evaluations if the run ended before that."""
    over, under = HOLD
    last = np.searchsorted(under * at_ns, over * at_ns, side="right") - 1
    window = np.where(under * at_ns[-1:] >= over * at_ns, last, len(at_ns))
    return np.maximum(window, third(version))


def third(version: Integers) -> Integers:
    """Returns for every evaluation the index of the first one of the third model, counted from its
    own; the number of evaluations if there is none."""
    model = np.cumsum(np.diff(version, prepend=version[:1]) != 0)
    return np.searchsorted(model, model + MODELS - 1)


def stop(above: Flags, at_ns: Integers, version: Integers) -> int | None:
    """Returns the first evaluation at which it is certain that the target is held, so that a run
    can tell nothing new about it; None if there is none. It is the one that ends the window, or the
    first behind it, which need not be above the target."""
    over, under = HOLD
    places, below = np.arange(len(above)), ~np.asarray(above, np.bool_)
    first = np.maximum.accumulate(np.where(below, places + 1, 0))
    begin = np.concatenate([[0], first])[:-1]  # of the evaluations above that end here, or just before
    certain = (under * at_ns >= over * at_ns[begin] + below) & (places >= third(version)[begin] + below)
    found = np.flatnonzero(certain)
    return int(found[0]) if len(found) else None
