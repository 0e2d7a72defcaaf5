"""Random streams: Philox4x32-10 with key = seed and counter = (draw, k, client, purpose).

A Stream hands out its words in order: `words` (uint32), `uniform` ([0, 1), 53 bits, two words each), `normal`, `exponential`,
`below(n)`, `permutation(n)`. No draw depends on what else is drawn, so results do not depend on order, threads or chunks.
One call draws at most 2^28 values, and `draw_batches` as many rows: ValueError for more. The layout and the algorithms are
stated in csrc/include/fedbench/philox.hpp.
"""

from fedbench._core import Purpose, Stream, draw_batches, draw_per_client

__all__ = ["Purpose", "Stream", "draw_batches", "draw_per_client"]
