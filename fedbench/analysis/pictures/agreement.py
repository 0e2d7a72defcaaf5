"""The data of pictures of printed numbers against ours."""

from __future__ import annotations

from dataclasses import dataclass


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
