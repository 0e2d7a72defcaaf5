"""Holm's adjustment of several tests at once (Holm 1979, A simple sequentially rejective multiple
test procedure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Holm:
    """One test among several. `p` is its adjusted p-value, to be compared with alpha. `level` is
    the confidence of the interval that excludes 0 exactly if p < alpha."""

    p: float
    level: float


def holm(p_values: Sequence[float], alpha: float) -> list[Holm]:
    """Returns the tests with adjusted p-values, in the order of `p_values`. The chance of any false
    rejection is at most alpha.

    The i-th smallest of m p-values (i = 0, 1, ..) is multiplied by m - i. An adjusted p-value is at
    least as large as all smaller ones and at most 1. The interval of the i-th has the confidence
    1 - alpha / (m - i). The first test that does not reject ends the procedure, so all later
    intervals have the confidence of that one.
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
