"""Writes numbers and signs: bounds, intervals, the set of the best, units, shares and ticks.

Findings, tables, figures, pages and the terminal take them from here, and no other module writes
such a sign. A number that is not known is a dash.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

NONE = "–"
BEST = "●"
"""The sign of a row that is in the set of the best."""
AT_LEAST, AT_MOST, UNKNOWN = "≥", "≤", "?"
"""Signs before a number that is only a bound, or of which nothing is known."""
BEYOND, ENDLESS, PLUS_MINUS = ">", "∞", "±"
SYMBOLS = ("s", "B")  # units that are symbols and not words
WHOLE = 1e15  # below it, a whole number is written with all of its digits


def sign(misses: bool, other_misses: bool = False) -> str:
    """Returns the sign of a cost, or of a ratio of two: `≥` if targets are missed, `≤` if the cost
    that it is divided by misses some, `?` if both do, and nothing else."""
    return {(True, False): AT_LEAST, (False, True): AT_MOST, (True, True): UNKNOWN}.get((misses, other_misses), "")


def signed(text: str, before: str, gap: str = " ") -> str:
    return f"{before}{gap}{text}" if before else text


def bound(text: str, misses: bool, gap: str = " ") -> str:
    """Returns `≥ 32.5 s` for what is a lower bound, since targets are missed."""
    return signed(text, sign(misses), gap)


def spoken(text: str) -> str:
    """Returns a bound as a sentence has it: `at least 32.5 s`."""
    return text.replace(AT_LEAST, "at least").replace(AT_MOST, "at most")


def at_least(text: str, misses: bool) -> str:
    """Returns `bound` as a sentence has it."""
    return spoken(bound(text, misses))


def interval(low: float, high: float, digits: str = ".2f") -> str:
    """Returns `[1.05, 1.40]`; an end that is not known is ∞."""
    return f"[{low:{digits}}, {ENDLESS if math.isinf(high) else f'{high:{digits}}'}]"


def estimate(value: float, low: float | None, high: float | None, before: str = "", digits: str = ".2f") -> str:
    """Returns `≥ 1.11 [1.09, 1.15]`. An interval without width says nothing and is left out."""
    text = signed(f"{value:{digits}}", before)
    return text if low is None or high is None or low == high else f"{text} {interval(low, high, digits)}"


def plus_minus(middle: str, half_width: str) -> str:
    return f"{middle} {PLUS_MINUS} {half_width}"


@dataclass(frozen=True)
class Ratio:
    """A ratio of costs with the ends of its interval. `high` is infinite where the first row misses
    targets that the second one reaches, and `low` is 0 where it is the other way round, because
    what a miss would have cost is not known."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, numbers: tuple[float, float, float | None]) -> Ratio:
        """Returns the ratio of `numbers`, as documents have them."""
        value, low, high = numbers
        return cls(value, low, math.inf if high is None else high)

    @property
    def numbers(self) -> tuple[float, float, float | None] | None:
        """Returns value, low and high; for a high that is not known None, and None alone if the
        value is not finite."""
        if math.isinf(self.value):
            return None
        return self.value, self.low, None if math.isinf(self.high) else self.high

    @property
    def sign(self) -> str:
        return sign(math.isinf(self.high), self.low == 0)

    @property
    def is_known(self) -> bool:
        """Returns whether an end of the interval is known, which takes enough seeds."""
        return self.sign != UNKNOWN

    @property
    def verdict(self) -> str:
        """Returns which side costs less, `first` or `second`, and `tied` if the interval contains
        1."""
        return "first" if self.high < 1 else "second" if self.low > 1 else "tied"

    @property
    def equation(self) -> str:
        """Returns `= 1.24 [1.05, 1.40]`, or a bound with its sign."""
        return f"{self}" if self.sign else f"= {self}"

    @property
    def text(self) -> str:
        """Returns `≥ 1.24`."""
        return signed(ratio(self.value), self.sign)

    @property
    def interval(self) -> str:
        return interval(self.low, self.high)

    @property
    def parts(self) -> tuple[str, str]:
        """Returns `≥ 1.24` and `[1.01, ∞]`; the value alone if neither end is known."""
        return (self.text, self.interval) if self.is_known else (ratio(self.value), "")

    def __str__(self) -> str:
        """Returns `≥ 1.24 [1.01, ∞]`."""
        return f"{self.text} {self.interval}"


def ratio(value: float) -> str:
    return f"{value:.2f}"


def digits(value: float) -> str:
    """Returns a number with three significant digits, never in powers of ten: 0.0123, 12, 1,234."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def three(value: float) -> str:
    """Returns a number with three significant digits, zeros at the end too: 0.0123, 12.0, 1,234."""
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:#.3g}" if abs(value) >= 1e-4 or value == 0 else f"{value:.1e}"


def number(value: float | None) -> str:
    """Returns a number with three significant digits, and whole numbers below a million in full:
    0.0123, 12.0, 12, 1,234, 5.68 M."""
    if value is None:
        return NONE
    for limit, letter in ((1e12, " T"), (1e9, " G"), (999_999.5, " M")):
        if abs(value) >= limit:
            return three(value / round(limit, -6)) + letter
    return f"{value:,.0f}" if float(value).is_integer() else three(value)


def exact(value: float) -> str:
    """Returns a number with six significant digits, and a whole number with all of its digits."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < WHOLE else f"{value:g}"


