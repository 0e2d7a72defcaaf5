"""Draws the picture of the theory table, which has a panel for each claim with measured values
beside proven ones."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedbench import extras, written
from fedbench.proof.theory.rows import Claim, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

MEASURED, FAILED, PROVEN, BAND, INK, GRID = "#2b6cb0", "#c53030", "#1a202c", "#d9e6f2", "#4a5568", "#edf2f7"
LINES = ("#2b6cb0", "#b7791f", "#2f855a", "#805ad5")
TERMS = ("#e2a3a3", "#a9c4e4", "#a8d5ba", "#f0d9a0", "#cdbbe6")
COLUMNS, WIDTH, HEIGHT = 3, 7.4, 3.3  # panels side by side; inches of a panel
TOP, BOTTOM = 0.85, 0.5  # inches of a panel for its title, and for the label of its axis
LETTERS = 78  # letters in a line of a title


def draw(found: Sequence[tuple[Claim, Row]], path: Path) -> None:
    """Writes the picture of rows with their claims, as PNG or SVG by the suffix of `path`, and
    makes its folders.

    A claim with exponents shows the measured values against the size. A claim with bounds shows the
    terms of the bound. Another claim shows the distance of every row from its exact value, in units
    of the allowed one.
    """
    extras.require("plot", "a picture of the theory")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    panels = [list(panel) for _, panel in itertools.groupby(found, lambda pair: pair[0].name)]
    across, down = min(COLUMNS, len(panels)), math.ceil(len(panels) / COLUMNS)
    style = mpl.rc_context(
        {
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
    )
    with style:
        figure = Figure(figsize=(WIDTH * across, HEIGHT * down))
        for place, panel in zip(figure.subfigures(down, across, squeeze=False).flat, panels, strict=False):
            _panel(place, panel[0][0], [row for _, row in panel])
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=100)


def _axes(place: SubFigure, left: float, width: float) -> Axes:
    """Returns axes that begin `left` inches from the panel's left edge."""
    return place.add_axes((left / WIDTH, BOTTOM / HEIGHT, width / WIDTH, (HEIGHT - TOP - BOTTOM) / HEIGHT))


def _panel(place: SubFigure, claim: Claim, rows: Sequence[Row]) -> None:
    holds = all(row.holds for row in rows)
    says, of = textwrap.fill(claim.says, LETTERS), f"{claim.name}   ({claim.source})"
    place.text(0.2 / WIDTH, 1 - 0.12 / HEIGHT, says, va="top", fontsize=10.5, fontweight="bold", color=PROVEN)
    verdict, colour = ("", INK) if holds else ("DOES NOT HOLD: ", FAILED)
    place.text(0.2 / WIDTH, 1 - 0.53 / HEIGHT, f"{verdict}{of}", va="top", fontsize=8, color=colour)
    if any(row.kind == "slope" for row in rows):
        _slopes(place, rows)
    elif any(row.shares for row in rows):
        _bounds(place, rows)
    else:
        _distances(place, rows)


def _notes(axes: Axes, rows: Sequence[Row]) -> None:
    """Draws the legend at the right of the axes, with a line for each of the rows, which are not
    drawn otherwise."""
    size, letters = (7.5, 46) if len(rows) < 7 else (7, 80)
    for row in rows:
        label = textwrap.fill(f"{row.check}: {_words(row)}", letters, subsequent_indent="   ")
        axes.plot([], [], "s", color=_colour(row), markersize=3, label=label)
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.03, 1.04), fontsize=size, borderaxespad=0, handletextpad=0.4, labelspacing=0.35
    )


