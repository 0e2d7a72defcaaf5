"""Random streams: Philox4x32-10 with key = seed and counter = (draw, k, client, purpose).

A RandomStream hands out its words in order: `words` (uint32), `uniform` ([0, 1), 53 bits, two words
each), `normal`, `exponential`, `below(n)`, `permutation(n)`. No draw depends on what else is drawn,
so results do not depend on order, threads or chunks. One call draws at most 2^28 values, and
`draw_batches` as many rows: ValueError for more. The layout and the algorithms are stated in
csrc/include/fedbench/philox.hpp.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedbench._core import Purpose, RandomStream, draw_batches, draw_per_client

__all__ = ["Purpose", "RandomStream", "draw_batches", "draw_per_client", "draw_share_of_every_class"]


def draw_share_of_every_class(labels: npt.NDArray[np.int64], share: float, seed: int, client: int) -> npt.NDArray[np.int64]:
    """Rows of `labels` (n,) that are held out, ascending: of every class the share, rounded, by a
    keyed permutation of its rows. The k-th class has the k-th stream of Purpose.holdout and
    `client`."""
    held = []
    for k, label in enumerate(np.unique(labels)):
        rows = np.flatnonzero(labels == label)
        held.append(rows[RandomStream(seed, Purpose.holdout, client, k).permutation(len(rows))[: round(share * len(rows))]])
    return np.sort(np.concatenate(held))
