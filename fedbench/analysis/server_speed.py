"""How the time to a target grows with a server that needs time for its own work.

A run in which that work took no time is looked at. It held the target after u updates, from time
t on, and update k began at a_k, when its last arrival was there. At a speed of v gradients of an
example a second an update takes w = work / v, three forward passes being a gradient. The model is
that the target is still held after u updates. Then

    overlapped   max of t and of a_k + (u - k + 1) w, k = 1 .. u: clients go on while the server
                 works, which makes one update after the other
    serial       t + u w: everybody waits until the server has done the work of an update

and what the server computes before the first job delays both. The clock of a run in rounds is the
serial one. That of a run whose places are filled at once is the overlapped one, a lower bound where
staler jobs cost updates, which they do when the server is the bottleneck: `overlapped` then grows
without bound only with u, and a run may not reach the target at all. Such a speed has to be run:
`server: {gradients_per_second: v}` in the scenario.

A record knows update times up to its evaluation grid. a_k is taken at the point before the one at
which version k is seen, so `overlapped` stays a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedbench.analysis.reaching import Goal, reach
from fedbench.analysis.server import server_work
from fedbench.results.record import Record
from fedbench.types import PASSES_OF_A_GRADIENT, ServerWork


@dataclass(frozen=True)
class Arrival:
    """How a run came to hold a target.

    seconds: the time t from which it is held.
    begun: the time a_k at the earliest, of every update until then (u,), ascending.
    work: what the server computes.
    """

    seconds: float
    begun: npt.NDArray[np.float64]
    work: ServerWork

    @property
    def gradients(self) -> float:
        """The server's work until the target, in gradients of an example."""
        return (self.work.first_passes + len(self.begun) * self.work.passes) / PASSES_OF_A_GRADIENT


def arrival(record: Record, target: Goal) -> Arrival | None:
    """Returns how a run came to hold a target, or None if it did not. Raises RecordError if the
    server's work is not known."""
    seconds, version = record.curves["seconds"], record.curves["version"]
    (found,) = reach(record, [target])
    if found is None or not found.is_held:
        return None
    updates = np.arange(1, int(version[found.index]) + 1)
    seen = np.searchsorted(version, updates)  # the first point with that version
    return Arrival(float(seconds[found.index]), seconds[np.maximum(seen - 1, 0)].astype(np.float64), server_work(record))


def serial(one: Arrival, speed: float) -> float:
    """Returns the seconds to the target if everybody waits while the server works."""
    return one.seconds + one.gradients / speed


def overlapped(one: Arrival, speed: float) -> float:
    """Returns the seconds to the target if the server works while clients go on, which are the
    fewest that its work allows."""
    first, each = (passes / PASSES_OF_A_GRADIENT / speed for passes in (one.work.first_passes, one.work.passes))
    if not len(one.begun):
        return one.seconds + first
    left = np.arange(len(one.begun), 0, -1)
    return first + max(one.seconds, float((one.begun + left * each).max()))


Clock = Callable[[Arrival, float], float]


def mean_seconds(arrivals: Sequence[Arrival], speed: float, clock: Clock) -> float:
    """Returns the mean time to the targets at a speed, by `serial` or `overlapped`."""
    return float(np.mean([clock(one, speed) for one in arrivals]))


def speed_for(arrivals: Sequence[Arrival], seconds: float, clock: Clock) -> float | None:
    """Returns the speed at which the mean time to the targets is `seconds`: below it, the row needs
    longer. It is the speed at which a row loses its lead if they are the mean of the second row.

    Args:
        arrivals: of one row, for every seed and target.
        seconds: the mean time that is looked for.
        clock: `serial` or `overlapped`.

    Returns:
        Gradients of an example a second; None if the row is not faster with any server, or if its
        server has no work.
    """
    if not any(one.gradients for one in arrivals) or seconds <= np.mean([one.seconds for one in arrivals]):
        return None
    low, high = -30.0, 60.0  # exponents of 2
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if mean_seconds(arrivals, 2.0**middle, clock) > seconds else (low, middle)
    return float(2.0**high)
