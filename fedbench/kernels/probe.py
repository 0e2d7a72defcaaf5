"""Parts of the core that only benchmarks use.

`Hold(times)` is the event queue with n pending events: client i has one at times[i] (n,), int64
nanoseconds. Its `run(increments)` (E,) int64 takes the earliest event and puts it back that much
later, E times. It returns the time of the last event, and an FNV-1a checksum of the clients in the
order of their events. Ties go to the lowest client.

`read_rows(vectors)` (K, d) float32 reads K rows side by side, as fast as memory allows, and returns
the exclusive or of their bits.

TypeError for a wrong dtype, shape or layout; ValueError for no events, or for nanoseconds outside
[0, 2^62).
"""

from fedbench._core import Hold, read_rows

__all__ = ["Hold", "read_rows"]
