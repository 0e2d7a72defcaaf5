"""All theory checks in order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from fedbench.proof.theory import limits, orders, rates
from fedbench.proof.theory.rows import Row

FULL, QUICK = (4, 2000), (2, 800)  # seeds, updates


def rows(*, quick: bool = False) -> Iterator[Row]:
    """One row after the other; `quick` takes fewer seeds and updates, and leaves the orders out."""
    seeds, updates = QUICK if quick else FULL
    parts = [rates.exact_bounds(seeds, updates), limits.all_rows(updates)]
    if not quick:
        parts.insert(1, orders.all_rows(seeds, updates))
    return itertools.chain.from_iterable(parts)