def tenths(value: float) -> str:
    """Returns a number with one decimal, or with none from 100 on."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}"


def percent(value: float | None) -> str:
    """Returns a share in whole per cent: 31 %. A share that is not 0 but rounds to 0 is <1 %."""
    if value is None:
        return NONE
    return "<1 %" if value > 0 and round(100 * value) == 0 else f"{100 * value:.0f} %"


def targets(values: Iterable[float]) -> str:
    """Returns accuracies in per cent: 60, 62.5 %."""
    return ", ".join(f"{100 * value:g}" for value in values) + " %"


def thousandths(value: float | None) -> str:
    """Returns three decimals, as accuracies have. A number above 0 that rounds to 0 is <0.001."""
    if value is None:
        return NONE
    return "<0.001" if 0 < value < 0.0005 else f"{value:.3f}"


def accuracy(mean: float | None, half_width: float | None) -> str:
    """Returns `0.873 ± 0.004`, or the mean alone if there is no interval."""
    text = NONE if mean is None else f"{mean:.3f}"
    return text if mean is None or half_width is None else plus_minus(text, thousandths(half_width))


def difference(mean: float, half_width: float) -> str:
    """Returns the difference of two accuracies: `−0.012 ± 0.031`."""
    return plus_minus(f"{mean:+.3f}".replace("-", "−"), thousandths(half_width))


def measured(mean: float, half_width: float | None) -> str:
    """Returns a mean with the digits that its interval leaves: `84.21 ± 0.35`."""
    if not half_width:
        return f"{mean:.4g}" if half_width is None else plus_minus(f"{mean:.4g}", "0")
    places = max(0, 1 - math.floor(math.log10(half_width)))
    return plus_minus(f"{mean:.{places}f}", f"{half_width:.{places}f}")


def counted(count: int, what: str) -> str:
    """Returns `1 run`, `1,234 runs`."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def seconds(value: float | None) -> str:
    """Returns virtual seconds: 0.450 s, 12.0 s, 1,234 s."""
    return NONE if value is None else f"{number(value) if value >= 100 else three(value)} s"


def size(value: float | None) -> str:
    """Returns bytes in decimal units: 1.23 GB."""
    if value is None:
        return NONE
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(value) < 999.5:
            return f"{number(value)} {unit}"
        value /= 1000
    return f"{number(value)} PB"


def hours(value: float | None) -> str:
    """Returns a time of computing, given in hours: <1 s, 40 s, 12 min, 3.5 h, 2.1 days. Empty for
    None."""
    if value is None:
        return ""
    for least, unit, factor in ((48.0, "days", 1 / 24), (1.0, "h", 1.0), (1 / 60, "min", 60.0), (1 / 3600, "s", 3600.0)):
        if value >= least:
            return f"{f'{value * factor:.0f}' if value * factor >= 9.95 else f'{value * factor:.2g}'} {unit}"
    return "<1 s"


def duration(value: float) -> str:
    """Returns a time of computing, given in seconds: 1.5 s, 20 ms, 3.1 µs, 400 ns."""
    for limit, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= limit:
            return f"{value / limit:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def amount(value: float | None, unit: str) -> str:
    """Returns what was spent, with three digits: `12.0 s`, `1.23 GB`, `26 updates`."""
    return seconds(value) if unit == "s" else place(value, unit)


def place(value: float | None, unit: str) -> str:
    """Returns a place on an axis: `12 s`, `1.23 GB`, `26 updates`."""
    if value is None:
        return NONE
    return size(value) if unit == "B" else f"{number(value)} {unit}"


def brief(value: float | None, unit: str) -> str:
    """Returns what was spent. A unit that is a word is left out, since the heading has it."""
    return amount(value, unit) if unit in SYMBOLS else number(value)


def median(value: float | None, beyond: float | None, unit: str) -> str:
    """Returns a median over seeds: `12.3 s`, or `> 20 s` if the median seed missed."""
    return brief(value, unit) if value is not None else signed(brief(beyond, unit), BEYOND)


def reached(hits: int, seeds: int, median: float | None) -> str:
    """Returns how many seeds reach a target, and their median: `9 of 10, 12.5`."""
    return f"{hits} of {seeds}" + ("" if median is None else f", {median:g}")


def tick(value: float, unit: str) -> str:
    """Returns a round number at the tick of an axis: `0.5`, `1,000`, `2 M`, `20 MB`."""
    if unit == "B":
        return size(float(f"{value:.3g}")).replace(".00 ", " ").replace(".0 ", " ")
    for limit, letter in ((1e9, " G"), (1e6, " M")):
        if value >= limit:
            return f"{value / limit:g}{letter}"
    return f"{value:,.0f}" if value >= 1 and float(value).is_integer() else f"{value:g}"


Style = Mapping[str, Callable[[float], str]]
"""How a cost is written, by axis."""
FULL: Style = {"seconds": seconds, "gradient_evaluations": number, "bytes": size}
"""As pages have it: `12.0 s`."""
SHORT: Style = {
    "seconds": lambda value: f"{digits(value)} s",
    "gradient_evaluations": digits,
    "bytes": lambda value: f"{digits(value / 1e6)} MB",
}
"""As texts have it: `12 s`. Bytes are all in MB."""


def cost(value: float | None, misses: bool, axis: str = "seconds", style: Style = FULL) -> str:
    """Returns a cost, which is a lower bound if a target is missed: `≥ 32.5 s`."""
    return NONE if value is None else bound(style[axis](value), misses)


def cost_between(found: tuple[float, float, float], axis: str = "seconds", style: Style = SHORT) -> str:
    """Returns a cost with the ends of its interval: `12 s [10 s, 15 s]`."""
    value, low, high = (style[axis](one) for one in found)
    return f"{value} [{low}, {high}]"
