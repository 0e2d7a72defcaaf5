"""Draws printed numbers against ours on logarithmic scales, with the band in which they agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedbench.analysis.pictures.agreement import Agreement, Point, corners, told
from fedbench.figures.style import FAINT, INK, Drawn, Look, canvas, looks, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AROUND = 8.0  # mm: titles and axes below and above
LEGEND_LINE, IN_LINE = 4.2, 5  # mm, and the names in a line
BAND, EDGE = "#e3edf5", "#9db8cc"
ARROW = 1.3  # how far a bound points upwards, as a factor
TICKS = (1, 2, 5)


@styled
def draw_agreement(data: Agreement, width: float) -> Drawn:
    """Returns the figure. Points in the band are filled, and an arrow stands for a number that is
    known to be larger only.

    Args:
        data: the points. There is at least one.
        width: the figure's width in millimetres.
    """
    own = looks(list(dict.fromkeys(point.row for point in data.points)))
    ends = data.ends
    columns = len(data.panels)
    height = width / columns + AROUND + LEGEND_LINE * math.ceil((len(own) + 1) / IN_LINE)
    figure, axes = canvas(width, height, 1, columns, sharex=True, sharey=True)
    for panel, one in zip(data.panels, axes, strict=True):
        _band(one, data, ends)
        for point in panel.points:
            _draw(one, point, own[point.row])
        _name(one, panel.points, ends)
        one.set_title(panel.title, loc="left", fontweight="bold")
        one.set_xlabel(f"printed, {data.unit}")
    axes[0].set_ylabel(f"ours, {data.unit}")
    _legend(figure, own, data)
    return Drawn(figure, told(data))


def _band(axes: Axes, data: Agreement, ends: tuple[float, float]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    axes.set_xscale("log")
    axes.set_yscale("log")
    wide = (ends[0] / 10, ends[1] * 10)
    axes.fill_between(wide, [data.least * at for at in wide], [data.most * at for at in wide], color=BAND, linewidth=0, zorder=0)
    axes.plot(wide, wide, color=EDGE, linewidth=0.7, zorder=1)
    places = [step * 10.0**power for power in range(-3, 9) for step in TICKS if ends[0] <= step * 10.0**power <= ends[1]]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(FixedLocator(places))
        axis.set_major_formatter(FuncFormatter(lambda place, _: f"{place:g}"))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
    axes.grid(color=FAINT, zorder=0)
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    axes.set_aspect("equal")


def _draw(axes: Axes, point: Point, look: Look) -> None:
    if point.low is not None and point.high is not None and point.high < math.inf:
        axes.plot([point.printed] * 2, [max(point.low, point.ours / 100), point.high], color=look.colour, linewidth=0.9, zorder=2)
    if point.is_bound:
        arrow = {"arrowstyle": "-|>", "color": look.colour, "linewidth": 0.7, "mutation_scale": 4, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (point.printed, ARROW * point.ours), (point.printed, point.ours), arrowprops=arrow, zorder=2)
    axes.plot(
        point.printed,
        point.ours,
        marker=look.marker,
        color=look.colour,
        markerfacecolor=look.colour if point.inside else "white",
        markeredgewidth=0.8,
        linestyle="none",
        zorder=3,
    )


def _name(axes: Axes, points: Sequence[Point], ends: tuple[float, float]) -> None:
    """Writes the names of points."""
    for point, (dx, dy) in zip(points, corners(points, ends), strict=True):
        axes.annotate(
            point.label,
            (point.printed, point.ours),
            (2.6 * dx, 0.8 * dy),
            textcoords="offset points",
            fontsize=4.5,
            color=INK,
            zorder=4,
            ha="left" if dx > 0 else "right",
            va="bottom" if dy > 0 else "top",
        )


def _legend(figure: Figure, own: dict[str, Look], data: Agreement) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    lines: list[Line2D | Patch] = [
        Line2D([], [], color=look.colour, marker=look.marker, linestyle="none", label=row) for row, look in own.items()
    ]
    lines.append(Patch(color=BAND, label=f"{data.least:g} to {data.most:g} times"))
    figure.legend(handles=lines, loc="outside lower center", ncols=min(len(lines), IN_LINE), columnspacing=1.2, handletextpad=0.3)
