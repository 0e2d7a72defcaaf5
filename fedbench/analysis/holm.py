"""Holm's adjustment of several tests at once (Holm 1979, A simple sequentially rejective multiple
test procedure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Holm:
    """One test among several. p: adjusted p-value, to be compared with alpha; level: of the
    confidence interval that excludes 0 exactly if p < alpha."""

    p: float
    level: float


def holm(p_values: Sequence[float], alpha: float) -> list[Holm]:
    """Adjusts p-values in their order, so that the chance of any false rejection is at most alpha.

    The i-th smallest of m (i = 0, 1, ..) is multiplied by m - i; an adjusted value is at least all
    those before it, and at most 1. An interval has the confidence 1 - alpha / (m - i); once a test
    does not reject, all later ones have the confidence of that test, since they are not tried any
    more.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    found: dict[int, Holm] = {}
    largest, divisor, stopped = 0.0, len(order), False
    for rank, i in enumerate(order):
        if not stopped:
            divisor = len(order) - rank
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[i]))
        found[i] = Holm(largest, 1 - alpha / divisor)
        stopped = stopped or largest >= alpha
    return [found[i] for i in range(len(p_values))]
