"""Draws how much slower an algorithm gets when one thing is changed. Its small picture shows the
time at every point over its own time at the base."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import escape

from fedbench.leaderboard import formats
from fedbench.leaderboard.pictures import Small, image

WIDTH, HEIGHT = 216, 104
LEFT, RIGHT, TOP, BOTTOM = 26, 4, 6, 16  # pixels around the picture
LOW, HIGH = 0.25, 32  # ratios beyond these are drawn at the edge
TICKS = (0.25, 1, 4, 16)
CONTEXT = "degradation-context"


@dataclass(frozen=True)
class _Dot:
    """The ratio of a point to the base. `bound` is a sign that says which bound the ratio is if a
    target was missed, and is empty otherwise."""

    point: str
    place: int
    ratio: float
    bound: str


def pictures(document: Mapping[str, Any], kind: str, labels: Sequence[str]) -> list[Small]:
    """Returns a picture for each label that reaches a target at the base, which is the first point,
    and at another one. The first picture defines the grey dots of all, which the others show
    too."""
    points = [point["name"] for point in document["points"]]
    dots = {label: found for label in labels if (found := _dots(document["boards"][kind], points, label))}
    if len(points) < 2 or not dots:
        return []
    width = (WIDTH - LEFT - RIGHT) / (len(points) - 1)
    several = "".join(_circle(dot, width, "other-dot", 1.5) for own in dots.values() for dot in own)
    grey = f'<g id="{CONTEXT}-{kind}">{several}</g>'
    smalls = []
    for i, (label, own) in enumerate(dots.items()):
        behind = grey if i == 0 else f'<use href="#{CONTEXT}-{kind}"/>'
        worst = max(own, key=lambda dot: dot.ratio)
        none = _without(document["boards"][kind], points, label)
        within = f"most at {worst.point}: {worst.bound}{worst.ratio:.1f}" + (f"; no target at {', '.join(none)}" if none else "")
        crosses = (_cross(points.index(point) - 1, width, point) for point in none)
        shown = "".join([*(_stem(dot, width) for dot in own), *crosses])
        inside = f"{_frame(document['points'], width)}{behind}{shown}"
        smalls.append(Small(label, image("profile", (WIDTH, HEIGHT), f"{label}: {within}", inside), within))
    return smalls


def _dots(boards: Mapping[str, Any], points: Sequence[str], label: str) -> list[_Dot]:
    rows = {point: row for point in points for row in boards.get(point, ()) if row["label"] == label}
    base = rows.get(points[0])
    if base is None or base["solved"] == 0 or base["mean"] <= 0:
        return []
    return [
        _Dot(point, place, rows[point]["mean"] / base["mean"], formats.bound(rows[point], base))
        for place, point in enumerate(points[1:])
        if point in rows and rows[point]["solved"] > 0 and rows[point]["mean"] > 0
    ]


def _without(boards: Mapping[str, Any], points: Sequence[str], label: str) -> list[str]:
    """Returns the points at which a row reaches no target."""
    return [point for point in points[1:] for row in boards.get(point, ()) if row["label"] == label and row["solved"] == 0]


def _cross(place: int, width: float, point: str) -> str:
    x, y = _x(place, width), TOP + 4
    return f'<path class="cross" d="M{x - 3:.1f} {y - 3}l6 6m0 -6l-6 6"><title>{escape(point)}: no target</title></path>'


def _x(place: int, width: float) -> float:
    return LEFT + width * (place + 0.5)


def _y(ratio: float) -> float:
    low, high = math.log2(LOW), math.log2(HIGH)
    share = (math.log2(ratio) - low) / (high - low)
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(1.0, max(0.0, share)))


def _circle(dot: _Dot, width: float, name: str, radius: float, title: str = "") -> str:
    inside = f"<title>{escape(title)}</title>" if title else ""
    return f'<circle class="{name}" cx="{_x(dot.place, width):.1f}" cy="{_y(dot.ratio):.1f}" r="{radius:g}">{inside}</circle>'


def _stem(dot: _Dot, width: float) -> str:
    x, title = _x(dot.place, width), f"{dot.point}: {dot.bound}{dot.ratio:.2f}"
    line = f'<line class="range" x1="{x:.1f}" x2="{x:.1f}" y1="{_y(1):.1f}" y2="{_y(dot.ratio):.1f}"/>'
    return line + _circle(dot, width, "dot hollow" if dot.bound else "dot", 3, title)


def _frame(points: Sequence[Mapping[str, Any]], width: float) -> str:
    lines = [
        f'<line class="{"axis" if tick == 1 else "rule"}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(tick):.1f}" y2="{_y(tick):.1f}"/>'
        f'<text x="{LEFT - 4}" y="{_y(tick):.1f}" dy=".32em" text-anchor="end">{tick:g}</text>'
        for tick in TICKS
    ]
    numbers = [
        f'<text x="{_x(place, width):.1f}" y="{HEIGHT - 4}" text-anchor="middle">{place + 1}<title>{escape(point["name"])}</title></text>'
        for place, point in enumerate(points[1:])
    ]
    return "".join([*lines, *numbers])
