"""The points of a suite over factors, as a picture shows them."""

from __future__ import annotations

from collections.abc import Mapping

from fedbench.analysis.pictures.points import ORDER, DesignPicture, FactorLine, PointColumn
from fedbench.suites.design.schema import Design, Value
from fedbench.suites.suite import Suite


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


def _numbers(design: Design, levels: Mapping[str, Value]) -> tuple[int, ...]:
    return tuple(factor.values.index(levels[name]) for name, factor in design.factors.items())
