"""Draws a regret with its interval as a small bar. All bars have the same logarithmic scale, so
that they can be compared."""

from __future__ import annotations

import math

from markupsafe import Markup

from fedbench import written
from fedbench.written import Ratio

WIDTH, HEIGHT = 96, 10
LOW, HIGH = 0.5, 8.0
"""The ends of the scale. What is beyond is drawn at the end."""


def bar(regret: Ratio | None) -> Markup:
    """Returns the picture of a regret, which is empty without one.

    A tick is at 1, a dot at the regret, and a line over its 95 % interval, which goes to the end
    where the end is not known. The dot is hollow if the regret is a lower bound.
    """
    if regret is None:
        return Markup("")
    path, dot, middle = shape(regret)
    return Markup(
        f'<svg class="bar" width="{WIDTH}" height="{HEIGHT}" aria-hidden="true"><path class="rule" d="M4 5H{WIDTH - 4}"/>'
        f'<path class="axis" d="M{TICK} 0V{HEIGHT}"/><path class="range" d="{path}"/>'
        f'<circle class="{dot}" cx="{middle}" cy="5" r="3"/></svg>'
    )


def shape(regret: Ratio) -> tuple[str, str, str]:
    """Returns the path of the interval, the kind of the dot, and its place."""
    ends = (regret.low, regret.high) if regret.is_known else (regret.value, regret.value)
    left, right = map(_x, ends)
    return f"M{left} 5H{right}", "dot hollow" if regret.sign == written.AT_LEAST else "dot", _x(regret.value)


def _x(value: float) -> str:
    share = math.log(min(HIGH, max(LOW, value)) / LOW) / math.log(HIGH / LOW)
    return f"{4 + (WIDTH - 8) * share:.1f}"


TICK = _x(1.0)
