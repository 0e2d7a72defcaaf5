"""Draws when clients train, and what becomes of their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedbench.engine.timeline import ClientTimeline, Job
from fedbench.errors import UsageError
from fedbench.figures.style import CONTEXT, INK, SIDE_LEGEND, Drawn, canvas, styled
from fedbench.figures.words import fitted, height
from fedbench.written import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 4  # timelines in a figure
LINE, FRAME = 2.4, 13.0  # mm: heights of a client, and of what is around a timeline
SIDES = 10.0  # mm: what is beside a timeline
TITLE = 7  # points
FACES = {  # colour and hatch of a job's fate; hatches tell them apart in print without colours
    "used": ("#0072B2", ""),
    "unused": ("#cfe3f1", ""),
    "late": ("#E69F00", "//////"),
    "lost": ("#D55E00", "xxxxxx"),
}
WORDS = {"used": "used", "unused": "not used by the end", "late": "late", "lost": "lost"}
AWAY = "#e4e4e4"


@styled
def draw_timelines(data: Sequence[ClientTimeline], width: float) -> Drawn:
    """Returns the figure of timelines below each other, on one scale of time. Raises UsageError
    unless there are 1 to 4."""
    if not 1 <= len(data) <= MOST:
        raise UsageError(f"timeline: expected 1 to {MOST} algorithms, got {len(data)}")
    lines = [len(one.clients) for one in data]
    titles = [fitted(_title(one), width - SIDES, TITLE) for one in data]
    tall = LINE * sum(lines) + FRAME * len(data) + 8 + sum(height([title], TITLE) for title in titles)
    figure, several = canvas(width, tall, len(data), sharex=True, height_ratios=lines)
    for axes, one, title in zip(several, data, titles, strict=True):
        _draw(axes, one)
        axes.set_title(title, fontsize=TITLE, loc="left")
    several[-1].set_xlabel("virtual time (s)")
    several[-1].set_xlim(0, max(one.end_seconds for one in data))
    fates = [fate for fate in FACES if any(job.fate == fate and job.train is not None for one in data for job in one.jobs)]
    handles = _handles(fates, is_away=any(one.absences for one in data))
    figure.legend(handles=handles, loc="outside lower center", ncols=6 if width >= SIDE_LEGEND else 3)
    shown = sorted({f"{len(one.clients)} of {one.of_clients}" for one in data})
    caption = (
        f"Training of {' and '.join(shown)} clients, the fastest at the top. Thin lines are downloads, uploads and waiting; ticks "
        "above are server updates."
    )
    return Drawn(figure, caption)


def _title(one: ClientTimeline) -> str:
    return f"{one.algorithm}: {counted(len(one.updates), 'update')}"


def _draw(axes: Axes, one: ClientTimeline) -> None:
    place = {client: y for y, client in enumerate(one.clients)}
    for absence in one.absences:
        axes.broken_barh(
            [(absence.begin, absence.end - absence.begin)], (place[absence.client] - 0.5, 1), color=AWAY, linewidth=0
        )
    for fate, (colour, hatch) in FACES.items():
        jobs = [job for job in one.jobs if job.fate == fate]
        axes.hlines(
            [place[job.client] for job in jobs], [job.begin for job in jobs], [job.end for job in jobs], INK, linewidth=0.35
        )
        for client, y in place.items():
            spans = [span for job in jobs if job.client == client for span in _training(job)]
            axes.broken_barh(spans, (y - 0.36, 0.72), facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0.25, zorder=3)
    axes.plot(one.updates, [-1.1] * len(one.updates), "|", color=INK, markersize=3, markeredgewidth=0.4, clip_on=False)
    axes.set_ylim(len(place) - 0.4, -1.7)
    axes.set_yticks([])
    axes.set_ylabel("clients")
    axes.spines["left"].set_color(CONTEXT)


def _training(job: Job) -> list[tuple[float, float]]:
    """Returns the begin and the length of a job's training, in a list that is empty if the training
    does not begin."""
    if job.train is None:
        return []
    return [(job.train, (job.end if job.upload is None else job.upload) - job.train)]


def _handles(fates: Sequence[str], *, is_away: bool) -> list[object]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    patches: list[object] = [
        Patch(facecolor=FACES[fate][0], hatch=FACES[fate][1], edgecolor="white", linewidth=0, label=WORDS[fate]) for fate in fates
    ]
    if is_away:
        patches.append(Patch(facecolor=AWAY, label="away"))
    return [*patches, Line2D([], [], color=INK, linewidth=0, marker="|", markersize=4, label="server update")]
