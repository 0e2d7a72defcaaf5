"""Draws how often each algorithm of a system is the best, within the noise, and what it costs to
always use it.

The picture has no viewBox. Its x is in per cent of the width that the page gives it, and its y in
pixels, so that text keeps its size from a phone to a wide screen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from fedbench import written
from fedbench.leaderboard.standings import Panel, Standing

HEAD, ROW, FOOT = 38, 25, 24  # pixels
BARS, WIDE = 37.0, 17.0  # per cent: where bars begin, and how wide one of all points is
LOW, HIGH = 64.0, 86.0  # per cent: the ends of the scale
TICKS = (1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32)
LEAST = 2.0  # the smallest end of the scale
NOT_ALL = "not run at all points"


def pictures(several: Sequence[Panel]) -> list[tuple[Panel, Markup]]:
    """Returns every panel with its picture. All have the same scale of costs."""
    ends = [row.average.ratio[2] for one in several for row in one.rows if row.average]
    end = max([LEAST, *ends]) * 1.05
    return [(one, _picture(one, end)) for one in several]


def _picture(one: Panel, end: float) -> Markup:
    """Returns the picture of a panel, with a scale of costs from 1 to `end`. The scale is left out
    if no algorithm has an average."""
    has_costs = any(row.average for row in one.rows)
    height = HEAD + ROW * len(one.rows) + FOOT
    parts = [
        f'<text class="head" x="{BARS}%" y="14">the best at</text><text class="soft" x="{BARS}%" y="29">of {one.points} points</text>'
    ]
    if has_costs:
        parts.append(_scale(end, height))
    for i, row in enumerate(one.rows):
        parts.append(_row(row, one.points, HEAD + ROW * (i + 0.5), end, has_costs=has_costs))
    told = "; ".join(_told(row, one.points) for row in one.rows)
    head = f'<svg class="standings" width="100%" height="{height}" role="img" aria-label="{escape(f"{one.system}: {told}")}">'
    return Markup(f"{head}{''.join(parts)}</svg>")


def _scale(end: float, height: int) -> str:
    ticks = [tick for tick in TICKS if tick <= end]
    ticks = [tick for i, tick in enumerate(ticks) if len(ticks) < 5 or tick == 1 or math.log2(tick).is_integer()]
    lines = "".join(
        f'<line class="{"axis" if tick == 1 else "rule"}" x1="{_x(tick, end)}" x2="{_x(tick, end)}" y1="{HEAD}" y2="{height - FOOT}"/>'
        f'<text class="soft" x="{_x(tick, end)}" y="{height - 7}" text-anchor="middle">{tick:g}</text>'
        for tick in ticks
    )
    return f'<text class="head" x="{LOW}%" y="14">always used</text><text class="soft" x="{LOW}%" y="29">cost ÷ the best’s</text>{lines}'


def _row(row: Standing, points: int, y: float, end: float, *, has_costs: bool) -> str:
    wide = WIDE * row.best / points
    kind = "bar" if row.best else "bar none"
    parts = [
        f'<text class="name" x="0" y="{y}" dy=".35em">{escape(row.label)}</text>'
        f'<rect class="{kind}" x="{BARS}%" y="{y - 7}" width="{wide:.2f}%" height="14" rx="2"/>'
        f'<text x="{BARS + wide:.2f}%" y="{y}" dx="5" dy=".35em">{row.best}</text>'
    ]
    if row.average is None and has_costs:
        parts.append(f'<text class="soft" x="{LOW}%" dx="6" y="{y}" dy=".35em">{NOT_ALL}</text>')
    elif row.average is not None:
        value, low, high = row.average.ratio
        dot = "dot hollow" if row.average.is_bound else "dot"
        parts.append(
            f'<line class="range" x1="{_x(low, end)}" x2="{_x(high, end)}" y1="{y}" y2="{y}"/>'
            f'<circle class="{dot}" cx="{_x(value, end)}" cy="{y}" r="3.5"/>'
            f'<text x="100%" y="{y}" dy=".35em" text-anchor="end">{written.bound(written.ratio(value), row.average.is_bound)}</text>'
        )
    return f"<g><title>{escape(_told(row, points))}</title>{''.join(parts)}</g>"


def _x(value: float, end: float) -> str:
    share = math.log(min(value, end)) / math.log(end)
    return f"{LOW + (HIGH - LOW) * share:.2f}%"


def _told(row: Standing, points: int) -> str:
    if row.average is None:
        return f"{row.label} is among the best at {row.best} of {points} points"
    value, low, high = row.average.ratio
    cost = f"{written.at_least(written.ratio(value), row.average.is_bound)} times the best’s cost, 95 % interval {low:.2f} to {high:.2f}"
    return f"{row.label} is among the best at {row.best} of {points} points; always used, it costs {cost}"
