"""Answers questions about the messages of a job, whose times are drawn or depend on when they
start."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from fedbench.kernels.scheduler import NANOSECONDS, Availability, Duration
from fedbench.kernels.traces import Traced, transfer_ns
from fedbench.scenarios import system
from fedbench.scenarios.links import Drawn, links
from fedbench.scenarios.schema import Scenario

Transfer = Duration | Traced


class Messages:
    """Turns the sizes of messages into transfers over the network of a scenario, for one seed.
    `upload_rate` is called for the rate of uploads if the scenario states it by the compute
    time."""

    def __init__(self, scenario: Scenario, seed: int, upload_rate: Callable[[], float]) -> None:
        self.scenario, self.seed, self._upload_rate = scenario, seed, upload_rate

    @property
    def asks_for_sizes(self) -> bool:
        """Whether the size of a vector matters, so that a plan needs the model."""
        network = self.scenario.network
        limits = (
            network.download_megabit_per_second,
            network.upload_megabit_per_second,
            network.upload_over_compute,
            network.trace,
        )
        return network.message == "payload" and any(limit is not None for limit in limits)

    def transfers(self, down_bytes: int, up_bytes: int, exchanges: int = 1) -> tuple[Transfer, Transfer]:
        """Returns the download and the upload of a job with messages of this size. With `message:
        fixed` the size is the scenario's. A job without exchanges has no messages."""
        if not exchanges:
            return Duration.constant(0.0), Duration.constant(0.0)
        network = self.scenario.network
        if self._measured is not None:
            bits = (round(system.message_bits(network, size)) for size in (down_bytes, up_bytes))
            down, up = (link.carrying(size, exchanges) for link, size in zip(self._measured, bits, strict=True))
            return down, up
        down_rate, up_rate = system.link_rates(self.scenario, self.seed)
        if network.upload_over_compute is not None:
            up_rate = self._upload_rate()
        return system.transfer(network, down_rate, down_bytes, exchanges), system.transfer(network, up_rate, up_bytes, exchanges)

    @functools.cached_property
    def _measured(self) -> tuple[Drawn, Drawn] | None:
        return links(self.scenario, self.seed)


def delayed(transfer: Transfer, seconds: float) -> Transfer:
    """Returns the same transfer with every message taking so many seconds more. Its times must be
    constant or those of measured links."""
    if isinstance(transfer, Traced):
        return dataclasses.replace(transfer, more_seconds=seconds)
    return dataclasses.replace(transfer, a=transfer.a + seconds)


def slowest(transfer: Transfer, clients: int, start_seconds: float) -> float:
    """Returns the seconds until all clients, which begin together, have done their transfer. Its
    times must be constant or those of measured links."""
    if isinstance(transfer, Traced):
        return int(transfer_ns(transfer, clients, round(start_seconds * NANOSECONDS)).max()) / NANOSECONDS
    return float(np.max(transfer.a))


def drawn(transfer: Transfer) -> Iterator[npt.NDArray[np.float64] | npt.NDArray[np.int64]]:
    """Yields the numbers on which the times depend, for a digest."""
    if isinstance(transfer, Traced):
        for trace in transfer.traces:
            yield from (trace.duration_ns, trace.bits_per_second, trace.latency_ns)
        yield from (transfer.trace_of.astype(np.int64), transfer.shift_ns, np.array([transfer.bits]))
    else:
        yield from (np.atleast_1d(np.asarray(value, np.float64)) for value in (transfer.a, transfer.b))


def absences(availability: Availability) -> list[npt.NDArray[np.float64]]:
    """Returns the numbers of an availability, and its names as numbers, for a digest. NaN stands
    for numbers that its kind does not have."""
    words = np.frombuffer(f"{availability.kind} {availability.when_offline}".encode(), np.uint8).astype(np.float64)
    names = ("period_seconds", "on_fraction", "phase", "mean_on_seconds", "mean_off_seconds")
    values = [getattr(availability, name) for name in names]
    numbers = [np.atleast_1d(np.asarray(np.nan if value is None else value, np.float64)) for value in values]
    return [words, *numbers, *(np.asarray(row, np.float64).ravel() for row in availability.rows)]
