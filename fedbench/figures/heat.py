"""Draws the heat map of rows and points, system by system: a cell is the darker, the more its row
costs compared with the cheapest row of its system."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fedbench.analysis.board_table import BoardLine
from fedbench.analysis.pictures.boards import Heat, HeatGroup
from fedbench.figures.style import INK, MILLIMETRES, Drawn, canvas, styled
from fedbench.figures.tables.board import CHEAPEST, NEVER, NO_VERDICT, REFERENCES
from fedbench.figures.words import POINTS, fitted, height, widest
from fedbench.written import AT_LEAST, BEST, Ratio, bound, ratio, signed, tenths

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE, SCALE = 4.2, 12.0  # mm: heights of a row, and of the scale below
NAMES, LETTERS = 0.4, 6  # the widest name of a row, as a share of the width; points
HEADS, SLOPE = 30.0, 40  # mm: the longest name of a point; the degrees by which it rises
CELL = 10.0  # mm: the width from which on a cell has room for a number
SCALED = "regret: cost / cost of the cheapest row of the system"
DARKEST = 8.0  # the darkest shade stands for this many times the cost of the cheapest row
DARK = 0.55  # letters are white on shades beyond this share of the scale


@styled
def draw_heat(data: Heat, width: float) -> Drawn:
    """Returns the figure. Cells have numbers if a point is at least 10 mm wide."""
    import matplotlib as mpl

    labels = {row.row: fitted(row.row, NAMES * width, LETTERS) for group in data.groups for row in group.rows}
    heads = [fitted(point, HEADS, LETTERS) for point in data.points]
    beside, above = widest([*labels.values(), CHEAPEST], LETTERS) + 2, widest(heads, LETTERS)
    has_room = (width - beside - above * math.cos(math.radians(SLOPE))) / len(data.points) >= CELL
    lines = sum(_height(group, has_room=has_room) for group in data.groups)
    head = above * math.sin(math.radians(SLOPE)) + 5 + height(heads, LETTERS)
    figure, (axes,) = canvas(width, (LINE + height(labels.values(), LETTERS)) * lines + head + SCALE)
    scale = mpl.colors.LogNorm(1, DARKEST, clip=True)
    colours = mpl.colormaps["Blues"]
    names, y = [], 0
    for group in data.groups:
        names += _draw_head(axes, group, y, beside, has_room=has_room)
        y += _height(group, has_room=has_room) - len(group.rows)
        for row in group.rows:
            for x, cell in enumerate(row.cells):
                if cell is not None:
                    shade = 0.85 * float(scale(max(1.0, cell.regret[0]))) if cell.regret else 0.0
                    _draw_cell(axes, cell, (x, y), colours(shade) if cell.regret else "white", has_room=has_room)
            names.append((y + 0.5, labels[row.row]))
            y += 1
    axes.set_xlim(0, len(data.points))
    axes.set_ylim(y, 0)
    axes.set_xticks([x + 0.5 for x in range(len(heads))], heads, rotation=SLOPE, ha="left", rotation_mode="anchor")
    axes.set_yticks([at for at, _ in names], [name for _, name in names])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    shades = mpl.cm.ScalarMappable(scale, mpl.colors.ListedColormap(colours([0.85 * i / 255 for i in range(256)])))
    bar = figure.colorbar(shades, ax=axes, orientation="horizontal", shrink=0.5, aspect=40, pad=0.01, extend="max")
    bar.set_ticks([1, 2, 4, 8], labels=["1", "2", "4", "8"])
    bar.minorticks_off()
    bar.outline.set_visible(False)
    figure.supxlabel(fitted(SCALED, width - 4, LETTERS), fontsize=LETTERS)
    return Drawn(figure, _caption(data, has_room=has_room))


def _height(group: HeatGroup, *, has_room: bool) -> int:
    """Returns how many lines a group has: its name, the costs of the cheapest rows if there are
    rows to compare and room for numbers, and its rows."""
    return 1 + (has_room and _is_compared(group)) + len(group.rows)


def _is_compared(group: HeatGroup) -> bool:
    return any(cell is not None and cell.regret is not None for row in group.rows for cell in row.cells)


def _draw_head(axes: Axes, group: HeatGroup, y: int, beside: float, *, has_room: bool) -> list[tuple[float, str]]:
    """Draws the name of a group and the costs of its cheapest rows, and returns the place and the
    name of their line; none without them. The name begins where the longest name of a row does,
    which is `beside` millimetres from the cells."""
    left = -beside / MILLIMETRES * POINTS
    axes.annotate(
        group.kind or REFERENCES, (0, y + 0.6), (left, 0), textcoords="offset points", ha="left", va="center", fontsize=LETTERS,
        style="italic", annotation_clip=False,
    )  # fmt: skip
    if not has_room or not _is_compared(group):
        return []
    for x, line in enumerate(group.cheapest):
        if line is not None:
            _write(axes, (x + 0.92, y + 1.55), bound(tenths(line.cost), line.is_bound, gap=""), ha="right")
    return [(y + 1.5, CHEAPEST)]


def _write(axes: Axes, at: tuple[float, float], text: str, ink: str = INK, *, ha: str = "center", size: float = 5) -> None:
    axes.text(*at, text, ha=ha, va="center", fontsize=size, color=ink)


def _draw_cell(axes: Axes, cell: BoardLine, at: tuple[float, float], face: object, *, has_room: bool) -> None:
    from matplotlib.patches import Rectangle

    x, y = at
    axes.add_patch(Rectangle((x, y), 1, 1, facecolor=face, edgecolor="white", linewidth=0.8))
    is_dark = cell.regret is not None and math.log(max(1.0, min(cell.regret[0], DARKEST))) / math.log(DARKEST) > DARK
    ink = "white" if is_dark else INK
    if cell.hits == 0 and cell.regret is None:
        _write(axes, (x + 0.5, y + 0.5), NEVER if has_room else "×", ink)
        return
    if cell.regret is None:
        text = f"{bound(tenths(cell.cost), cell.is_bound, gap='')} s" if has_room else ""
        text = text if cell.has_verdict or not has_room else NO_VERDICT
        _write(axes, (x + 0.92, y + 0.55), text, ink, ha="right")
        return
    found = Ratio.of(cell.regret)
    sign = found.sign if found.is_known else ""
    if has_room:
        _write(axes, (x + 0.92, y + 0.55), signed(ratio(found.value), sign, gap=""), ink, ha="right")
    elif sign:
        _write(axes, (x + 0.66, y + 0.55), sign, ink, size=4.5)
    if cell.is_best:
        _write(axes, (x + (0.12 if has_room else 0.3), y + 0.53), BEST, ink, size=5.5)


def _caption(data: Heat, *, has_room: bool) -> str:
    cells = [cell for group in data.groups for row in group.rows for cell in row.cells]
    known = [cell for cell in cells if cell is not None]
    words = [
        "Regret: a row's cost over that of the cheapest row of its system at the point, in virtual seconds until the targets are held."
    ]
    words.append(f"{BEST}: in the set of the best, which contains the best row with a probability of at least 95 %.")
    if any(cell.regret is not None and cell.regret[2] is None for cell in known):
        words.append(f"{AT_LEAST}: a lower bound, since targets are missed.")
    if any(cell.hits == 0 and cell.regret is None for cell in known):
        words.append(f"{NEVER if has_room else '×'}: no target is held.")
    if has_room and any(cell.regret is None and cell.hits for cell in known):
        words.append(f"Seconds: a row that is compared with no other; {NO_VERDICT}: no target gets a verdict.")
    if any(cell is None for cell in cells):
        words.append("Empty: no row.")
    return " ".join(words)
