"""Random streams: Philox4x32-10 with key = seed and counter = (draw, k, client, purpose).

A RandomStream gives its words in order: `words` (uint32), `uniform` ([0, 1) with 53 bits from two
words each), `normal`, `exponential`, `below(n)`, `permutation(n)`. No stream depends on another, so
results do not depend on order, threads or chunks. One call draws at most 2^28 values, and
`draw_batches` at most as many rows; more is a ValueError. csrc/include/fedbench/philox.hpp states
the layout and the algorithms.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedbench._core import Purpose, RandomStream, draw_batches, draw_below_per_client, draw_per_client

__all__ = ["Purpose", "RandomStream", "draw_batches", "draw_below_per_client", "draw_per_client", "draw_share_of_every_class"]


def draw_share_of_every_class(
    labels: npt.NDArray[np.int64], share: float, seed: int, client: int, left: int = 0
) -> npt.NDArray[np.int64]:
    """Returns the rows that are held out, ascending: of every class the share, rounded, drawn by a
    permutation of its rows.

    Args:
        labels: the class of every row (n,).
        share: the share of every class.
        seed: of the run.
        client: the k-th class takes the k-th stream of Purpose.holdout and this client.
        left: how many rows of every class are never held out.
    """
    held = []
    for k, label in enumerate(np.unique(labels)):
        rows = np.flatnonzero(labels == label)
        count = min(round(share * len(rows)), len(rows) - left)
        held.append(rows[RandomStream(seed, Purpose.holdout, client, k).permutation(len(rows))[:count]])
    return np.sort(np.concatenate(held))
