"""Draws how much an option matters. Each trial is a dot, with its value of the option against its
mean time to the targets. The dots are points of two paths, which their round ends make visible."""

from __future__ import annotations

import math

from markupsafe import Markup, escape

from fedbench import written
from fedbench.analysis.pictures.sensitivity import Sensitivity, Sought, Tried
from fedbench.leaderboard.pictures import image

WIDTH, HEIGHT = 230, 132
LEFT, RIGHT, TOP, BOTTOM = 34, 10, 8, 34


def pictures(found: Sensitivity) -> list[tuple[str, Markup]]:
    """Returns the name and the picture of each option that was tuned."""
    most = max((trial.seconds for trial in found.trials), default=0.0) or 1.0
    return [(option.name, _picture(found, option, most)) for option in found.sought]


def _picture(found: Sensitivity, option: Sought, most: float) -> Markup:
    dots: dict[bool, list[str]] = {False: [], True: []}
    named = []
    for trial in found.trials:
        value = trial.options.get(option.name)
        if value is None or not _within(value, option):
            continue
        x, y = _x(value, option), TOP + (HEIGHT - TOP - BOTTOM) * (1 - trial.seconds / most)
        if trial.trial in (0, found.chosen):
            named.append(_dot(trial, value, x, y, is_chosen=trial.trial == found.chosen))
        else:
            dots[bool(trial.misses)].append(f"M{x:.0f} {y:.0f}h0")
    parts = [f'<path class="trials" d="{"".join(dots[False])}"/>' if dots[False] else ""]
    if missing := "".join(dots[True]):
        parts.append(f'<path class="trials" d="{missing}"/><path class="trials missing" d="{missing}"/>')
    count = sum(map(len, dots.values())) + len(named)
    bottom = HEIGHT - BOTTOM
    ends = "".join(
        f'<text x="{_x(value, option):.1f}" y="{bottom + 14}" text-anchor="{anchor}">{value:g}</text>'
        for value, anchor in ((option.low, "start"), (option.high, "end"))
    )
    scale = ", logarithmic" if option.scale == "log" else ""
    inside = (
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>'
        f'<text x="{LEFT - 5}" y="{TOP}" dy=".7em" text-anchor="end">{written.number(most)}</text>'
        f'<text x="{LEFT - 5}" y="{bottom}" text-anchor="end">0 s</text>{ends}'
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 5}" text-anchor="middle">{escape(option.name)}{scale}</text>'
        f"{''.join(parts)}{''.join(named)}"
    )
    return image("sensitivity", (WIDTH, HEIGHT), f"{option.name}: {count} trials", inside)


def _dot(trial: Tried, value: float, x: float, y: float, *, is_chosen: bool) -> str:
    """Returns the dot of the trial that was chosen, or of the default options, with what it is in
    words."""
    kind = "dot" + " hollow" * bool(trial.misses) + " chosen" * is_chosen
    missed = f", {trial.misses} of {trial.attempts} missed" if trial.misses else ""
    cost = written.at_least(f"{trial.seconds:.1f} s", bool(missed))
    what = "; ".join(("chosen",) * is_chosen + ("default options",) * (trial.trial == 0))
    told = f"{what}: {value:g}, {cost}{missed}"
    return f'<circle class="{kind}" cx="{x:.0f}" cy="{y:.0f}" r="{5 if is_chosen else 3}"><title>{told}</title></circle>'


def _within(value: float, option: Sought) -> bool:
    return math.isfinite(value) and (option.scale != "log" or value > 0)


def _x(value: float, option: Sought) -> float:
    """Returns the place of a value of an option. A value beyond the interval that was searched,
    such as a default one, is at its end."""
    low, high, value = (math.log(one) if option.scale == "log" else one for one in (option.low, option.high, value))
    share = (value - low) / (high - low) if high > low else 0.5
    return LEFT + (WIDTH - LEFT - RIGHT) * min(1.0, max(0.0, share))
