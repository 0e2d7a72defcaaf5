"""Draws the points of a suite over factors: a column is a point, and a cell the darker, the further
its level is towards the last one."""

from __future__ import annotations

from itertools import groupby

from fedbench.analysis.pictures.points import ORDER, DesignPicture, FactorLine, PointColumn
from fedbench.figures.style import INK, LOOKS, Drawn, canvas, styled
from fedbench.written import counted

LINE, FRAME = 5.0, 15.0  # mm: heights of a factor, and of what is above all factors
GAP = 1.0  # columns between two kinds of points
WIDE = 120.0  # mm: from this width on columns have room for a line between them
LIGHTEST, DARKEST = 0.08, 0.9  # of the colours
WORDS = {"design": "for the model", "held_out": "held out", "other_clients": "other clients"}


@styled
def draw_design(data: DesignPicture, width: float) -> Drawn:
    """Returns the figure. Anchors have a triangle above."""
    import matplotlib as mpl
    from matplotlib.patches import Rectangle

    colours = mpl.colormaps["Blues"]
    lines = len(data.factors)
    figure, (axes,) = canvas(width, LINE * lines + FRAME)
    edge = 0.4 if width > WIDE else 0.1
    left, anchors = 0.0, []
    for number, (kind, group) in enumerate(groupby(data.points, lambda one: one.kind)):
        several = list(group)
        for x, point in enumerate(several, 1):
            for y, (factor, level) in enumerate(zip(data.factors, point.levels, strict=True)):
                place = level / max(len(factor.levels) - 1, 1)
                shade = colours(LIGHTEST + (DARKEST - LIGHTEST) * place)
                axes.add_patch(Rectangle((left + x - 1, y), 1, 1, facecolor=shade, edgecolor="white", linewidth=edge))
            if point.is_anchor:
                anchors.append(left + x - 0.5)
        middle = left + len(several) / 2
        axes.text(middle, -0.75 - 0.6 * number, f"{len(several)} {WORDS[kind]}", ha="center", va="bottom", fontsize=6, color=INK)
        left += len(several) + GAP
    axes.plot(anchors, [-0.35] * len(anchors), "v", color=LOOKS[1].colour, markersize=3, clip_on=False)
    axes.set_xlim(0, left - GAP)
    axes.set_ylim(lines, -0.6)  # names of kinds lie above, each higher than the last, since kinds may be narrow
    axes.set_yticks([y + 0.5 for y in range(lines)], [one.name.replace("_", " ") for one in data.factors])
    axes.set_xticks([])
    beside = axes.secondary_yaxis("right")
    beside.set_yticks([y + 0.5 for y in range(lines)], [", ".join(one.levels) for one in data.factors], fontsize=5.5)
    for one in (axes, beside):
        one.tick_params(length=0)
        one.spines[:].set_visible(False)
    return Drawn(figure, _caption(data, len(anchors)))


def _caption(data: DesignPicture, anchors: int) -> str:
    kinds = [f"{sum(one.kind == kind for one in data.points)} {WORDS[kind]}" for kind in ORDER if _has(data.points, kind)]
    text = (
        f"The {counted(len(data.points), 'point')} of suite {data.suite} ({', '.join(kinds)}). A column is a point, a cell the level of a "
        f"factor, from the first (light) to the last (dark), as listed on the right{_units(data.factors)}."
    )
    return f"{text} Triangles: the {counted(anchors, 'anchor')}, where all options are searched." if anchors else text


def _units(factors: tuple[FactorLine, ...]) -> str:
    units = [f"{one.name.replace('_', ' ')} in {one.unit}" for one in factors if one.unit]
    return f" ({'; '.join(units)})" if units else ""


def _has(points: tuple[PointColumn, ...], kind: str) -> bool:
    return any(one.kind == kind for one in points)
