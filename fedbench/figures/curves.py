"""Draws learning curves, and profiles of the targets that rows reach. A few lines are bold and the
others are grey behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fedbench.analysis.pictures.boards import Profiles
from fedbench.analysis.pictures.learning_curves import LearningCurves, Line
from fedbench.figures.style import CONTEXT, FAINT, SIDE_LEGEND, Drawn, Look, canvas, looks, styled
from fedbench.figures.words import fitted, height

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = 7  # on a line
LEGEND_LINE = 3.4  # mm
LEGEND_SIZE = 6  # points
KEY = 9.0  # mm: what is before a name in the legend, and the space around it
SIDE = 0.3  # the widest name of a legend beside the axes, as a share of the width
HEIGHT = 0.62  # as a share of the width
MANY = 10_000  # an axis that ends here or beyond has numbers with letters, such as 20 k
BANDS = {
    "t": "95 % intervals over seeds",
    "range": "the least and the largest seed",
    "none": "absent with one seed",
    "quartiles": "quartiles",
}


@styled
def draw_curves(data: LearningCurves, bold: Sequence[str], width: float) -> Drawn:
    """Returns the figure of learning curves. Its axis ends where the longest bold line does.

    Args:
        data: the lines.
        bold: the rows whose lines are bold, at most eight.
        width: the figure's width in millimetres.
    """
    from matplotlib.ticker import EngFormatter

    own = looks(bold)
    drawn = {line.row: line for line in data.lines if line.row in own and line.at}
    keys = {row: row + _missed(drawn[row], data.targets) if row in drawn else f"{row}  (no values)" for row in own}
    names = _names(keys, len(data.lines) - len(bold), width)
    figure, (axes,) = canvas(width, _height(width, names))
    for line in data.lines:
        if line.row not in own:
            axes.plot(line.at, line.middle, color=CONTEXT, linewidth=0.6, zorder=1)
    for i, row in enumerate(row for row in own if row in drawn):
        _draw_line(axes, drawn[row], own[row], i)
    for target in data.targets:
        axes.axhline(target, color=FAINT, linewidth=0.8, zorder=0)
        axes.annotate(f"{target:g}", (1.01, target), xycoords=axes.get_yaxis_transform(), fontsize=5, va="center")
    axes.set_xlabel(data.axis_title)
    axes.set_ylabel(data.metric.replace("_", " "))
    axes.set_xlim(0, max((line.at[-1] for line in data.lines if line.at and line.row in own), default=None))
    if axes.get_xlim()[1] >= MANY:
        axes.xaxis.set_major_formatter(EngFormatter())
    if data.metric == "test_accuracy":
        bands = [value for line in drawn.values() for value in (*line.low, *line.high)]
        axes.set_ylim(*_limits([*(value for line in data.lines for value in line.middle), *bands, *data.targets]))
    _legend(figure, own, names, width)
    return Drawn(figure, _caption(data, bold))


def _names(keys: Mapping[str, str], others: int, width: float) -> list[str]:
    """Returns the texts of the legend, in lines that have room: those of the bold rows, and one
    that counts the other rows."""
    counted = [f"{others} other rows" if others > 1 else "1 other row"] if others > 0 else []
    room = SIDE * width if width >= SIDE_LEGEND else width / 2 - KEY
    return [fitted(text, room, LEGEND_SIZE) for text in (*keys.values(), *counted)]


def _height(width: float, names: Sequence[str]) -> float:
    """Returns the figure's height in millimetres, with the legend where it is below the axes."""
    down = math.ceil(len(names) / 2)
    if width < SIDE_LEGEND:
        return HEIGHT * width + sum(LEGEND_LINE + height(names[i::down], LEGEND_SIZE) for i in range(down))
    return max(HEIGHT * min(width, 130), sum(1.3 * LEGEND_LINE + height([name], LEGEND_SIZE) for name in names))


