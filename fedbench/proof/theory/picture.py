"""The picture of the theory table: measured beside bound, and the orders as exponents with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbench.proof.theory.limits import INCONSISTENT
from fedbench.proof.theory.rows import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURED, FAILED, EXPECTED, BAND, INK, GRID = "#2b6cb0", "#c53030", "#1a202c", "#dbe4ee", "#4a5568", "#edf2f7"
STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "ytick.left": False,
    "grid.color": GRID,
    "legend.frameon": False,
}


def draw(rows: Sequence[Row], path: Path) -> None:
    """Left the exact bounds on gradients, right the exponents. PNG or SVG by the suffix; folders are made."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    bounds = [row for row in rows if row.kind == "bound" and row.source != INCONSISTENT]
    slopes = [row for row in rows if row.kind == "slope"]
    with mpl.rc_context(STYLE):
        layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12)
        figure = Figure(figsize=(15, 2 + 0.33 * max(len(bounds), len(slopes), 4)), layout=layout)
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.3))
        _bounds(left, bounds)
        _slopes(right, slopes)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=120)


def _bounds(axes: Axes, rows: Sequence[Row]) -> None:
    places = range(len(rows))
    axes.hlines(places, [row.measured for row in rows], [row.expected for row in rows], colors=BAND, linewidth=5)
    axes.scatter([row.measured for row in rows], places, s=40, color=_colours(rows), zorder=3, label="measured")
    axes.scatter([row.expected for row in rows], places, s=190, marker="|", color=EXPECTED, linewidths=2, zorder=3, label="bound")
    axes.set_xscale("log")
    axes.set_xlabel("mean over the run of |grad F(x)|²")
    axes.set_title("Exact bounds, all constants included")
    _finish(axes, rows, [f"{row.measured / row.expected:.0%} of the bound" for row in rows])


def _slopes(axes: Axes, rows: Sequence[Row]) -> None:
    places = range(len(rows))
    expected = [row.expected for row in rows]
    axes.barh(
        places, [2 * row.allowed for row in rows], left=[row.expected - row.allowed for row in rows], height=0.6, color=BAND,
        label="allowed",
    )  # fmt: skip
    axes.scatter(expected, places, s=190, marker="|", color=EXPECTED, linewidths=2, zorder=2, label="expected")
    low, high = np.array([(row.low, row.high) for row in rows], float).reshape(-1, 2).T
    axes.hlines(places, low, high, colors=_colours(rows), linewidth=2.2, zorder=3)
    axes.scatter([row.measured for row in rows], places, s=40, color=_colours(rows), zorder=3, label="measured")
    axes.set_xlabel("exponent of the named size, with 95 % intervals over seeds")
    axes.set_title("Orders, as exponents")
    _finish(axes, rows, [f"{row.measured:+.2f} [{row.low:+.2f}, {row.high:+.2f}]" for row in rows])


def _finish(axes: Axes, rows: Sequence[Row], values: Sequence[str]) -> None:
    """A line each, the first on top: its name and source at the left, its value at the right; the legend below."""
    axes.set_yticks(range(len(rows)), [f"{row.check}  {row.source.partition(' ')[0]}" for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    for place, value in enumerate(values):
        axes.annotate(value, (1.02, place), xycoords=axes.get_yaxis_transform(), va="center", color=INK, annotation_clip=False)
    axes.grid(axis="x")
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.11), ncols=3, borderaxespad=0, handletextpad=0.5, columnspacing=1.5)


def _colours(rows: Sequence[Row]) -> list[str]:
    return [MEASURED if row.holds else FAILED for row in rows]
