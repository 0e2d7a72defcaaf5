"""The data of pictures of printed numbers against ours, and where the names of points stand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

MARGIN = 1.35  # beyond the least and the largest number, as a factor
CORNERS = ((1, -1), (1, 1), (-1, 1), (-1, -1))
"""Where the name of a point may be: right or left of it, and above or below."""
AWAY = 0.022  # from a point to its name, as a share of the axis


@dataclass(frozen=True)
class Point:
    """A printed number and ours.

    row: what the point is of, such as an algorithm; points of a row look alike.
    label: the name beside the point.
    printed, ours: the numbers, > 0.
    low, high: the ends of the interval of ours, None where there is none.
    is_bound: whether ours is known to be larger only.
    inside: whether ours lies in the band.
    """

    row: str
    label: str
    printed: float
    ours: float
    low: float | None
    high: float | None
    is_bound: bool
    inside: bool


@dataclass(frozen=True)
class Panel:
    """The points of one panel. `title` says what they have in common; it may be empty."""

    title: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Agreement:
    """Printed numbers and ours, in panels with the same scales. `unit` is what is counted, and
    `least` and `most` are the ends of the band, in units of the printed number."""

    unit: str
    least: float
    most: float
    panels: tuple[Panel, ...]

    @property
    def points(self) -> tuple[Point, ...]:
        """The points of all panels."""
        return tuple(point for panel in self.panels for point in panel.points)

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of both scales, which are the same."""
        numbers = [number for point in self.points for number in (point.printed, point.ours, point.low, point.high)]
        known = [number for number in numbers if number is not None and 0 < number < math.inf]
        return min(known) / MARGIN, max(known) * MARGIN


def corners(points: Sequence[Point], ends: tuple[float, float]) -> list[tuple[int, int]]:
    """Returns where the name of each point stands, as 1 for right or above and -1 for left or
    below. It is the corner that is farthest from all other points and names."""
    scale = math.log(ends[1] / ends[0])
    taken = [(math.log(point.printed / ends[0]) / scale, math.log(point.ours / ends[0]) / scale) for point in points]
    found = []
    for number in range(len(points)):
        x, y = taken[number]
        others = [place for i, place in enumerate(taken) if i != number]
        free = [
            (min((math.dist((x + AWAY * dx, y + AWAY * dy), one) for one in others), default=1.0), dx, dy) for dx, dy in CORNERS
        ]
        _, dx, dy = max(free, key=lambda one: round(min(one[0], 2 * AWAY), 6))
        taken.append((x + AWAY * dx, y + AWAY * dy))
        found.append((dx, dy))
    return found


def told(data: Agreement) -> str:
    """Returns what a picture shows, in words."""
    inside = sum(point.inside for point in data.points)
    words = [
        f"Printed numbers against ours, in {data.unit}. On the line they are equal; the band is from {data.least:g} to {data.most:g} times "
        f"the printed number, and {inside} of {len(data.points)} points lie in it, which are filled. Numbers beside points are cells."
    ]
    if any(point.low is not None for point in data.points):
        words.append("Bars are 95 % intervals over seeds; a point without a bar has one seed, or seeds that are equal.")
    if any(point.is_bound for point in data.points):
        words.append("An arrow says that a seed ended without its target, so ours is larger.")
    return " ".join(words)
