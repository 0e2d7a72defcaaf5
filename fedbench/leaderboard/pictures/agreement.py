"""Draws printed numbers against ours on logarithmic scales that are alike, with the band in which
they agree. A point in the band is filled, and an arrow stands for a number that is known to be
larger only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup, escape

from fedbench import written
from fedbench.analysis.pictures.agreement import Agreement, Panel, Point, corners
from fedbench.leaderboard.pictures import image
from fedbench.leaderboard.pictures.chart import COLOURS
from fedbench.leaderboard.pictures.scales import LogScale

SIDE = 380  # of the square of a panel, pixels
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 10, 46
WIDTH, HEIGHT = LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM
SHAPES = ("M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0z", "M-4-4h8v8h-8z", "M0-5.2L4.8 3.6h-9.6z", "M0-5.6L5.6 0 0 5.6-5.6 0z",
          "M0 5.2L4.8-3.6h-9.6z")  # fmt: skip
"""Round, square, up, diamond and down. With the colours they tell 35 rows apart."""
ARROW = 22  # pixels


@dataclass(frozen=True)
class Key:
    """A mark of a picture, and what it stands for."""

    mark: Markup
    words: str


def pictures(data: Agreement, title: str) -> list[tuple[str, Markup]]:
    """Returns the title and the picture of each panel."""
    return [(panel.title, _panel(panel, data, title)) for panel in data.panels]


def keys(data: Agreement) -> list[Key]:
    """Returns the legend: the rows, then what else is drawn."""
    found = [Key(_swatch(_shape(look), look), row) for row, look in _looks(data).items()]
    found.append(Key(_swatch('<rect class="agree" x="-9" y="-6" width="18" height="12"/>'), _band_in_words(data)))
    found += [Key(_swatch(_shape(0)), "in the band"), Key(_swatch(_shape(0, is_filled=False)), "outside of it")]
    if any(point.low is not None for point in data.points):
        found.append(Key(_swatch('<path class="reach" d="M0-7v14"/>'), "95 % interval over seeds"))
    if any(point.is_bound for point in data.points):
        found.append(Key(_swatch(f'<g transform="translate(0 8)">{_arrow(14)}</g>'), "larger: a seed ended without its target"))
    return found


def _band_in_words(data: Agreement) -> str:
    return f"{data.least:g} to {data.most:g} times the printed number"


def _looks(data: Agreement) -> Mapping[str, int]:
    return {row: i for i, row in enumerate(dict.fromkeys(point.row for point in data.points))}


def _panel(panel: Panel, data: Agreement, title: str) -> Markup:
    scale, looks = LogScale(*data.ends), _looks(data)
    inside = sum(point.inside for point in panel.points)
    told = ", ".join(filter(None, (title, panel.title)))
    drawn = [_frame(scale, data)]
    for point, corner in zip(panel.points, corners(panel.points, data.ends), strict=True):
        drawn.append(_point(point, scale, looks[point.row], corner, data.unit))
    count = f"{written.counted(len(panel.points), 'point')}, {inside} in the band from {_band_in_words(data)}"
    return image("agreement", (WIDTH, HEIGHT), f"{told}: printed numbers against ours, {count}.", "".join(drawn))


def _frame(scale: LogScale, data: Agreement) -> str:
    """Returns the band, the line of equal numbers, rules and names of both scales. The band is cut
    off at the frame."""
    low, high = scale.low, scale.high
    edge = [
        (low, low * data.most),
        (high / data.most, high),
        (high, high),
        (high, high * data.least),
        (low / data.least, low),
        (low, low),
    ]
    corner = " ".join(f"{_x(scale, x):.1f},{_y(scale, y):.1f}" for x, y in edge)
    right, bottom = LEFT + SIDE, TOP + SIDE
    parts = [f'<polygon class="agree" points="{corner}"/>']
    for tick in scale.ticks:
        x, y, name = _x(scale, tick), _y(scale, tick), written.number(tick)
        parts.append(f'<path class="rule" d="M{x:.1f} {TOP}v{SIDE}M{LEFT} {y:.1f}h{SIDE}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 17}" text-anchor="middle">{name}</text>')
        parts.append(f'<text x="{LEFT - 7}" y="{y:.1f}" dy=".32em" text-anchor="end">{name}</text>')
    parts.append(f'<path class="axis equal" d="M{LEFT} {bottom}L{right} {TOP}"/>')
    parts.append(f'<rect class="axis" x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none"/>')
    unit = escape(data.unit)
    parts.append(f'<text class="name" x="{LEFT + SIDE / 2:g}" y="{HEIGHT - 6}" text-anchor="middle">printed, {unit}</text>')
    parts.append(
        f'<text class="name" transform="translate(14 {TOP + SIDE / 2:g}) rotate(-90)" text-anchor="middle">ours, {unit}</text>'
    )
    return "".join(parts)


def _point(point: Point, scale: LogScale, look: int, corner: tuple[int, int], unit: str) -> str:
    """Returns a point with its interval or arrow and its name, which is beside it in a corner."""
    x, y = _x(scale, point.printed), _y(scale, point.ours)
    parts = [f"<title>{escape(_told(point, unit))}</title>"]
    if point.low is not None and point.high is not None:
        parts.append(f'<path class="reach" d="M0 {_y(scale, point.low) - y:.1f}V{_y(scale, point.high) - y:.1f}"/>')
    if point.is_bound:
        parts.append(_arrow(ARROW))
    parts.append(_shape(look, is_filled=point.inside))
    right, above = corner
    parts.append(
        f'<text x="{7 * right}" y="{-5 if above > 0 else 13}" text-anchor="{"start" if right > 0 else "end"}">{escape(point.label)}</text>'
    )
    return f'<g class="s{look % COLOURS}" transform="translate({x:.1f} {y:.1f})">{"".join(parts)}</g>'


def _told(point: Point, unit: str) -> str:
    ours = f"{written.BEYOND if point.is_bound else ''}{written.number(point.ours)}"
    between = "" if point.low is None or point.high is None else f", 95 % interval {point.low:.3g} to {point.high:.3g}"
    ratio = f"{written.ratio(point.ours / point.printed)} times the printed number"
    return f"Cell {point.label}, {point.row}: printed {point.printed:g} {unit}, ours {ours}{between}; {ratio}"


def _shape(look: int, *, is_filled: bool = True) -> str:
    """Returns the mark of a row at 0, 0."""
    return f'<path class="shape{"" if is_filled else " hollow"}" d="{SHAPES[look % len(SHAPES)]}"/>'


def _arrow(length: int) -> str:
    return f'<path class="reach" d="M0 0v{-length}m-3.5 5l3.5-5l3.5 5"/>'


def _swatch(inside: str, look: int | None = None) -> Markup:
    """Returns a small picture for the legend, in the colour of a row or in grey."""
    kind = "any" if look is None else f"s{look % COLOURS}"
    return Markup(f'<svg class="swatch {kind}" width="22" height="18" viewBox="-11 -9 22 18" aria-hidden="true">{inside}</svg>')


def _x(scale: LogScale, value: float) -> float:
    return LEFT + SIDE * scale.share(value)


def _y(scale: LogScale, value: float) -> float:
    return TOP + SIDE * (1 - scale.share(min(value, scale.high)))
