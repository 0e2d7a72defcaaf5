"""Draws test accuracy against an axis as an inline SVG.

The picture has no viewBox. Its x is in per cent of the width that the page gives it, and its y in
pixels of a fixed height. The curves are in a nested SVG that is stretched in x alone. So text keeps
its size from a phone to a wide screen. Colours are classes s0, s1, .. of the style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from fedbench.leaderboard import formats

HEIGHT = 340  # CSS pixels, also in style.css
WIDTH = 1000  # units of the stretched part
MOST_POINTS = 400  # points of a curve, besides the last one
COLOURS = 7  # classes s0 .. s6 in style.css
DASHES = ("none", "7 3", "2 3", "9 3 2 3", "14 4", "5 2 1 2 1 2")


@dataclass(frozen=True)
class Look:
    """How a series is drawn. An algorithm looks the same in every chart of a page."""

    colour: int
    dash: str


def look_of(index: int) -> Look:
    """Returns the look of a series by its index. The first 42 looks are distinct. Colour and dashes
    change together, so either alone tells neighbours apart."""
    return Look(index % COLOURS, DASHES[(index % COLOURS + index // COLOURS) % len(DASHES)])


@dataclass(frozen=True)
class Series:
    """A named mean curve with its band, as sequences of equal length. `at` are places on the
    axis."""

    name: str
    look: Look
    at: Sequence[float]
    mean: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def series(name: str, drawn_as: Look, curve: Mapping[str, Any]) -> Series:
    """Returns the series of a document's curve. A very long curve keeps every k-th point and the
    last one."""
    keep = kept(len(curve["at"]), MOST_POINTS)
    return Series(name, drawn_as, *([curve[column][i] for i in keep] for column in ("at", "mean", "low", "high")))


def kept(length: int, most: int) -> list[int]:
    """Returns every k-th index of a sequence of some length, and the last index. They are at most
    `most` + 1."""
    places = list(range(0, length, max(1, math.ceil(length / most))))
    return [*places, length - 1] if length and places[-1] != length - 1 else places


@dataclass(frozen=True)
class Picture:
    """What is around the lines.

    Attributes:
        ident: the id of the element, which is unique on the page.
        title: what the picture shows, in words.
        targets: accuracies, each with a horizontal line.
        axis: the axis with its title and unit, as a document has it.
        horizon: where on the axis accuracies are compared; None if nowhere.
    """

    ident: str
    title: str
    targets: Sequence[float]
    axis: Mapping[str, str]
    horizon: float | None = None


def framed(scenario: Mapping[str, Any], title: str, ident: str, axis: Mapping[str, str], horizon: float | None = None) -> Picture:
    """Returns what is around the lines of a scenario. Only its targets in test accuracy are
    shown."""
    goals = [one["value"] for one in scenario["targets"] if one["metric"] == "test_accuracy"]
    return Picture(ident, title, goals, axis, horizon)


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
        if self.high >= 1e6:
            return formats.number(value)
        digits = max(0, -math.floor(math.log10(self.step) + 1e-9))
        return f"{value:,.{digits + (round(self.step * 10**digits, 9) % 1 != 0)}f}"

    def share(self, value: float) -> float:
        """Returns where a value lies on the scale: 0 at `low`, 1 at `high`."""
        return (value - self.low) / (self.high - self.low)


def nice_step(span: float, wanted: int) -> float:
    """Returns the smallest step that cuts a span into at most `wanted` intervals. It is 1, 2, 2.5
    or 5 times a power of ten."""
    raw = span / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= raw * (1 - 1e-9))


def place_scale(lines: Sequence[Series]) -> Scale:
    """Returns the scale from 0 to the end of the longest curve."""
    high = max(line.at[-1] for line in lines) or 1.0
    return Scale(0.0, high, nice_step(high, 6))


def value_scale(lines: Sequence[Series], targets: Sequence[float]) -> Scale:
    """Returns the scale that holds all bands and targets. It is widened to whole steps and stays
    within 0 .. 1, as accuracies do."""
    values = [*chain.from_iterable((*line.low, *line.high) for line in lines), *targets]
    low, high = max(0.0, min(values)), min(1.0, max(values))
    if high - low < 1e-3:
        low, high = max(0.0, low - 0.05), min(1.0, high + 0.05)
    step = nice_step(high - low, 6)
    return Scale(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step)


def draw(lines: Sequence[Series], picture: Picture, bold: Set[str] | None = None) -> str:
    """Returns the SVG element, or an empty string if no line has points.

    Args:
        lines: the lines. Those without points are left out.
        picture: what is around the lines.
        bold: the names of the lines that stand out; by default all. The others are behind them,
            thin, grey and without a band.
    """
    drawn = sorted((line for line in lines if line.at), key=lambda line: bold is not None and line.name in bold)
    if not drawn:
        return ""
    behind = frozenset() if bold is None else frozenset(line.name for line in drawn) - bold
    x, y, ident = place_scale(drawn), value_scale(drawn, picture.targets), picture.ident
    parts = [
        f'<svg class="chart" id="{ident}" width="100%" height="{HEIGHT}" role="img" tabindex="0" '
        f'aria-labelledby="{ident}-title {ident}-about" data-end="{x.high:.12g}" '
        f'data-low="{y.low:.12g}" data-high="{y.high:.12g}" data-unit={quoteattr(picture.axis["unit"])}>',
        f'<title id="{ident}-title">{escape(picture.title)}</title>',
        f'<desc id="{ident}-about">{escape(_description(drawn, picture))}</desc>',
        f'<rect width="100%" height="{HEIGHT}" fill="none" pointer-events="all"/>',
        *_grid(x, y, picture.axis["title"]),
        f'<svg width="100%" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" class="curves">',
        *(_band(line, x, y) for line in drawn if line.name not in behind),
        *(_line(line, x, y, "line context" if line.name in behind else "line") for line in drawn),
        "</svg>",
        *(_target(value, y) for value in picture.targets),
        *_horizon(picture.horizon, x),
        f'<line class="cross" x1="0" x2="0" y1="0" y2="{HEIGHT}" visibility="hidden"/>',
        "</svg>",
    ]
    return "\n".join(parts)


def _description(lines: Sequence[Series], picture: Picture) -> str:
    ends = "; ".join(f"{line.name}: {line.mean[-1]:.3f} at {formats.amount(line.at[-1], picture.axis)}" for line in lines)
    goals = ", ".join(f"{value:g}" for value in picture.targets)
    return f"Mean test accuracy at the end of each line. {ends}." + (f" Target: {goals}." if goals else "")


def _grid(x: Scale, y: Scale, name: str) -> list[str]:
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
    parts.append(f'<text class="name" x="50%" y="{HEIGHT + 40}" text-anchor="middle">{escape(name)}</text>')
    parts.append(
        f'<text class="name" transform="translate(-44 {HEIGHT / 2:g}) rotate(-90)" text-anchor="middle">test accuracy</text>'
    )
    return parts


def _target(value: float, y: Scale) -> str:
    at = _y(y, value)
    return (
        f'<line class="target" x1="0" x2="100%" y1="{at}" y2="{at}"/>'
        f'<text class="target" x="0" y="{at}" dx="6" dy="-5">target {value:g}</text>'
    )


def _horizon(place: float | None, x: Scale) -> list[str]:
    """Returns the mark of the place where accuracies are compared. There is none if the place is
    the end of the picture."""
    if place is None or x.share(place) > 0.999:
        return []
    at, is_right = f"{100 * x.share(place):.2f}%", x.share(place) > 0.6
    return [
        f'<line class="horizon" x1="{at}" x2="{at}" y1="0" y2="{HEIGHT}"/>',
        f'<text class="horizon" x="{at}" y="{HEIGHT}" dx="{-6 if is_right else 6}" dy="-8"'
        f"{' text-anchor=' + quoteattr('end') if is_right else ''}>compared here</text>",
    ]


def _line(line: Series, x: Scale, y: Scale, kind: str) -> str:
    path = _path(line.at, line.mean, x, y)
    name, look = quoteattr(line.name), line.look
    return f'<path class="{kind} s{look.colour}" data-name={name} stroke-dasharray="{look.dash}" d="M{path}"/>'


def _band(line: Series, x: Scale, y: Scale) -> str:
    there, back = _path(line.at, line.high, x, y), _path(line.at[::-1], line.low[::-1], x, y)
    return f'<path class="band s{line.look.colour}" data-name={quoteattr(line.name)} d="M{there}L{back}Z"/>'


def _path(places: Sequence[float], values: Sequence[float], x: Scale, y: Scale) -> str:
    return "L".join(f"{WIDTH * x.share(t):.4g},{_y(y, value)}" for t, value in zip(places, values, strict=True))


def _y(scale: Scale, value: float) -> str:
    """Returns the pixels from the top. They stay inside the picture, since a t-interval may leave
    0 .. 1."""
    return f"{HEIGHT * (1 - min(1.0, max(0.0, scale.share(value)))):.5g}"
