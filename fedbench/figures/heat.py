"""Draws the heat map of rows and points: a cell is the darker the later its row reaches the
targets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fedbench.analysis.pictures.boards import Cell, Heat
from fedbench.figures.style import INK, Drawn, canvas, styled
from fedbench.figures.tables.board import AT_LEAST, FIRST, FIRST_ALIKE, seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE, HEAD, SCALE = 4.2, 22.0, 12.0  # mm: heights of a row, of the points' names, of the scale below
DARKEST = 8.0  # the darkest shade stands for this many times the earliest time
DARK = 0.55  # letters are white on shades beyond this share of the scale


@styled
def draw_heat(data: Heat, width: float) -> Drawn:
    """Returns the figure. Cells have numbers if a point is at least about 10 mm wide."""
    import matplotlib as mpl

    figure, (axes,) = canvas(width, LINE * len(data.rows) + HEAD + SCALE)
    scale = mpl.colors.LogNorm(1, DARKEST, clip=True)
    colours = mpl.colormaps["Blues"]
    has_room = (width - 25) / len(data.points) >= 10
    for y, row in enumerate(data.rows):
        for x, cell in enumerate(row.cells):
            if cell is not None:
                _draw_cell(axes, cell, (x, y), colours(0.85 * float(scale(cell.ratio))), has_room=has_room)
    axes.set_xlim(0, len(data.points))
    axes.set_ylim(len(data.rows), 0)
    axes.set_xticks([x + 0.5 for x in range(len(data.points))], data.points, rotation=40, ha="left", rotation_mode="anchor")
    axes.set_yticks([y + 0.5 for y in range(len(data.rows))], [row.row if row.ranked else f"({row.row})" for row in data.rows])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    shades = mpl.cm.ScalarMappable(scale, mpl.colors.ListedColormap(colours([0.85 * i / 255 for i in range(256)])))
    bar = figure.colorbar(shades, ax=axes, orientation="horizontal", shrink=0.5, aspect=40, pad=0.01, extend="max")
    bar.set_ticks([1, 2, 4, 8], labels=["1", "2", "4", "8"])
    bar.minorticks_off()
    bar.outline.set_visible(False)
    bar.set_label("time to the targets / that of the earliest ranked row of the point", fontsize=6)
    return Drawn(figure, _caption(data, has_room=has_room))


def _draw_cell(axes: Axes, cell: Cell, at: tuple[float, float], colour: tuple[float, ...], *, has_room: bool) -> None:
    from matplotlib.patches import Rectangle

    x, y = at
    is_missed = cell.hits == 0
    face = "white" if is_missed else colour
    axes.add_patch(Rectangle((x, y), 1, 1, facecolor=face, edgecolor="white", linewidth=0.8))
    is_dark = not is_missed and math.log(min(cell.ratio, DARKEST)) / math.log(DARKEST) > DARK
    ink = "white" if is_dark else INK
    if is_missed:
        axes.text(x + 0.5, y + 0.5, "miss" if has_room else "×", ha="center", va="center", fontsize=5, color=ink)
    elif has_room:
        bound = AT_LEAST if cell.hits < cell.attempts else ""
        axes.text(x + 0.92, y + 0.55, f"{bound}{seconds(cell.mean)}", ha="right", va="center", fontsize=5, color=ink)
    elif cell.hits < cell.attempts:
        axes.text(x + 0.66, y + 0.55, AT_LEAST, ha="center", va="center", fontsize=4.5, color=ink)
    mark = FIRST if cell.first else FIRST_ALIKE if cell.first_alike else ""
    if mark and not is_missed:
        axes.text(x + (0.12 if has_room else 0.3), y + 0.53, mark, ha="center", va="center", fontsize=5.5, color=ink)


def _caption(data: Heat, *, has_room: bool) -> str:
    cells = [cell for row in data.rows for cell in row.cells if cell is not None]
    words = ["Mean virtual seconds to the targets." if has_room else "Mean time to the targets."]
    words.append(f"{FIRST}: first, or the seeds cannot tell it from the first.")
    if any(cell.first_alike and not cell.first for cell in cells):
        words.append(f"{FIRST_ALIKE}: the same among the rows without an advantage only.")
    if any(cell.hits < cell.attempts for cell in cells):
        words.append(
            f"{AT_LEAST}: some targets are missed and count with the budget; {'miss' if has_room else '×'}: all are missed."
        )
    if any(cell is None for row in data.rows for cell in row.cells):
        words.append("Empty: no row.")
    if not all(row.ranked for row in data.rows):
        words.append("Rows in parentheses are references and not ranked.")
    return " ".join(words)
