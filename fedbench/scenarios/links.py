"""Draws which measured link every client has, and where in its trace the client begins. Both are
drawn once per seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, draw_below_per_client, draw_per_client
from fedbench.kernels.traces import Nanoseconds, Trace, Traced
from fedbench.scenarios.network_parts import Links
from fedbench.scenarios.schema import Scenario
from fedbench.scenarios.trace_files import trace_of, traces_of
from fedbench.types import Integers

DOWNLOAD, UPLOAD, DOWNLOAD_BESIDE_LOGNORMAL = 5, 6, 7
"""Numbers of streams of Purpose.speed: for the links of both directions, and for links of their own
that uploads have. Lognormal slowdowns have the first one, so links have another one beside them."""


@dataclass(frozen=True)
class Drawn:
    """The measured links of all clients.

    `traces`: those that at least one client has. `trace_of` (N,): the place of each client's trace
    among them. `shift_ns` (N,): how far into its trace each client is at time 0, in nanoseconds.
    """

    traces: tuple[Trace, ...]
    trace_of: Integers
    shift_ns: Nanoseconds

    def carrying(self, bits: int, exchanges: int) -> Traced:
        """Returns the transfer of a message of so many bits over these links."""
        return Traced(
            traces=self.traces,
            trace_of=self.trace_of.astype(np.int32),
            shift_ns=self.shift_ns,
            bits=bits,
            exchanges=exchanges,
        )


def links(scenario: Scenario, seed: int) -> tuple[Drawn, Drawn] | None:
    """Returns the links of downloads and of uploads, or None for a scenario without traces. They
    are the same unless the scenario has other ones for uploads.

    MissingDataError if the traces are not on this machine. UsageError if the files are no traces,
    or not those that the scenario was made with.
    """
    trace = scenario.network.trace
    if trace is None:
        return None
    slowdown = getattr(scenario.compute, "slowdown", None)
    is_taken = slowdown is not None and slowdown.log_sigma is not None
    down = _drawn(trace, scenario.clients, seed, DOWNLOAD_BESIDE_LOGNORMAL if is_taken else DOWNLOAD)
    return down, down if trace.upload is None else _drawn(trace.upload, scenario.clients, seed, UPLOAD)


def _drawn(part: Links, clients: int, seed: int, k: int) -> Drawn:
    traces = _traces(part)
    if part.folder is not None:
        of, shares = draw_below_per_client(seed, Purpose.speed, clients, k, len(traces))
    else:
        of = np.arange(clients) if len(traces) > 1 else np.zeros(clients, np.int64)
        shares = draw_per_client(seed, Purpose.speed, clients, k)
    periods = np.array([trace.duration_ns.sum(dtype=np.int64) for trace in traces])[of]
    if part.offset_seconds is None:
        shifts = np.minimum((shares * periods).astype(np.int64), periods - 1)
    else:
        shifts = round(part.offset_seconds * 1e9) % periods
    used, index = np.unique(of, return_inverse=True)
    return Drawn(tuple(traces[i] for i in used), index, shifts)


def _traces(part: Links) -> tuple[Trace, ...]:
    if part.folder is not None:
        if part.sha256 is None:
            raise UsageError(
                f"network.trace.folder {part.folder}: expected its sha256 beside it, which reading the scenario adds, got none"
            )
        return traces_of(part.folder, part.sha256)
    traces = []
    for number, rows in enumerate(part.given or ()):
        parts = [(round(seconds * 1e9), round(rate * 1e6), round(latency * 1e9)) for seconds, rate, latency in rows]
        traces.append(trace_of(parts, f"network.trace.given, trace {number}"))
    return tuple(traces)
