"""The picture of the theory table: one panel for each claim, with what was measured beside what was proven."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbench.proof.theory.rows import Claim, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Panel = tuple[Claim, list[Row]]

MEASURED, FAILED, PROVEN, BAND, INK, GRID = "#2b6cb0", "#c53030", "#1a202c", "#d9e6f2", "#4a5568", "#edf2f7"
LINES = ("#2b6cb0", "#b7791f", "#2f855a", "#805ad5")
TERMS = ("#e2a3a3", "#a9c4e4", "#a8d5ba", "#f0d9a0", "#cdbbe6")
COLUMNS, WIDTH = 3, 62  # panels side by side; letters of a line of a title
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "ytick.left": False,
    "grid.color": GRID,
    "legend.frameon": False,
}


def draw(found: Sequence[tuple[Claim, Row]], path: Path) -> None:
    """PNG or SVG by the suffix; folders are made. Claims with exponents show what was measured against the size, claims with bounds show
    the terms of the bound, the others the distance of every line from its exact value in units of what is allowed."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    panels: dict[str, Panel] = {}
    for claim, row in found:
        panels.setdefault(claim.name, (claim, []))[1].append(row)
    with mpl.rc_context(STYLE):
        layout = ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.2)
        across, down = min(COLUMNS, len(panels)), math.ceil(len(panels) / COLUMNS)
        figure = Figure(figsize=(7 * across, 3.7 * down), layout=layout)
        grid = figure.subplots(down, across, squeeze=False).ravel()
        for axes, panel in zip(grid, panels.values(), strict=False):
            _panel(axes, panel)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=100)


def _panel(axes: Axes, panel: Panel) -> None:
    claim, rows = panel
    if any(row.kind == "slope" for row in rows):
        _slopes(axes, rows)
    elif any(row.shares for row in rows):
        _bounds(axes, rows)
    else:
        _distances(axes, rows)
    verdict = "holds" if all(row.holds for row in rows) else "DOES NOT HOLD"
    text = "\n".join(textwrap.wrap(claim.says, WIDTH))
    axes.set_title(f"{text}\n", loc="left", fontsize=10.5, fontweight="bold", color=PROVEN)
    axes.annotate(
        f"{claim.name}: {verdict}   ({claim.source})", (0, 1), (0, 4), xycoords="axes fraction", textcoords="offset points",
        fontsize=8, color=INK if verdict == "holds" else FAILED,
    )  # fmt: skip


def _slopes(axes: Axes, rows: Sequence[Row]) -> None:
    """Measured points, and a line of the proven exponent through their middle."""
    colours = iter(LINES)
    for row in rows:
        if row.kind != "slope":
            continue
        colour = next(colours)
        x, y = np.array(row.points).T
        y = y / np.exp(np.log(y).mean())
        middle = np.exp(np.log(x).mean())
        interval = "" if row.low == row.high else f" [{row.low:.2f}, {row.high:.2f}]"
        label = f"{row.check.removesuffix(', exponent')}: {row.measured:.2f}{interval}, proven {row.expected:g} ± {row.allowed:g}"
        axes.plot(x, y, "o", color=colour if row.holds else FAILED, label=label)
        axes.plot(x, (x / middle) ** row.expected, "--", color=colour, linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("size that the theorem names (dots: measured; dashes: proven exponent)")
    axes.set_ylabel("measured over its mean")
    axes.grid()
    axes.spines["left"].set_visible(True)
    others = [row for row in rows if row.kind != "slope"]
    for row in others:
        axes.plot([], [], " ", label=f"{row.check}: {_words(row)}")
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.2), fontsize=7.5, borderaxespad=0, handletextpad=0.4, labelspacing=0.25)


def _bounds(axes: Axes, rows: Sequence[Row]) -> None:
    """The terms of each bound as shares of it, and where the measured value lies."""
    shown = [row for row in rows if row.shares]
    names = list(dict.fromkeys(name for row in shown for name, _ in row.shares))
    for place, row in enumerate(shown):
        left = 0.0
        for name, share in row.shares:
            axes.barh(place, share, left=left, height=0.5, color=TERMS[names.index(name)], label=name if place == 0 else None)
            left += share
        axes.scatter(
            row.measured / row.expected,
            place,
            s=60,
            marker="D",
            color=_colour(row),
            zorder=3,
            label=None if place else "measured",
        )
    axes.set_yticks(range(len(shown)), [row.check.partition(":")[0] for row in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.set_xlabel("part of the bound, by its terms")
    for row in rows:
        if not row.shares:
            axes.plot([], [], " ", label=f"{row.check}: {_words(row)}")
    axes.legend(
        loc="upper left", bbox_to_anchor=(0, -0.2), ncols=1 + len(names) // 3, fontsize=7.5, borderaxespad=0, labelspacing=0.25
    )


def _distances(axes: Axes, rows: Sequence[Row]) -> None:
    """Each line's distance from its exact value, over what is allowed. A bound of one term is written, not drawn."""
    for place, row in enumerate(rows):
        if row.kind == "bound":
            axes.annotate("below its bound" if row.holds else "ABOVE ITS BOUND", (0, place), ha="center", va="center", color=INK)
            continue
        axes.barh(place, 2, left=-1, height=0.5, color=BAND)
        low, middle, high = (
            (x - row.expected) / row.allowed for x in (row.low or row.measured, row.measured, row.high or row.measured)
        )
        axes.hlines(place, low, high, colors=_colour(row), linewidth=2.5)
        axes.scatter(middle, place, s=32, color=_colour(row), zorder=3)
    axes.axvline(0, color=PROVEN, linewidth=1)
    axes.set_xlim(-1.8, 1.8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), [textwrap.fill(row.check, 40) for row in rows], fontsize=7.5)
    for place, row in enumerate(rows):
        axes.annotate(
            _words(row), (1.01, place), xycoords=axes.get_yaxis_transform(), va="center", fontsize=7.5, color=INK,
            annotation_clip=False,
        )  # fmt: skip
    axes.set_xlabel("distance from the exact value; the band is what is allowed")
    axes.set_xticks([-1, 0, 1], ["- allowed", "exact", "+ allowed"])


def _words(row: Row) -> str:
    """The measured number against the expected one."""
    if row.kind == "bound":
        return f"{row.measured:.3g} ≤ {row.expected:.3g}"
    if row.kind == "exact":
        return f"{row.measured:.3f} [{row.low:.3f}, {row.high:.3f}]"
    return f"{row.measured:.3g} of {row.expected:.3g} ± {row.allowed:.1g}"


def _colour(row: Row) -> str:
    return MEASURED if row.holds else FAILED
