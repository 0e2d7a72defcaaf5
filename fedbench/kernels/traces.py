"""Transfers over measured links, whose time depends on when they start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedbench import _core
from fedbench.errors import UsageError
from fedbench.kernels import checks, inputs

LARGEST_64 = (1 << 63) - 1
Nanoseconds = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A measured link: S parts one after another, each with a constant throughput and latency,
    which repeat for ever. The arrays are int64 (S,)."""

    duration_ns: Nanoseconds
    bits_per_second: npt.NDArray[np.int64]
    latency_ns: Nanoseconds


@dataclass(frozen=True, kw_only=True)
class Traced:
    """A message of `bits` over the link of every client, in one direction.

    `trace_of`, int32 (N,) or (1,), is the client's trace as an index into `traces`. `shift_ns`,
    int64 (N,) or (1,), is how far the client is into it at time 0, which is less than its length.

    A transfer has sent its bits at the first nanosecond at which the integral of the throughput
    since its start reaches them. To this time the latency of the part in which it starts is added,
    once for each of the `exchanges`, and `more_seconds`.
    """

    traces: Sequence[Trace]
    trace_of: npt.NDArray[np.int32]
    shift_ns: Nanoseconds
    bits: int
    exchanges: int = 1
    more_seconds: float = 0.0


def to_traces(name: str, t: Traced) -> _core.Traces:
    """Returns the transfers as the core has them. ValueError or TypeError names what is out of
    range."""
    lengths = [len(checks.array(f"{name}: duration_ns", trace.duration_ns, "(S,)", (np.dtype(np.int64),))) for trace in t.traces]
    return _core.Traces(
        name=name,
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        duration_ns=_joined([trace.duration_ns for trace in t.traces]),
        bits_per_second=_joined([trace.bits_per_second for trace in t.traces]),
        latency_ns=_joined([trace.latency_ns for trace in t.traces]),
        trace_of=t.trace_of,
        shift_ns=t.shift_ns,
        bits=checks.whole(f"{name}: bits", t.bits, 0, LARGEST_64),
        exchanges=checks.whole(f"{name}: exchanges", t.exchanges, 0, LARGEST_64),
        more_ns=inputs.nanoseconds(f"{name}: more_seconds", t.more_seconds),
    )


def _joined(parts: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def transfer_ns(transfer: Traced, clients: int, start_ns: int) -> Nanoseconds:
    """Returns how many nanoseconds a transfer of every client takes (N,) if it starts at `start_ns`
    >= 0. UsageError for values out of range."""
    try:
        return to_traces("transfer", transfer).takes(clients, start_ns)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from None
