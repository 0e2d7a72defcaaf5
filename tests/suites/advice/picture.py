"""Draws what advice was worth on the scenarios that test it.

Along is a cost over that of the best, up the share of scenarios on which a list has an algorithm
that costs at most that. `acceptance --picture FILE` draws it of its runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedbench.figures.style import INK, LOOKS, Drawn, canvas, styled
from tests.suites.advice.judging import CLOSE, HITS, OF, Lists, shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGEST = 4.0  # the ratio at the right end


@styled
def draw(several: Sequence[Lists], width: float) -> Drawn:
    """Returns the figure of scenarios."""
    figure, (panel,) = canvas(width, 0.5 * width)
    ratios = np.geomspace(1, LARGEST, 400)
    for look, (kind, share) in zip(LOOKS, shares(several, ratios).items(), strict=False):
        panel.plot(ratios, share, color=look.colour, linestyle=look.dashes, drawstyle="steps-post", label=kind)
    _finish(panel)
    caption = (
        f"The share of {len(several)} scenarios on which a list has an algorithm that costs at most so many times as much as the best, in "
        f"virtual seconds. The cross is what was asked for of the five named: {HITS} of {OF} within {CLOSE:g}."
    )
    return Drawn(figure, caption)


def _finish(panel: Axes) -> None:
    panel.plot([CLOSE], [HITS / OF], "+", color=INK, markersize=8)
    panel.set_xscale("log")
    ticks = [1, 1.1, 1.5, 2, 3, 4]
    panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    panel.minorticks_off()
    panel.set_xlim(1, LARGEST)
    panel.set_ylim(0, 1)
    panel.set_xlabel("cost / cost of the best")
    panel.set_ylabel("share of scenarios")
    panel.legend(loc="lower right")
