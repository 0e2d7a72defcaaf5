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
    ends = (regret.low, regret.high) if regret.is_known else (regret.value, regret.value)
    one, left, middle, right = (_x(place) for place in (1.0, ends[0], regret.value, ends[1]))
    name = "dot hollow" if regret.sign == written.AT_LEAST else "dot"
    return Markup(
        f'<svg class="bar" width="{WIDTH}" height="{HEIGHT}" aria-hidden="true"><path class="rule" d="M4 5H{WIDTH - 4}"/>'
        f'<path class="axis" d="M{one} 0V{HEIGHT}"/><path class="range" d="M{left} 5H{right}"/>'
        f'<circle class="{name}" cx="{middle}" cy="5" r="3"/></svg>'
    )


def _x(value: float) -> str:
    share = math.log(min(HIGH, max(LOW, value)) / LOW) / math.log(HIGH / LOW)
    return f"{4 + (WIDTH - 8) * share:.1f}"
