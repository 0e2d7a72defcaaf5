"""Draws what some clients do at the beginning of a run. Each job is a bar, coloured by what becomes
of its results; the bars of a client with one fate are one path. Below them are the server's
updates."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from fedbench import written
from fedbench.documents.pictures import Timeline
from fedbench.leaderboard.pictures import image

WIDTH, ROW = 760, 18
LEFT, TOP, BOTTOM = 84, 4, 48


def timeline(found: Timeline) -> Markup:
    """Returns the picture of a timeline, which is empty if it has no job."""
    jobs, end = found.jobs, found.end_seconds
    if not jobs.client or end <= 0:
        return Markup("")
    line = {client: TOP + ROW * i for i, client in enumerate(found.clients)}
    bottom = TOP + ROW * len(line)
    parts = [
        f'<text x="{LEFT - 6}" y="{y + ROW / 2:g}" dy=".32em" text-anchor="end">client {client}</text>'
        for client, y in line.items()
    ]
    parts.append(f'<path class="rule" d="{"".join(f"M{LEFT} {y + ROW / 2:g}H{WIDTH}" for y in line.values())}"/>')
    away = found.absences
    bars: dict[tuple[int, str], list[str]] = {}
    for client, begin, until in zip(away.client, away.begin, away.end, strict=True):
        bars.setdefault((client, "away"), []).append(_bar(begin, until, line[client], end))
    stale: dict[tuple[int, str], list[int]] = {}
    columns = zip(jobs.client, jobs.begin, jobs.end, jobs.fate, jobs.staleness, strict=True)
    for client, begin, until, fate, staleness in columns:
        bars.setdefault((client, fate), []).append(_bar(begin, until, line[client], end))
        if staleness is not None:
            stale.setdefault((client, fate), []).append(staleness)
    parts += [
        f'<path class="{fate}" d="{"".join(drawn)}"><title>{_told(client, fate, len(drawn), stale.get((client, fate), []))}</title></path>'
        for (client, fate), drawn in bars.items()
    ]
    pixels = dict.fromkeys(round(_x(second, end)) for second in found.updates if second <= end)
    marks = "".join(f"M{column} {bottom + 4}v8" for column in pixels)
    parts.append(f'<path class="updates" d="{marks}"/>')
    parts.append(f'<text x="{LEFT - 6}" y="{bottom + 8}" dy=".32em" text-anchor="end">updates</text>')
    parts += [
        f'<text x="{_x(end * part, end):.1f}" y="{bottom + 28}" text-anchor="{anchor}">{written.number(end * part)} s</text>'
        for part, anchor in ((0, "start"), (0.5, "middle"), (1, "end"))
    ]
    told = (
        f"{len(line)} of {found.of_clients} clients, {len(jobs.client)} jobs in the first {written.number(end)} virtual seconds"
    )
    return image("timeline", (WIDTH, bottom + BOTTOM), told, "".join(parts))


def _x(second: float, end: float) -> float:
    return LEFT + (WIDTH - LEFT) * min(1.0, second / end)


def _told(client: int, fate: str, count: int, staleness: Sequence[int]) -> str:
    """Returns in words what becomes of a client's jobs: `client 4: 2 jobs used, staleness 1 to
    3`."""
    if fate == "away":
        return f"client {client}: away, {count} time{'s' * (count > 1)}"
    ends = sorted({min(staleness), max(staleness)}) if staleness else []
    spread = f", staleness {' to '.join(map(str, ends))}" if ends else ""
    return f"client {client}: {count} job{'s' * (count > 1)} {fate}{spread}"


def _bar(begin: float, until: float, y: float, end: float) -> str:
    left, wide, tall = _x(begin, end), max(1.0, _x(until, end) - _x(begin, end) - 0.7), ROW - 6
    left, wide = round(left, 1), round(wide, 1)
    return f"M{left:g} {y + 3:g}h{wide:g}v{tall}h-{wide:g}z"
