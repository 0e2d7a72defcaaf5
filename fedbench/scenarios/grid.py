"""The virtual times, in whole nanoseconds, at which models are evaluated. A grid depends on the
scenario alone, so it is the same for all algorithms and seeds and on every machine.

Point 0 is the time 0. A run evaluates all points up to its end, the end included if it is a point;
a run that ends between two points gets no point of its own for that.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedbench.kernels.timing import NANOSECONDS

Times = npt.NDArray[np.int64]
BITS = 64
"""Binary places behind the nanosecond with which the times of a logarithmic grid are computed."""
LATEST_NS = 2**63 - 1


def in_seconds(times: Times) -> npt.NDArray[np.float64]:
    """Returns times as records have them: whole nanoseconds, divided with one rounding."""
    return np.array([time / NANOSECONDS for time in times.tolist()], np.float64)


@dataclass(frozen=True)
class EvenGrid:
    """Points at 0, step_ns, 2 step_ns, .."""

    step_ns: int

    def time_ns(self, point: int) -> int:
        """Returns the time of a point, which counts from 0."""
        return point * self.step_ns

    def times_ns(self, points: int) -> Times:
        """Returns the times of the first points."""
        return np.arange(points, dtype=np.int64) * self.step_ns

    def points_until(self, end_ns: int) -> int:
        """Returns how many points there are up to a time, which itself counts."""
        return end_ns // self.step_ns + 1

    def at_or_after(self, times: Times) -> Times:
        """Returns for each time the first point at or after it."""
        return -(-times // self.step_ns)


class LogGrid:
    """Points at 0 and at t_k = round(first_ns ratio^k) for k = 0, 1, ..

    The times are computed with integers alone. The ratio is the exact value of the double, which is
    p / q with a power of two q. With s_0 = first_ns 2^64,

        s_(k+1) = floor((s_k p + q / 2) / q)        t_k = floor((s_k + 2^63) / 2^64)

    so all machines have the same points. The relative error of s_k is below k 2^-85, which is less
    than a thousandth of a nanosecond in 30 years of virtual time.
    """

    def __init__(self, first_ns: int, ratio: float) -> None:
        """Raises ValueError if two points would be at one time."""
        times, (p, q), scaled = [0], ratio.as_integer_ratio(), first_ns << BITS
        while (time := (scaled + (1 << (BITS - 1))) >> BITS) <= LATEST_NS:
            if time <= times[-1]:
                raise ValueError(f"expected times that ascend, got {time} ns twice from {first_ns} ns on by {ratio}")
            times.append(time)
            scaled = (scaled * p + q // 2) // q
        self._times: Times = np.array(times, np.int64)
        self._times.flags.writeable = False

    def time_ns(self, point: int) -> int:
        return int(self._times[point])

    def times_ns(self, points: int) -> Times:
        return self._times[:points]

    def points_until(self, end_ns: int) -> int:
        return int(np.searchsorted(self._times, end_ns, "right"))

    def at_or_after(self, times: Times) -> Times:
        return np.asarray(np.searchsorted(self._times, times, "left"), np.int64)


Grid = EvenGrid | LogGrid
"""The times of evaluation, in ascending order; the methods of both kinds mean the same."""


@functools.cache
def log_grid(first_ns: int, ratio: float) -> LogGrid:
    """Returns the logarithmic grid of these numbers, which is made once."""
    return LogGrid(first_ns, ratio)
