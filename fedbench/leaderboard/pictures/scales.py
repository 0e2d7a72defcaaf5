"""The two scales of a chart, cut to where something happens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

MOVED = 0.02  # accuracy by which a line has left its first value
FEWEST, MOST = 4, 8  # ticks of a logarithmic axis, where there are so many
DIGITS: tuple[tuple[float, ...], ...] = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7))
"""The first digits of ticks, from few to many in each power of ten."""


@dataclass(frozen=True)
class Scale:
    """A linear scale from `low` to `high` with ticks at multiples of `step`."""

    low: float
    high: float
    step: float

    @property
    def ticks(self) -> list[float]:
        first, last = math.ceil(self.low / self.step - 1e-9), math.floor(self.high / self.step + 1e-9)
        return [i * self.step for i in range(first, last + 1)]

    def label(self, value: float) -> str:
        digits = max(0, -math.floor(math.log10(self.step) + 1e-9))
        return f"{value:,.{digits + (round(self.step * 10**digits, 9) % 1 != 0)}f}"

    def share(self, value: float) -> float:
        """Returns where a value lies on the scale: 0 at `low`, 1 at `high`."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class LogScale:
    """A logarithmic scale from `low` to `high`, both above 0."""

    low: float
    high: float

    @property
    def ticks(self) -> list[float]:
        """Round numbers: powers of ten, and with few of them also numbers in between."""
        known = [self.round(digits) for digits in DIGITS]
        return next((one for one in known if FEWEST <= len(one) <= MOST), None) or self._multiples()

    def round(self, digits: Sequence[float]) -> list[float]:
        """Returns the numbers of the scale that begin with one of some digits, and end with
        zeros."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        return [one for power in powers for digit in digits if self.low <= (one := digit * 10.0**power) <= self.high]

    def _multiples(self) -> list[float]:
        """Returns multiples of one number, for a scale that is shorter than a power of ten, and
        powers of a thousand for one that is very long."""
        if self.high / self.low > 1e6:
            return [one for one in self.round((1,)) if round(math.log10(one)) % 3 == 0]
        return Scale(self.low, self.high, nice_step(self.high - self.low, MOST - 2)).ticks

    def share(self, value: float) -> float:
        """Returns where a value lies on the scale: 0 at `low` and below it, 1 at `high`."""
        return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)


def nice_step(span: float, wanted: int) -> float:
    """Returns the smallest step that cuts a span into at most `wanted` intervals. It is 1, 2, 2.5
    or 5 times a power of ten."""
    raw = span / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= raw * (1 - 1e-9))


def place_scale(lines: Sequence[tuple[Sequence[float], Sequence[float]]], until: float | None = None) -> LogScale:
    """Returns the scale of the places of some lines, each of places and values.

    It begins where the first line is about to leave its first value. It ends at `until`, but not
    before all lines have begun, and at the latest where the longest line ends.
    """
    high = max(places[-1] for places, _ in lines)
    low = min(_begins(places, values) for places, values in lines)
    if until is not None:
        high = min(high, max(until, *(places[0] for places, _ in lines), 2 * low))
    return LogScale(low, high) if 0 < low < high else LogScale((high or 1.0) / 10, high or 1.0)


def _begins(places: Sequence[float], values: Sequence[float]) -> float:
    """Returns the last place at which a line has its first value. If that is 0, it is half of the
    next place, which a logarithmic axis can show."""
    moved = next((i for i, value in enumerate(values) if abs(value - values[0]) > MOVED), len(values) - 1)
    before = places[max(0, moved - 1)]
    return before if before > 0 else next((place / 2 for place in places if place > 0), 0.0)


def value_scale(values: Sequence[float], targets: Sequence[float]) -> Scale:
    """Returns the scale that holds all values and targets and ends above them. It is widened to
    quarters of a step and stays within 0 .. 1, as accuracies do."""
    low, high = max(0.0, min(*values, *targets, 1.0)), min(1.0, max(*values, *targets, 0.0))
    if high - low < 1e-3:
        low, high = max(0.0, low - 0.05), min(1.0, high + 0.05)
    step = nice_step(high - low, 6)
    bottom, top = math.floor(4 * low / step + 1e-9), math.floor(4 * high / step + 1e-9) + 1
    return Scale(round(bottom * step / 4, 4), min(1.0, round(top * step / 4, 4)), step)
