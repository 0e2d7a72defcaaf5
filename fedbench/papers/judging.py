"""Judges a printed number, or the order of two, by what the seeds gave. `rules` says by which
rules, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedbench.analysis.statistics import estimate, t_factor
from fedbench.documents.paper import Kept
from fedbench.documents.paper import Verdict as Word
from fedbench.papers.rules import FACTOR, FEWEST, HIGH, LOW, POINTS
from fedbench.written import counted

ROUNDING = 1e-12
"""Differences are equal if their interval is no wider than this share of their mean."""


@dataclass(frozen=True)
class Reading:
    """The number that one seed gave.

    Attributes:
        value: the number.
        missed: the run ended at `value` without its target.
        diverged: the run ended without a model. If an accuracy is read off, `value` is 0, and
            otherwise the run missed its target as well.
    """

    value: float
    missed: bool = False
    diverged: bool = False

    @property
    def text(self) -> str:
        if self.diverged:
            return "diverged"
        return f"{'>' if self.missed else ''}{self.value:.6g}"


def lies_within(reading: Reading, printed: float, low: float, high: float) -> bool | None:
    """Returns whether a reading / printed lies in [low, high]. None if its run ended before that
    was known."""
    ratio = reading.value / printed
    if reading.missed and not reading.diverged and ratio <= high:
        return None
    return not reading.missed and low <= ratio <= high


@dataclass(frozen=True)
class Interval:
    """A mean over seeds with its 95 % interval.

    Attributes:
        mean: the mean. A seed that missed counts with the place where it ended.
        low: the lower end of the interval, None if there is no interval.
        high: the upper end; it may be infinite.
    """

    mean: float
    low: float | None = None
    high: float | None = None

    @property
    def half_width(self) -> float | None:
        """Half of the interval's width, None where there is no interval or no upper end."""
        if self.low is None or self.high is None or math.isinf(self.high):
            return None
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Printed:
    """A printed number, with what decides how it is judged.

    Attributes:
        value: the number, > 0.
        accuracy: whether it is an accuracy in percent.
        censored: whether it is printed as a bound.
        guessed: whether something that decides the outcome is not printed.
        step: the distance of the grid on which readings lie, 0 if nothing is known of one.
    """

    value: float
    accuracy: bool = False
    censored: bool = False
    guessed: bool = False
    step: float = 0.0

    @property
    def range(self) -> tuple[float, float]:
        """Where `place` of the interval has to lie."""
        if self.accuracy:
            return -POINTS, POINTS
        return LOW, math.inf if self.censored else HIGH

    def place(self, number: float) -> float:
        """Returns ours - printed of an accuracy, and ours / printed of another number."""
        return number - self.value if self.accuracy else number / self.value


@dataclass(frozen=True)
class Judged:
    """A verdict on a number, with the mean over seeds, its interval, and the reason in full
    sentences."""

    word: Word
    interval: Interval
    why: str


def judge(printed: Printed, readings: Sequence[Reading]) -> Judged:
    """Returns the verdict on a printed number by the readings of its seeds. Raises ValueError if
    there is none."""
    if not readings:
        raise ValueError(f"a printed number ({printed.value:g}): expected at least one seed, got none")
    found = interval_of(readings, printed.step)
    word, why = _word(printed, found, readings), _why(printed, found, readings)
    if printed.guessed and word == "reproduced":
        return Judged("close", found, f"{why} What decides it is not printed, so it is no better than close.")
    if printed.guessed and word == "contradicted":
        return Judged(word, found, f"{why} It is contradicted together with our guess of what is not printed.")
    return Judged(word, found, why)


def interval_of(readings: Sequence[Reading], step: float) -> Interval:
    """Returns the mean of some readings with its interval, by `step` as in Printed."""
    values, n = [one.value for one in readings], len(readings)
    found = estimate(values)
    if found.mean is None:
        raise ValueError(f"expected finite readings, got {values}")
    mean, misses = found.mean, sum(one.missed for one in readings)
    if misses:
        return Interval(mean, min(values), math.inf) if misses == n >= FEWEST else Interval(mean)
    if all(one.diverged for one in readings):
        return Interval(mean, mean, mean) if n >= FEWEST else Interval(mean)
    std = max(found.std or 0.0, step / math.sqrt(12))
    if n < 2 or not std:
        return Interval(mean)
    half = t_factor(n) * std / math.sqrt(n)
    return Interval(mean, mean - half, mean + half)


def _word(printed: Printed, found: Interval, readings: Sequence[Reading]) -> Word:
    low, high = printed.range
    some_missed, some_diverged = (any(one.missed for one in readings), any(one.diverged and not one.missed for one in readings))
    # The mean of seeds that missed is at least what is known, and an accuracy of 0 % is a
    # convention.
    point_inside = low <= printed.place(found.mean) <= high and not (some_missed and math.isfinite(high)) and not some_diverged
    if found.low is None or found.high is None:
        return "close" if point_inside else "not decided"
    bottom, top = printed.place(found.low), printed.place(found.high)
    if low <= bottom and top <= high and len(readings) >= FEWEST and not some_diverged:
        return "reproduced"
    if top < low or high < bottom:
        return "contradicted"
    return "close" if point_inside else "not decided"


