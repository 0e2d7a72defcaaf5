"""Anchors: the points of a suite at which the whole search for options is made, and which of them
lends its options to another point.

A point has a place for every factor: a number from 0 to 1 over the levels, on the factor's scale,
or a text. The distance of two points is the sum of the differences of their numbers, and 1 for
every factor whose texts differ; so it counts ranges of factors. A suite may give numbers for texts.

The nearest anchor is the one with the smallest distance in the factors that the suite names as
`first`, then in all; among equals, the first by name. Only anchors at which the algorithm runs
count. A cap on jobs under way belongs into `first`: rows are compared within it, and with it
staleness changes, and with staleness the rates and the buffers that work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field

from fedbench.errors import nearest as nearest_name
from fedbench.suites.design.schema import Value
from fedbench.suites.tuning_parts import Anchors

DIGITS = 6  # decimals of a distance, so that no last bit decides between equals
Places = Mapping[str, Value]


@dataclass(frozen=True)
class Near:
    """The anchor whose options a point takes, and how far away it is."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    point: str
    distance: Annotated[float, Field(ge=0, le=1e9)]


def check(anchors: Anchors, points: Mapping[str, Places]) -> None:
    """Raises ValueError for an anchor that is no point, and for a factor that points do not
    have."""
    for i, name in enumerate(anchors.points):
        if name not in points:
            raise ValueError(f"tuning.anchors.points.{i}: unknown point {name!r}{nearest_name(name, points)}")
    factors = next(iter(points.values()))
    for name, places in points.items():
        if not places or set(places) != set(factors):
            known = ", ".join(factors) or "no factor"
            raise ValueError(f"point {name}: anchors need the places of all points by factor ({known}), got {dict(places)}")
        for factor, numbers in anchors.numbers.items():
            if factor in places and places[factor] not in numbers:
                raise ValueError(f"tuning.anchors.numbers.{factor}: a number for {places[factor]!r} is missing")
    for key, named in (("first", anchors.first), ("numbers", anchors.numbers)):
        for factor in named:
            if factor not in factors:
                raise ValueError(f"tuning.anchors.{key}: unknown factor {factor!r}{nearest_name(factor, factors)}")


def distance(anchors: Anchors, one: Places, other: Places, factors: Sequence[str] | None = None) -> float:
    """Returns the distance of two points in some factors, by default in all."""
    return round(math.fsum(_apart(anchors, name, one[name], other[name]) for name in factors or one), DIGITS)


def _apart(anchors: Anchors, factor: str, one: Value, other: Value) -> float:
    if numbers := anchors.numbers.get(factor):
        return abs(numbers[str(one)] - numbers[str(other)]) / (max(numbers.values()) - min(numbers.values()))
    if isinstance(one, str) or isinstance(other, str):
        return float(one != other)
    return abs(one - other)


def near_to(anchors: Anchors, points: Mapping[str, Places], name: str, anchor: str) -> Near:
    """Returns an anchor as seen from the point of this name."""
    return Near(anchor, distance(anchors, points[anchor], points[name]))


def nearest(anchors: Anchors, points: Mapping[str, Places], name: str, runs_at: Callable[[str], bool]) -> Near | None:
    """Returns the anchor that is nearest to the point of this name, None if the algorithm runs at
    no anchor.

    Args:
        anchors: those of the suite.
        points: the places of its points by name.
        name: of the point.
        runs_at: whether the algorithm runs at the point of a name.
    """

    def key(near: Near) -> tuple[float, float, str]:
        first = distance(anchors, points[near.point], points[name], anchors.first) if anchors.first else 0.0
        return first, near.distance, near.point

    several = [near_to(anchors, points, name, anchor) for anchor in anchors.points]
    return next((near for near in sorted(several, key=key) if runs_at(near.point)), None)
