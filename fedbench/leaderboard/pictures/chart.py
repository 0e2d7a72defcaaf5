"""Draws test accuracy against an axis as an inline SVG.

The axis is logarithmic: algorithms differ by factors. The picture has no viewBox. Its x is in per
cent of the width that the page gives it, and its y in pixels of a fixed height. The curves are in a
nested SVG that is stretched to that size. So text keeps its size from a phone to a wide screen. A
unit of y is UNIT of accuracy, which is how exact the curves are, so that a script can read the
values from the lines. Colours are classes s0, s1, .. of the style sheet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from fedbench import written
from fedbench.analysis.axes import Axis
from fedbench.leaderboard.pictures.scales import LogScale, Scale, place_scale, value_scale

HEIGHT = 340  # CSS pixels, also in style.css
WIDTH = 10_000  # units of the stretched part
UNIT = 1e-4  # accuracy
CLOSEST = WIDTH // 200  # distance of two points
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


def series(name: str, look: Look, *columns: Sequence[float]) -> Series:
    """Returns the series of the four columns of a curve. A very long one keeps every k-th point and
    the last one."""
    keep = kept(len(columns[0]), MOST_POINTS)
    return Series(name, look, *([column[i] for i in keep] for column in columns))


def kept(length: int, most: int) -> list[int]:
    """Returns every k-th index of a sequence of some length, and the last index. They are at most
    `most` + 1."""
    places = list(range(0, length, max(1, -(-length // most))))
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
        until: where the picture ends; by default where the longest line does.
    """

    ident: str
    title: str
    targets: Sequence[float]
    axis: Axis
    horizon: float | None = None
    until: float | None = None


