"""Questions about the messages of a job, whose times are drawn or depend on when they start."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fedbench.kernels.scheduler import NANOSECONDS, Duration
from fedbench.kernels.traces import Traced, transfer_ns

Transfer = Duration | Traced


def delayed(transfer: Transfer, seconds: float) -> Transfer:
    """The same with every message taking so many seconds more; constant times or measured links."""
    if isinstance(transfer, Traced):
        return dataclasses.replace(transfer, more_seconds=seconds)
    return dataclasses.replace(transfer, a=transfer.a + seconds)


def slowest(transfer: Transfer, clients: int, start_seconds: float) -> float:
    """Seconds until all clients, which begin together, have done their transfer; constant times or measured links."""
    if isinstance(transfer, Traced):
        return int(transfer_ns(transfer, clients, round(start_seconds * NANOSECONDS)).max()) / NANOSECONDS
    return float(np.max(transfer.a))


def drawn(transfer: Transfer) -> Iterator[npt.NDArray[np.float64] | npt.NDArray[np.int64]]:
    """The numbers on which the times depend, for a digest."""
    if isinstance(transfer, Traced):
        for trace in transfer.traces:
            yield from (trace.duration_ns, trace.bits_per_second, trace.latency_ns)
        yield from (transfer.trace_of.astype(np.int64), transfer.shift_ns, np.array([transfer.bits]))
    else:
        yield from (np.atleast_1d(np.asarray(value, np.float64)) for value in (transfer.a, transfer.b))
