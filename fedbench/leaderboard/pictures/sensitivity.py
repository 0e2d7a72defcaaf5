"""Draws how much an option matters. Each trial is a dot, with its value of the option against its
mean time to the targets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup, escape

from fedbench.leaderboard import formats
from fedbench.leaderboard.pictures import image

WIDTH, HEIGHT = 230, 132
LEFT, RIGHT, TOP, BOTTOM = 34, 10, 8, 34


def pictures(found: Mapping[str, Any]) -> list[tuple[str, Markup]]:
    """Returns the name and the picture of each option that was tuned."""
    most = max((trial["seconds"] for trial in found["trials"]), default=0.0) or 1.0
    return [(option["name"], _picture(found, option, most)) for option in found["sought"]]


def _picture(found: Mapping[str, Any], option: Mapping[str, Any], most: float) -> Markup:
    dots = []
    for trial in found["trials"]:
        value = trial["options"].get(option["name"])
        if value is None or not _within(value, option):
            continue
        kind = "dot" + (" hollow" if trial["misses"] else "") + (" chosen" if trial["trial"] == found["chosen"] else "")
        least, missed = "", ""
        if trial["misses"]:
            least, missed = "at least ", f", {trial['misses']} of {trial['attempts']} targets and seeds missed"
        told = f"{option['name']}={value:g}: {least}{trial['seconds']:.1f} s{missed}"
        told += ", the default options" if trial["trial"] == 0 else ""
        x, y = _x(value, option), TOP + (HEIGHT - TOP - BOTTOM) * (1 - trial["seconds"] / most)
        size = 5 if trial["trial"] == found["chosen"] else 3
        dots.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{size}"><title>{escape(told)}</title></circle>')
    bottom = HEIGHT - BOTTOM
    ends = "".join(
        f'<text x="{_x(value, option):.1f}" y="{bottom + 14}" text-anchor="{anchor}">{value:g}</text>'
        for value, anchor in ((option["low"], "start"), (option["high"], "end"))
    )
    scale = ", logarithmic" if option["scale"] == "log" else ""
    inside = (
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>'
        f'<text x="{LEFT - 5}" y="{TOP}" dy=".7em" text-anchor="end">{formats.number(most)}</text>'
        f'<text x="{LEFT - 5}" y="{bottom}" text-anchor="end">0 s</text>{ends}'
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 5}" text-anchor="middle">{escape(option["name"])}{scale}</text>'
        f"{''.join(dots)}"
    )
    return image("sensitivity", (WIDTH, HEIGHT), f"{option['name']}: {len(dots)} trials", inside)


def _within(value: float, option: Mapping[str, Any]) -> bool:
    return math.isfinite(value) and (option["scale"] != "log" or value > 0)


def _x(value: float, option: Mapping[str, Any]) -> float:
    """Returns the place of a value of an option. A value beyond the interval that was searched,
    such as a default one, is at its end."""
    low, high, value = (math.log(one) if option["scale"] == "log" else one for one in (option["low"], option["high"], value))
    share = (value - low) / (high - low) if high > low else 0.5
    return LEFT + (WIDTH - LEFT - RIGHT) * min(1.0, max(0.0, share))