def _why(printed: Printed, found: Interval, readings: Sequence[Reading]) -> str:
    """Returns what was measured in a sentence, from which the verdict follows."""
    n, misses, diverged = len(readings), sum(one.missed for one in readings), sum(one.diverged for one in readings)
    where = _placed(printed, found.mean)
    also = f" ({diverged} diverged)" if misses and diverged else ""
    if diverged == misses == n > 1 and found.low is not None:
        return f"All {n} seeds diverge, and count as watched without the target, to {_placed(printed, found.low)}."
    if misses and found.low is not None:
        return (
            f"None of {n} seeds reaches the target{also}; the interval begins where they ended, at {_placed(printed, found.low)}."
        )
    if misses == n == 1:
        return f"The one seed ends without the target{also}, at {where}; it has no interval."
    if misses:
        end = f"{misses} of {counted(n, 'seed')} end{'s' * (misses == 1)} without the target{also}"
        return f"{end}, so the mean is at least {where} and has no interval."
    lost = (
        f" {diverged} of {counted(n, 'seed')} diverge{'s' * (diverged == 1)} and count{'s' * (diverged == 1)} as 0 %."
        if diverged
        else ""
    )
    if found.low is None or found.high is None:
        if n == 1:
            return f"The one seed is {where}, and has no interval.{lost}"
        return f"The mean is {where}; {n} seeds that are equal have no interval.{lost}"
    ends = f"{_number(printed, found.low)} to {_number(printed, found.high)}"
    return f"The mean is {where}, 95 % interval {ends} ({counted(n, 'seed')}).{lost}"


def _placed(printed: Printed, number: float) -> str:
    if printed.accuracy:
        away = printed.place(number)
        return f"{abs(away):.2f} points {'above' if away >= 0 else 'below'} the printed number"
    return f"{_number(printed, number)} times the printed number"


def _number(printed: Printed, number: float) -> str:
    return f"{printed.place(number):{'+' * printed.accuracy}.2f}"


def order(printed: int, first: Mapping[int, Reading], second: Mapping[int, Reading], *, accuracy: bool = False) -> Kept:
    """Returns whether two numbers are in the printed order.

    Args:
        printed: -1 if the first number is printed smaller, 1 if it is printed larger.
        first: readings of the first number by seed.
        second: those of the second number. Only seeds that both have are compared.
        accuracy: whether the numbers are accuracies, of which differences are compared. Of other
            numbers it is quotients.
    """
    pairs = [(first[seed], second[seed]) for seed in sorted(first.keys() & second.keys())]
    signs = {_sign(*pair) for pair in pairs}
    if len(pairs) == 1:
        (sign,) = signs
        return "undecided" if sign == 0 else "kept once" if sign == printed else "broken once"
    found = _sign_of_interval(pairs, accuracy=accuracy)
    if not found and len(pairs) == 2 and len(signs) == 1 and 0 not in signs:
        return "kept twice" if signs == {printed} else "broken twice"
    if not found and len(pairs) >= FEWEST and len(signs) == 1 and _factor(pairs) > FACTOR:
        (found,) = signs
    return "undecided" if found == 0 else "kept" if found == printed else "broken"


def _sign(one: Reading, other: Reading) -> int:
    """Returns -1 if the first is certainly smaller, 1 if it is certainly larger, and 0 if neither
    is certain."""
    smaller = not one.missed and one.value < other.value
    larger = not other.missed and one.value > other.value
    return larger - smaller


def _sign_of_interval(pairs: Sequence[tuple[Reading, Reading]], *, accuracy: bool) -> int:
    """Returns the sign of the paired differences if their 95 % interval excludes 0, else 0."""
    if any(one.missed or one.diverged or (one.value <= 0 and not accuracy) for pair in pairs for one in pair):
        return 0
    scaled = [[one.value if accuracy else math.log(one.value) for one in pair] for pair in pairs]
    found = estimate(a - b for a, b in scaled)
    if found.mean is None or found.half_width is None or found.half_width <= ROUNDING * abs(found.mean):
        return 0
    if abs(found.mean) <= found.half_width:
        return 0
    return 1 if found.mean > 0 else -1


def _factor(pairs: Sequence[tuple[Reading, Reading]]) -> float:
    """Returns the quotient of the larger mean and the smaller one. A seed that missed counts with
    the place where it ended, so the factor may be larger."""
    means = sorted(math.fsum(one.value for one in of) for of in zip(*pairs, strict=True))
    return means[1] / means[0] if means[0] > 0 else math.inf