def draw(lines: Sequence[Series], picture: Picture, bold: Set[str] | None = None) -> str:
    """Returns the SVG element, or an empty string if no line has points.

    Args:
        lines: the lines. Those without points are left out.
        picture: what is around the lines.
        bold: the names of the lines that stand out; by default all. The others are behind them,
            thin, grey and without a band. A single line without `bold` has no legend beside it in
            which a script could show its values.
    """
    drawn = sorted((line for line in lines if line.at), key=lambda line: bold is not None and line.name in bold)
    if not drawn:
        return ""
    behind = frozenset() if bold is None else frozenset(line.name for line in drawn) - bold
    x = place_scale([(line.at, line.mean) for line in drawn], picture.until)
    shown = [value for line in drawn for place, value in zip(line.at, line.mean, strict=True) if place <= x.high]
    y = value_scale(shown, picture.targets)
    ident, unit, is_read = picture.ident, picture.axis.unit, bold is not None or len(drawn) > 1
    parts = [
        f'<svg class="chart" id="{ident}" width="100%" height="{HEIGHT}" role="img" '
        f"aria-label={quoteattr(f'{picture.title}. {_description(drawn, picture)}')}"
        + (
            f' tabindex="0" data-from="{x.low:.9g}" data-end="{x.high:.9g}" data-high="{y.high:.9g}" data-unit={quoteattr(unit)}>'
            if is_read
            else ">"
        ),
        f'<rect width="100%" height="{HEIGHT}" fill="none" pointer-events="all"/>' if is_read else "",
        f'<svg width="100%" height="{HEIGHT}" viewBox="0 0 {WIDTH} {_units(y.high - y.low)}" preserveAspectRatio="none" class="curves">',
        _grid(x, y),
        *(_band(line, x, y) for line in drawn if line.name not in behind),
        *(_line(line, x, y, "line context" if line.name in behind else "line") for line in drawn),
        _path_of_targets(picture.targets, y),
        "</svg>",
        *_names(x, y, picture.axis),
        _targets(picture.targets, y),
        *_horizon(picture.horizon, x),
        f'<line class="cross" x1="0" x2="0" y1="0" y2="{HEIGHT}" visibility="hidden"/>' if is_read else "",
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def _description(lines: Sequence[Series], picture: Picture) -> str:
    ends = "; ".join(f"{line.name}: {line.mean[-1]:.3f} at {written.amount(line.at[-1], picture.axis.unit)}" for line in lines)
    if len(lines) == 1:
        return f"At the end: {lines[0].mean[-1]:.3f} at {written.amount(lines[0].at[-1], picture.axis.unit)}."
    goals = ", ".join(f"{value:g}" for value in picture.targets)
    return f"Mean test accuracy at the end of the runs. {ends}." + (f" Target: {goals}." if goals else "")


def _grid(x: LogScale, y: Scale) -> str:
    across = "".join(f"M0 {_units(y.high - value)}h{WIDTH}" for value in y.ticks)
    down = "".join(f"M{_across(x, value)} 0v{_units(y.high - y.low)}" for value in x.ticks)
    return f'<path class="rule" d="{across}{down}"/>'


def _names(x: LogScale, y: Scale, axis: Axis) -> list[str]:
    """Returns the numbers at the ticks, and what they are."""
    values = "".join(f'<text y="{_y(y, value)}">{y.label(value)}</text>' for value in y.ticks)
    places = "".join(f'<text x="{100 * x.share(value):.4g}%">{written.tick(value, axis.unit)}</text>' for value in x.ticks)
    return [
        f'<g class="values">{values}</g><g class="places">{places}</g>',
        f'<line class="axis" x2="100%" y1="{HEIGHT}" y2="{HEIGHT}"/>',
        f'<text class="name" x="50%" y="{HEIGHT + 40}">{escape(axis.title)}, logarithmic</text>'
        f'<text class="name upright">test accuracy</text>',
    ]


def _path_of_targets(values: Iterable[float], y: Scale) -> str:
    lines = "".join(f"M0 {_units(y.high - value)}h{WIDTH}" for value in values)
    return f'<path class="target" d="{lines}"/>' if lines else ""


def _targets(values: Iterable[float], y: Scale) -> str:
    """Returns the words at the targets. One that is close below another one has none."""
    words, above = "", -float("inf")
    for value in sorted(values, reverse=True):
        at = _y(y, value)
        if float(at) - above >= 14:
            words += f'<text y="{at}">target {value:g}</text>'
            above = float(at)
    return f'<g class="targets">{words}</g>' if words else ""


def _horizon(place: float | None, x: LogScale) -> list[str]:
    """Returns the mark of the place where accuracies are compared. There is none if the place is
    the end of the picture."""
    if place is None or not 0.001 < x.share(place) < 0.999:
        return []
    at, is_right = f"{100 * x.share(place):.2f}%", x.share(place) > 0.6
    return [
        f'<line class="horizon" x1="{at}" x2="{at}" y1="0" y2="{HEIGHT}"/>',
        f'<text class="horizon" x="{at}" y="{HEIGHT}" dx="{-6 if is_right else 6}" dy="-8"'
        f"{' text-anchor=' + quoteattr('end') if is_right else ''}>compared here</text>",
    ]


def _line(line: Series, x: LogScale, y: Scale, kind: str) -> str:
    path = _path(_points(line.at, line.mean, x, y))
    name, look = quoteattr(line.name), line.look
    return f'<path class="{kind} s{look.colour}" data-name={name} stroke-dasharray="{look.dash}" d="{path}"/>'


def _band(line: Series, x: LogScale, y: Scale) -> str:
    """Returns a band, in steps of ten units of y: nothing is read from it."""
    there, back = (_points(line.at, values, x, y) for values in (line.high, line.low))
    path = _path([(across, round(down / 10)) for across, down in (*there, *back[::-1])])
    return f'<path class="band s{line.look.colour}" data-name={quoteattr(line.name)} transform="scale(1 10)" d="{path}Z"/>'


def _points(places: Sequence[float], values: Sequence[float], x: LogScale, y: Scale) -> list[tuple[int, int]]:
    """Returns the points inside of the picture, and the last one before it at its left edge. Of
    points that are closer than CLOSEST the first one is kept, and the last point always."""
    first = max((i for i, place in enumerate(places) if place <= x.low), default=0)
    inside = [i for i, place in enumerate(places) if i >= first and place <= x.high * (1 + 1e-9)]
    found: list[tuple[int, int]] = []
    for i in inside:
        across = _across(x, places[i])
        if i == inside[-1] or not found or across - found[-1][0] >= CLOSEST:
            found.append((across, _units(y.high - values[i])))
    return found


def _path(points: Sequence[tuple[int, int]]) -> str:
    """Returns a path in steps from point to point, which is half as long as one of places."""
    steps = [points[0], *((b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points))]
    first, *others = (f"{dx} {dy}" if dy >= 0 else f"{dx}{dy}" for dx, dy in steps)
    return f"M{first}l{' '.join(others)}".replace(" -", "-") if others else f"M{first}h0"


def _across(x: LogScale, place: float) -> int:
    return round(WIDTH * x.share(place))


def _units(accuracy: float) -> int:
    return round(accuracy / UNIT)


def _y(scale: Scale, value: float) -> str:
    """Returns the pixels from the top."""
    return f"{HEIGHT * (1 - scale.share(value)):.5g}"
