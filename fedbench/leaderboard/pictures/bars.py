"""Draws a time with its interval as a small bar. Bars below each other have one scale, so that they
can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup

WIDTH, HEIGHT = 96, 10


def end_of(rows: Iterable[Mapping[str, Any]]) -> float:
    """Returns where the scale of some rows of boards ends, which is the latest end of an
    interval."""
    return max((row["mean"] + (row["half_width"] or 0.0) for row in rows if row["solved"] > 0), default=0.0)


def bar(row: Mapping[str, Any], end: float) -> Markup:
    """Returns the picture of a row of a board, on a scale from 0 s to `end`.

    A dot is at the mean, and a line over the 95 % interval. The dot is hollow if the row misses
    targets, since the mean is then a lower bound. The picture is empty if the row reaches no
    target.
    """
    if row["solved"] == 0 or end <= 0:
        return Markup("")
    half = row["half_width"] or 0.0
    low, middle, high = (_x(value, end) for value in (row["mean"] - half, row["mean"], row["mean"] + half))
    name = "dot" if row["solved"] == 1 else "dot hollow"
    return Markup(
        f'<svg class="bar" width="{WIDTH}" height="{HEIGHT}" aria-hidden="true">'
        f'<line class="rule" x1="4" x2="{WIDTH - 4}" y1="5" y2="5"/><line class="range" x1="{low}" x2="{high}" y1="5" y2="5"/>'
        f'<circle class="{name}" cx="{middle}" cy="5" r="3"/></svg>'
    )


def _x(value: float, end: float) -> str:
    return f"{4 + (WIDTH - 8) * min(1.0, max(0.0, value / end)):.1f}"
