"""What benchmarks need from inside the core; nothing else uses it.

`Hold(times)`: the event queue with n pending events, client i's at times[i] (n,) int64 nanoseconds.
`run(increments)` (E,) int64 pops the earliest event and pushes it again that much later, E times,
and returns (time of the last event, FNV-1a checksum over the clients in the order in which they
came up). Ties go to the lowest client. `read_rows(vectors)` (K, d) float32 reads K rows side by
side and returns the exclusive or of their bits: as fast as the memory. TypeError for a wrong dtype,
shape or layout, ValueError for no events or nanoseconds outside [0, 2^62).
"""

from fedbench._core import Hold, read_rows

__all__ = ["Hold", "read_rows"]
