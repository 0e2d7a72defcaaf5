"""Draws how stale the results were that updates used, as bars."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from fedbench import written
from fedbench.leaderboard.pictures import image

WIDTH, HEIGHT = 420, 150
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 8, 34


def histogram(shares: Sequence[float], title: str) -> Markup:
    """Returns the picture of shares by staleness 0, 1, .., which is empty without shares, or if
    all of them are 0. What they lack of 1 is staler, and the picture says so in words."""
    if not any(shares):
        return Markup("")
    most, rest = max(shares), 1 - sum(shares)
    beyond = f"; {written.number(float(f'{100 * rest:.2g}'))} % are beyond {len(shares) - 1}" if rest > 0.0005 else ""
    wide, floor = (WIDTH - LEFT - RIGHT) / len(shares), HEIGHT - BOTTOM
    bars = [
        f'<path d="M{round(LEFT + wide * i, 1):g} {floor}V{round(_y(share / most), 1):g}h{round(max(0.5, wide - 1), 1):g}V{floor}">'
        f"<title>{i}: {written.number(100 * share)} %</title></path>"
        for i, share in enumerate(shares)
        if share / most > 0.002  # less is not seen
    ]
    ticks = range(0, len(shares), max(1, len(shares) // 8))
    marks = [f'<text x="{LEFT + wide * (i + 0.5):.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{i}</text>' for i in ticks]
    marks += [
        f'<text x="{LEFT - 6}" y="{_y(part):.1f}" dy=".32em" text-anchor="end">{written.number(100 * most * part)} %</text>'
        for part in (0.5, 1)
    ]
    axis = f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM}"/>'
    name = f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 4}" text-anchor="middle">staleness, in updates{beyond}</text>'
    return image("histogram", (WIDTH, HEIGHT), title, "".join(['<g class="share">', *bars, "</g>", axis, *marks, name]))


def _y(part: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - part)
