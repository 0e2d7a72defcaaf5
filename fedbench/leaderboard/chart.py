"""Test accuracy against virtual time as an inline SVG, without a drawing library.

The picture has no viewBox: x is in per cent of the width that the page gives it, y in pixels of a fixed height, and the curves
sit in a nested SVG that is stretched in x alone. So text keeps its size from a phone to a wide screen. Colours come from the
page's style sheet (classes s0, s1, ..), so that they follow the light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from xml.sax.saxutils import escape, quoteattr

HEIGHT = 340  # CSS pixels, also in style.css
WIDTH = 1000  # units of the stretched part
MOST_POINTS = 400
COLOURS = 7  # classes s0 .. s6 in style.css
DASHES = ("none", "7 3", "2 3", "9 3 2 3", "14 4", "5 2 1 2 1 2")


@dataclass(frozen=True)
class Look:
    """How a series is drawn: the same algorithm looks the same in every chart of a page."""

    colour: int
    dash: str


def look_of(index: int) -> Look:
    """Distinct for 42 series: colour and dash pattern change together, so either alone tells neighbours apart."""
    return Look(index % COLOURS, DASHES[(index % COLOURS + index // COLOURS) % len(DASHES)])


@dataclass(frozen=True)
class Series:
    """A named mean curve with its band: equal-length sequences."""

    name: str
    look: Look
    seconds: Sequence[float]
    mean: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def series(name: str, drawn_as: Look, curve: Mapping[str, Any]) -> Series:
    """From the document's curve; a very long one keeps every k-th point and the last."""
    length = len(curve["seconds"])
    keep = range(0, length, max(1, math.ceil(length / MOST_POINTS)))
    at = [*keep, length - 1] if length and keep[-1] != length - 1 else list(keep)
    return Series(name, drawn_as, *([curve[column][i] for i in at] for column in ("seconds", "mean", "low", "high")))


@dataclass(frozen=True)
class Axis:
    """A linear axis from `low` to `high` with ticks at multiples of `step`."""

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
        """Where a value lies: 0 at `low`, 1 at `high`."""
        return (value - self.low) / (self.high - self.low)


def nice_step(span: float, wanted: int) -> float:
    """The step among 1, 2, 2.5, 5 times a power of ten that gives at most `wanted` intervals."""
    raw = span / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= raw * (1 - 1e-9))


def time_axis(lines: Sequence[Series]) -> Axis:
    """From 0 to the end of the longest curve."""
    high = max(line.seconds[-1] for line in lines) or 1.0
    return Axis(0.0, high, nice_step(high, 6))


def value_axis(lines: Sequence[Series], targets: Sequence[float]) -> Axis:
    """Holds all bands and targets, widened to whole steps; an accuracy stays within 0 .. 1."""
    values = [*chain.from_iterable((*line.low, *line.high) for line in lines), *targets]
    low, high = max(0.0, min(values)), min(1.0, max(values))
    if high - low < 1e-3:
        low, high = max(0.0, low - 0.05), min(1.0, high + 0.05)
    step = nice_step(high - low, 6)
    return Axis(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step)


def draw(lines: Sequence[Series], targets: Sequence[float], ident: str, title: str) -> str:
    """The SVG element. Lines without points are left out; an empty string if nothing can be drawn."""
    drawn = [line for line in lines if line.seconds]
    if not drawn:
        return ""
    x, y = time_axis(drawn), value_axis(drawn, targets)
    parts = [
        f'<svg class="chart" id="{ident}" width="100%" height="{HEIGHT}" role="img" tabindex="0" '
        f'aria-labelledby="{ident}-title {ident}-about" data-end="{x.high:g}">',
        f'<title id="{ident}-title">{escape(title)}</title>',
        f'<desc id="{ident}-about">{escape(_description(drawn, targets))}</desc>',
        f'<rect width="100%" height="{HEIGHT}" fill="none" pointer-events="all"/>',
        *_grid(x, y),
        f'<svg width="100%" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" class="curves">',
        *(_band(line, x, y) for line in drawn),
        *(_line(line, x, y) for line in drawn),
        "</svg>",
        *(_target(value, y) for value in targets),
        f'<line class="cross" x1="0" x2="0" y1="0" y2="{HEIGHT}" visibility="hidden"/>',
        "</svg>",
    ]
    return "\n".join(parts)


def _description(lines: Sequence[Series], targets: Sequence[float]) -> str:
    ends = "; ".join(f"{line.name}: {line.mean[-1]:.3f} at {line.seconds[-1]:g} s" for line in lines)
    goals = ", ".join(f"{value:g}" for value in targets)
    return f"Mean test accuracy at the end of each line. {ends}." + (f" Target: {goals}." if goals else "")


def _grid(x: Axis, y: Axis) -> list[str]:
    parts = []
    for value in y.ticks:
        at = _y(y, value)
        parts.append(f'<line class="rule" x1="0" x2="100%" y1="{at}" y2="{at}"/>')
        parts.append(f'<text class="tick" x="-8" y="{at}" dy=".32em" text-anchor="end">{y.label(value)}</text>')
    for value in x.ticks:
        at = f"{100 * x.share(value):.2f}%"
        parts.append(f'<line class="axis" x1="{at}" x2="{at}" y1="{HEIGHT}" y2="{HEIGHT + 5}"/>')
        parts.append(f'<text class="tick" x="{at}" y="{HEIGHT + 19}" text-anchor="middle">{x.label(value)}</text>')
    parts.append(f'<line class="axis" x1="0" x2="100%" y1="{HEIGHT}" y2="{HEIGHT}"/>')
    parts.append(f'<text class="name" x="50%" y="{HEIGHT + 40}" text-anchor="middle">virtual time (s)</text>')
    parts.append(
        f'<text class="name" transform="translate(-44 {HEIGHT / 2:g}) rotate(-90)" text-anchor="middle">test accuracy</text>'
    )
    return parts


def _target(value: float, y: Axis) -> str:
    at = _y(y, value)
    return (
        f'<line class="target" x1="0" x2="100%" y1="{at}" y2="{at}"/>'
        f'<text class="target" x="0" y="{at}" dx="6" dy="-5">target {value:g}</text>'
    )


def _line(line: Series, x: Axis, y: Axis) -> str:
    path = _path(line.seconds, line.mean, x, y)
    name, look = quoteattr(line.name), line.look
    return f'<path class="line s{look.colour}" data-name={name} stroke-dasharray="{look.dash}" d="M{path}"/>'


def _band(line: Series, x: Axis, y: Axis) -> str:
    there, back = _path(line.seconds, line.high, x, y), _path(line.seconds[::-1], line.low[::-1], x, y)
    return f'<path class="band s{line.look.colour}" data-name={quoteattr(line.name)} d="M{there}L{back}Z"/>'


def _path(seconds: Sequence[float], values: Sequence[float], x: Axis, y: Axis) -> str:
    return "L".join(f"{WIDTH * x.share(t):.4g},{_y(y, value)}" for t, value in zip(seconds, values, strict=True))


def _y(axis: Axis, value: float) -> str:
    """Pixels from the top, kept inside the picture (a t-interval may leave 0 .. 1)."""
    return f"{HEIGHT * (1 - min(1.0, max(0.0, axis.share(value)))):.5g}"
