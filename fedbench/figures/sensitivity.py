"""Draws how much the options of an algorithm matter, with one dot for each trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedbench.analysis.pictures.sensitivity import Sensitivity, Sought, Tried
from fedbench.errors import UsageError
from fedbench.figures.style import CONTEXT, FAINT, LOOKS, Drawn, canvas, styled
from fedbench.figures.words import fitted, height

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 4  # algorithms in a figure
PANEL, FRAME = 30.0, 10.0  # mm: heights of a panel, and of what is around all of them
SIDES = 12.0  # mm: what is beside all panels
TITLE = 7  # points
FEW_POWERS = 50  # an axis whose high end over its low end is less needs ticks between powers of ten


@styled
def draw_sensitivity(data: Sequence[Sensitivity], width: float) -> Drawn:
    """Returns the figure of one line of panels for each algorithm, with a panel for each option.
    Raises UsageError unless there are 1 to 4 algorithms."""
    if not 1 <= len(data) <= MOST:
        raise UsageError(f"sensitivity: expected 1 to {MOST} algorithms, got {len(data)}")
    across = max(len(one.sought) for one in data)
    titles = [fitted(f"{one.row} at {one.point}", width - SIDES, TITLE) for one in data]
    tall = PANEL * len(data) + FRAME + sum(height([title], TITLE) for title in titles)
    figure, several = canvas(width, tall, len(data), across, sharey="row")
    for line, one in enumerate(data):
        own = several[line * across : (line + 1) * across]
        for axes, sought in zip(own, one.sought, strict=False):
            _draw(axes, one, sought)
        for axes in own[len(one.sought) :]:
            axes.set_visible(False)
        own[0].set_title(titles[line], fontsize=TITLE, loc="left")
        own[0].set_ylabel("time to targets (s)")
    figure.legend(handles=_handles(), loc="outside lower center", ncols=4, handletextpad=0.2)
    trials = sorted({len(one.trials) for one in data})
    caption = (
        f"Mean time to the targets of {' or '.join(map(str, trials))} trials on tuning seeds and held-out examples, against each option "
        "that was looked for. An open dot misses targets, which count with the budget, so it is a lower bound; the dotted line is the "
        "budget."
    )
    if any(sought.name not in trial.options for one in data for sought in one.sought for trial in one.trials):
        caption += " A line across is the time of the default options, where one of them is no number."
    return Drawn(figure, caption)


def _draw(axes: Axes, one: Sensitivity, sought: Sought) -> None:
    if sought.scale == "log":
        _log_scale(axes, sought.high / sought.low)
    for trial in one.trials:
        _draw_trial(axes, trial, sought.name, is_chosen=trial.trial == one.chosen)
    axes.axhline(one.budget_seconds, color=CONTEXT, linewidth=0.7, linestyle=(0, (1, 2)), zorder=0)
    axes.set_ylim(0, 1.06 * one.budget_seconds)
    axes.grid(axis="y", color=FAINT)
    axes.set_xlabel(sought.name)


def _log_scale(axes: Axes, ratio: float) -> None:
    """Sets a logarithmic scale with ticks at powers of ten. If there are few of them, 2 and 5 times
    these have ticks as well."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if ratio < FEW_POWERS else (1,), numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _draw_trial(axes: Axes, trial: Tried, option: str, *, is_chosen: bool) -> None:
    """Draws a trial as a dot at its value of an option. A default option that is no number has no
    place on the axis, so its trial is a line at its time."""
    is_default = trial.trial == 0
    colour = LOOKS[1 if is_chosen else 3 if is_default else 0].colour
    if option not in trial.options:
        axes.axhline(trial.seconds, color=colour, linewidth=0.8, zorder=1)
        return
    axes.plot(
        trial.options[option], trial.seconds, "D" if is_default else "o", color=colour, markersize=4.5 if is_chosen else 3.2,
        markerfacecolor="white" if trial.misses else colour, markeredgewidth=0.8, zorder=4 if is_chosen else 3,
    )  # fmt: skip
    if is_chosen:
        axes.plot(
            trial.options[option], trial.seconds, "o", color=colour, markersize=8, markerfacecolor="none", markeredgewidth=0.8
        )


def _handles() -> list[object]:
    from matplotlib.lines import Line2D

    looks = (
        ("trial", "o", LOOKS[0].colour, LOOKS[0].colour),
        ("misses targets", "o", LOOKS[0].colour, "white"),
        ("default options", "D", LOOKS[3].colour, LOOKS[3].colour),
        ("chosen", "o", LOOKS[1].colour, LOOKS[1].colour),
    )
    return [
        Line2D([], [], linewidth=0, marker=marker, color=edge, markerfacecolor=face, markeredgewidth=0.8, label=words)
        for words, marker, edge, face in looks
    ]
