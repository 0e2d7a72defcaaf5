"""Draws how old results are when updates use them, and how unequally clients take part."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fedbench.analysis.pictures.ledgers import Participation, Staleness
from fedbench.analysis.statistics import Estimate
from fedbench.errors import UsageError
from fedbench.figures.style import CONTEXT, FAINT, INK, LOOKS, Drawn, canvas, styled
from fedbench.figures.words import fitted, height
from fedbench.written import NONE, PLUS_MINUS, plus_minus

MOST = 8  # histograms in a figure
BARS = 40  # the most bars of a histogram
PANEL, FRAME = 24.0, 10.0  # mm: heights of a histogram, and of what is around all of them
LINE = 4.4  # mm: height of a row
NAMES = 0.4  # the widest name of a row, as a share of the width
LETTERS = 6  # points


@styled
def draw_staleness(data: Sequence[Staleness], width: float) -> Drawn:
    """Returns the figure of one histogram for each row. Each has a scale of its own, since versions
    of different algorithms are different steps. Raises UsageError unless there are 1 to 8 rows."""
    from matplotlib.ticker import MaxNLocator

    if not 1 <= len(data) <= MOST:
        raise UsageError(f"staleness: expected 1 to {MOST} rows, got {len(data)}")
    across = min(len(data), 2 if width < 120 else 4)
    down = math.ceil(len(data) / across)
    names = [fitted(one.row, width / across - 7, LETTERS) for one in data]
    figure, several = canvas(width, (PANEL + height(names, LETTERS)) * down + FRAME, down, across)
    for axes, one, name in zip(several, data, names, strict=False):
        heights, size = _bars(one)
        middles = np.arange(len(heights) + 1) * size + (size - 1) / 2
        axes.bar(middles[:-1], 100 * np.array(heights), size, color=LOOKS[0].colour, linewidth=0)
        if one.beyond > 0:
            axes.bar(middles[-1], 100 * one.beyond, size, color=LOOKS[1].colour, hatch="////", edgecolor="white", linewidth=0)
        if one.mean.mean is not None:
            axes.axvline(one.mean.mean, color=INK, linewidth=0.8, linestyle=(0, (3, 2)))
        axes.set_title(f"{name}\nmean {_told(one.mean)}, most {one.largest:,}", fontsize=LETTERS)
        axes.set_xlim(-0.5, max(3.5, middles[-1 if one.beyond > 0 else -2] + size / 2) if heights else 3.5)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    for axes in several[len(data) :]:
        axes.set_visible(False)
    figure.supxlabel("staleness (versions)", fontsize=7)
    figure.supylabel("used results (%)", fontsize=7)
    beyond = " Hatched: older than the ledger counts one by one." if any(one.beyond > 0 for one in data) else ""
    caption = "Staleness of the results that updates used, all seeds together; the dashed line is the mean, "
    return Drawn(figure, f"{caption}{PLUS_MINUS} its 95 % interval.{beyond}")


def _bars(one: Staleness) -> tuple[list[float], int]:
    """Returns the heights of the bars, at most BARS, and how many versions a bar stands for."""
    size = max(1, math.ceil(len(one.shares) / BARS))
    return [sum(one.shares[i : i + size]) for i in range(0, len(one.shares), size)], size


def _told(mean: Estimate) -> str:
    if mean.mean is None:
        return NONE
    text = f"{mean.mean:.3g}"
    return text if mean.half_width is None else plus_minus(text, f"{mean.half_width:.2g}")


@styled
def draw_participation(data: Sequence[Participation], width: float) -> Drawn:
    """Returns the figure of one line for each row, from the client that gives the fewest used
    results to the one that gives the most. Both are divided by the results of the mean client."""
    names = [fitted(one.row, NAMES * width, LETTERS) for one in data]
    figure, (axes,) = canvas(width, (LINE + height(names, LETTERS)) * len(data) + FRAME + 2)
    for y, one in enumerate(data):
        low, high = (end / one.mean if one.mean > 0 else 0.0 for end in (one.least, one.most))
        axes.hlines(y, low, high, color=LOOKS[0].colour, linewidth=2.2)
        axes.plot([low, high], [y, y], "|", color=LOOKS[0].colour, markersize=5, markeredgewidth=1.2)
        axes.text(1.02, y, _told(one.gini), transform=axes.get_yaxis_transform(), va="center", fontsize=6)
    axes.axvline(1, color=CONTEXT, linewidth=0.8, zorder=0)
    axes.text(1.02, -1, "Gini", transform=axes.get_yaxis_transform(), va="center", fontsize=6)
    axes.set_yticks(range(len(data)), names)
    axes.set_ylim(len(data) - 0.4, -0.6)
    axes.set_xlim(left=-0.04)
    axes.grid(axis="x", color=FAINT)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("used results of a client / of the mean client")
    caption = (
        "From the client that gives fewest used results to the one that gives most, means over seeds; 1 is an equal share. Gini: 0 if all "
        f"give the same, towards 1 if one gives all, {PLUS_MINUS} its 95 % interval over seeds."
    )
    return Drawn(figure, caption)
