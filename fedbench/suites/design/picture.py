"""The points of a suite over factors, as a picture shows them."""

from __future__ import annotations

from dataclasses import dataclass

from fedbench.suites.design.schema import Design, Kind
from fedbench.suites.suite import Suite

ORDER: tuple[Kind, ...] = ("design", "held_out", "other_clients")


@dataclass(frozen=True)
class FactorLine:
    """A factor: its levels in words, from the first to the last."""

    name: str
    unit: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class PointColumn:
    """A point: the number of its level of every factor, and whether the whole search for options is
    made there."""

    name: str
    kind: Kind
    levels: tuple[int, ...]
    is_anchor: bool


@dataclass(frozen=True)
class DesignPicture:
    """All points, by kind, in the order of their levels."""

    suite: str
    factors: tuple[FactorLine, ...]
    points: tuple[PointColumn, ...]


def picture(suite: Suite) -> DesignPicture:
    """Returns the points of a suite. Raises UsageError if it has no design."""
    design = suite.designed()
    anchors = () if suite.anchors is None else suite.anchors.points
    columns = [
        PointColumn(one.name, one.kind, _numbers(design, one.levels), one.name in anchors)
        for one in suite.points
        if one.kind is not None
    ]
    lines = (
        FactorLine(name, one.unit, tuple(level if isinstance(level, str) else f"{level:g}" for level in one.values))
        for name, one in design.factors.items()
    )
    return DesignPicture(suite.name, tuple(lines), tuple(sorted(columns, key=lambda one: (ORDER.index(one.kind), one.levels))))


def _numbers(design: Design, levels: dict[str, str | float]) -> tuple[int, ...]:
    return tuple(factor.values.index(levels[name]) for name, factor in design.factors.items())
