"""Draws what some clients do at the beginning of a run. Each job is a bar, coloured by what becomes
of its results. Below the bars are the server's updates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup, escape

from fedbench.leaderboard import formats
from fedbench.leaderboard.pictures import image

WIDTH, ROW = 760, 18
LEFT, TOP, BOTTOM = 84, 4, 48
MOST_UPDATES = 300  # marks of updates


def timeline(found: Mapping[str, Any]) -> Markup:
    """Returns the picture of a timeline, which is empty if it has no job."""
    jobs, end = found["jobs"], found["end_seconds"]
    if not jobs["client"] or end <= 0:
        return Markup("")
    line = {client: TOP + ROW * i for i, client in enumerate(found["clients"])}
    bottom = TOP + ROW * len(line)
    parts = [
        f'<text x="{LEFT - 6}" y="{y + ROW / 2}" dy=".32em" text-anchor="end">client {client}</text>'
        f'<line class="rule" x1="{LEFT}" x2="{WIDTH}" y1="{y + ROW / 2}" y2="{y + ROW / 2}"/>'
        for client, y in line.items()
    ]
    away = found["absences"]
    for client, begin, until in zip(away["client"], away["begin"], away["end"], strict=True):
        parts.append(_bar("away", begin, until, line[client], end, "away"))
    columns = zip(*(jobs[name] for name in ("client", "begin", "end", "fate", "staleness")), strict=True)
    for client, begin, until, fate, staleness in columns:
        told = f"{begin:g} to {until:g} s: {fate}" + (f", staleness {staleness}" if staleness is not None else "")
        parts.append(_bar(fate, begin, until, line[client], end, told))
    updates = found["updates"]
    marks = "".join(f"M{_x(second, end):.1f} {bottom + 4}v8" for second in updates[:MOST_UPDATES] if second <= end)
    parts.append(f'<path class="updates" d="{marks}"/>')
    parts.append(f'<text x="{LEFT - 6}" y="{bottom + 8}" dy=".32em" text-anchor="end">updates</text>')
    parts += [
        f'<text x="{_x(end * part, end):.1f}" y="{bottom + 28}" text-anchor="{anchor}">{formats.number(end * part)} s</text>'
        for part, anchor in ((0, "start"), (0.5, "middle"), (1, "end"))
    ]
    told = f"{len(line)} of {found['of_clients']} clients, {len(jobs['client'])} jobs in the first {formats.number(end)} virtual seconds"
    return image("timeline", (WIDTH, bottom + BOTTOM), told, "".join(parts))


def _x(second: float, end: float) -> float:
    return LEFT + (WIDTH - LEFT) * min(1.0, second / end)


def _bar(kind: str, begin: float, until: float, y: float, end: float, told: str) -> str:
    left, wide = _x(begin, end), max(1.0, _x(until, end) - _x(begin, end) - 0.7)
    return f'<rect class="{kind}" x="{left:.1f}" y="{y + 3:g}" width="{wide:.1f}" height="{ROW - 6}"><title>{escape(told)}</title></rect>'