def _slopes(place: SubFigure, rows: Sequence[Row]) -> None:
    """Draws the measured points of exponents, and lines of the proven exponents through their
    middles."""
    axes = _axes(place, 0.75, 2.9)
    for row, colour in zip([row for row in rows if row.kind == "slope"], LINES, strict=False):
        x, y = np.abs(np.array(row.points)).T
        y, middle = y / np.exp(np.log(y).mean()), np.exp(np.log(x).mean())
        name = row.check.removesuffix(", exponent") + ", negative" * (row.sign < 0)
        proven = written.plus_minus(f"{row.expected:g}", f"{row.allowed:g}")
        label = f"{name}: exponent {written.estimate(row.measured, row.low, row.high)},\nproven {proven}"
        axes.plot(x, y, "o", color=colour if row.holds else FAILED, label=label)
        axes.plot(x, (x / middle) ** row.expected, "--", color=colour, linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.yaxis.set_minor_formatter("")
    axes.set_xlabel("the size that the theorem names; dashes: the proven exponent", fontsize=8)
    axes.set_ylabel("measured over its mean", fontsize=8)
    axes.grid()
    axes.spines["left"].set_visible(True)
    _notes(axes, [row for row in rows if row.kind != "slope"])


def _bounds(place: SubFigure, rows: Sequence[Row]) -> None:
    """Draws the terms of each bound as shares of it, and the place of the measured value."""
    axes = _axes(place, 1.6, 2.6)
    shown = [row for row in rows if row.shares]
    names = list(dict.fromkeys(name for row in shown for name, _ in row.shares))
    for line, row in enumerate(shown):
        left = 0.0
        for name, share in row.shares:
            axes.barh(
                line, share, left=left, height=0.45, color=TERMS[names.index(name)], label=None if line else f"bound: {name}"
            )
            left += share
        part = row.measured / row.expected
        axes.scatter(part, line, s=50, marker="D", color=_colour(row), zorder=3, label=None if line else "measured")
    axes.set_yticks(range(len(shown)), [textwrap.fill(row.check.partition(":")[0], 18) for row in shown], fontsize=8)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.set_xlabel("part of the bound", fontsize=8)
    _notes(axes, [row for row in rows if not row.shares])


def _distances(place: SubFigure, rows: Sequence[Row]) -> None:
    """Draws the distance of every row from its exact value over the allowed one. A bound of one
    term is written and not drawn."""
    axes = _axes(place, 2.75, 2.5)
    for line, row in enumerate(rows):
        if row.kind != "bound":
            axes.barh(line, 2, left=-1, height=0.55, color=BAND)
            ends = (row.measured if end is None else end for end in (row.low, row.measured, row.high))
            low, middle, high = ((end - row.expected) / row.allowed for end in ends)
            axes.hlines(line, low, high, colors=_colour(row), linewidth=2.5)
            axes.scatter(middle, line, s=30, color=_colour(row), zorder=3)
        axes.annotate(
            _words(row), (1.02, line), xycoords=axes.get_yaxis_transform(), va="center", fontsize=7.5, annotation_clip=False,
            color=INK if row.holds else FAILED,
        )  # fmt: skip
    axes.axvline(0, color=PROVEN, linewidth=1)
    axes.set_xlim(-1.6, 1.6)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), [textwrap.fill(row.check, 44) for row in rows], fontsize=7.5)
    axes.set_xticks([-1, 0, 1], ["- allowed", "exact", "+ allowed"])
    axes.set_xlabel("distance from the exact value", fontsize=8)


def _words(row: Row) -> str:
    """Returns the measured number and the expected one as text."""
    if row.kind == "bound":
        return f"{row.measured:.3g} {written.AT_MOST if row.holds else written.BEYOND} {row.expected:.3g}"
    if row.kind == "exact":
        return (
            f"{written.estimate(row.measured, row.low, row.high, digits='.3f')} of {written.plus_minus('1', f'{row.allowed:g}')}"
        )
    return f"{row.measured:.3g} of {written.plus_minus(f'{row.expected:.3g}', f'{row.allowed:.1g}')}"


def _colour(row: Row) -> str:
    return MEASURED if row.holds else FAILED