def _draw_line(axes: Axes, line: Line, look: Look, place: int) -> None:
    """Draws the line of a row with its band. `place` shifts the markers, so that those of
    neighbouring lines do not hide each other."""
    axes.fill_between(line.at, line.low, line.high, color=look.colour, alpha=0.14, linewidth=0, zorder=2)
    every = max(1, len(line.at) // MARKERS)
    axes.plot(
        line.at, line.middle, color=look.colour, linestyle=look.dashes, marker=look.marker, markevery=(place * every // 8, every),
        label=line.row, zorder=3,
    )  # fmt: skip
    if line.unfinished:
        axes.plot(line.at[-1], line.middle[-1], "x", color=look.colour, markersize=6, markeredgewidth=1.4, zorder=4)


def _missed(line: Line, targets: Sequence[float]) -> str:
    """Returns how many seeds of a row miss the hardest target, in words; nothing if none does."""
    if not targets or line.hits[-1] == line.seeds:
        return ""
    return f"  (miss {line.seeds - line.hits[-1]}/{line.seeds})"


def _limits(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    return max(0.0, low - 0.02), min(1.0, high + 0.03)


def _legend(figure: Figure, own: Mapping[str, Look], names: Sequence[str], width: float) -> None:
    """Draws the legend beside the axes, or below them where the figure is narrow."""
    from matplotlib.lines import Line2D

    lines = [
        Line2D([], [], color=look.colour, linestyle=look.dashes, marker=look.marker, label=name)
        for look, name in zip(own.values(), names, strict=False)
    ]
    lines += [Line2D([], [], color=CONTEXT, linewidth=0.8, label=name) for name in names[len(own) :]]
    if width >= SIDE_LEGEND:
        figure.legend(handles=lines, loc="outside right upper", labelspacing=0.8)
    else:
        figure.legend(handles=lines, loc="outside lower center", ncols=2, columnspacing=1.5)


def _caption(data: LearningCurves, bold: Sequence[str]) -> str:
    shown = [line for line in data.lines if line.row in bold]
    kinds = list(dict.fromkeys(line.band for line in shown))
    seeds = sorted({line.seeds for line in data.lines})
    count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    middle = "Median" if "quartiles" in kinds else "Mean"
    bands = " or ".join(BANDS[kind] for kind in kinds)
    words = [f"{middle} {data.metric.replace('_', ' ')} over {count} seeds against {data.axis_title}; bands are {bands}."]
    if data.targets:
        words.append(f"Horizontal lines are targets; misses are of {data.targets[-1]:g}.")
    if any(line.unfinished for line in shown):
        words.append("A cross ends a line at the first seed that broke off.")
    return " ".join(words)


@styled
def draw_profiles(data: Profiles, bold: Sequence[str], width: float) -> Drawn:
    """Returns the figure of profiles.

    A profile is the share of targets and seeds that a row reaches within a factor of the reference
    times, or within a share of the budgets. `bold` and `width` are as in `draw_curves`.
    """
    own = looks(bold)
    shares = {line.row: line.shares for line in data.lines}
    keys = {row: f"{row}  (miss {100 * (1 - shares[row][-1]):.0f} %)" if shares[row][-1] < 1 else row for row in own}
    names = _names(keys, len(data.lines) - len(bold), width)
    figure, (axes,) = canvas(width, _height(width, names))
    for row, line in shares.items():
        if row not in own:
            axes.plot(data.at, line, color=CONTEXT, linewidth=0.6, drawstyle="steps-post", zorder=1)
    every = max(1, len(data.at) // MARKERS)
    for i, (row, look) in enumerate(own.items()):
        axes.plot(
            data.at, shares[row], color=look.colour, linestyle=look.dashes, marker=look.marker, markevery=(i * every // 8, every),
            drawstyle="steps-post", zorder=3,
        )  # fmt: skip
    if data.relative:
        axes.set_xscale("log", base=2)
        axes.set_xticks([0.25, 0.5, 1, 2, 4, 8, 16, 32], ["1/4", "1/2", "1", "2", "4", "8", "16", "32"])
        axes.axvline(1, color=FAINT, linewidth=0.8, zorder=0)
    axes.set_xlabel("time / reference time" if data.relative else "time / budget")
    axes.set_ylabel("targets reached")
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_ylim(0, 1.02)
    axes.margins(x=0)
    axes.grid(axis="y")
    _legend(figure, own, names, width)
    of = "a factor of the frozen reference times" if data.relative else "a share of the budgets"
    end = "within 32 times the reference" if data.relative else "within the budget"
    many = f"{data.problems} targets, each" if data.problems > 1 else "one target"
    caption = f"Share of {many} with every seed, reached within {of}. Misses are what is not reached {end}."
    return Drawn(figure, caption)
