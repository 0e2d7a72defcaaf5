"""Draws how far the published map was off at the points held out.

    python -m tests.suites.mapped.picture

A dot is an algorithm that is in a set of the best, at a point that was not used to fit anything:
along the cost over that of the best as measured, up as the map predicts it. Writes
results/pictures/map-held-out.svg from the committed records and from the map that fedbench brings,
and prints what the error is made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedbench.analysis.axes import AXES
from fedbench.analysis.board import BOARD_AXES
from fedbench.analysis.map import runs as reading
from fedbench.analysis.map import saved
from fedbench.analysis.map.answers import regrets
from fedbench.analysis.map.factors import Floats
from fedbench.analysis.map.prediction import MOST_ERROR, measured
from fedbench.analysis.map.runs import Flags
from fedbench.figures.style import CONTEXT, INK, LOOKS, WIDTHS, Drawn, canvas, styled, write
from fedbench.suites import suite as suites
from fedbench.suites.advice.advise import SHIPPED
from fedbench.suites.findings.results import Results, load
from fedbench.suites.mapped import statements
from fedbench.suites.mapped.columns import entered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOT = Path(__file__).resolve().parents[3]
OUT = ROOT / "results/pictures/map-held-out.svg"
SMALLEST, LARGEST = 0.5, 16.0  # ratios at the ends of both axes


@dataclass(frozen=True)
class Dots:
    """Logarithms of costs over the best (M,) and whether what was measured is a lower bound."""

    measured: Floats
    predicted: Floats
    is_bound: Flags

    @property
    def known(self) -> Floats:
        """By how much the costs that are known are predicted too high."""
        return np.asarray((self.predicted - self.measured)[~self.is_bound])

    @property
    def shift(self) -> float:
        """The mean of these."""
        return float(self.known.mean())

    @property
    def scatter(self) -> float:
        """Their standard deviation."""
        return float(self.known.std())

    @property
    def of_misses(self) -> float:
        """The part of the mean squared error that bounds make which are predicted too low."""
        off = (self.predicted - self.measured)[self.is_bound]
        return float(np.square(off[off < 0]).sum() / len(self.known))

    @property
    def error(self) -> float:
        """The error by which the map is judged, of the draws that it brings, which are fewer."""
        return float(np.sqrt(self.shift**2 + self.scatter**2 + self.of_misses))


def dots(results: Results, said: statements.Map, axis: str) -> Dots:
    """Returns what was measured of an axis at the points that are judged, and what is predicted."""
    judged = next(one for one in said.judged if one.axis == axis)
    points = list(judged.rows)
    found = reading.read(entered(results).at(axis, {"point": points}, public_data=False), points)
    given = saved.read(SHIPPED)
    costs, seen = given.costs[axis], measured(found)
    at = [costs.algorithms.index(name) for name in found.algorithms]
    there = ~np.isnan(seen.log)
    numbers = given.about.numbers
    places = [
        {
            name: numbers[name][level] if isinstance(level, str) else level
            for name, level in results.suite.point(point).levels.items()
        }
        for point in points
    ]
    log = np.stack([costs.at(place, numbers)[:, at] for place in places], axis=1)
    counts = there & np.array([[name in judged.in_sets[point] for name in found.algorithms] for point in points])
    best = np.where(counts & ~seen.is_bound, seen.log, np.inf).min(axis=1, keepdims=True)
    return Dots((seen.log - best)[counts], regrets(log, there).mean(axis=0)[counts], seen.is_bound[counts])


@styled
def draw(several: dict[str, Dots], errors: dict[str, float], width: float) -> Drawn:
    """Returns the figure, a panel for each axis."""
    figure, panels = canvas(width, width / len(several) + 6, columns=len(several))
    for panel, (axis, found) in zip(panels, several.items(), strict=True):
        _panel(panel, found, f"{AXES[axis].words}: error {errors[axis]:.2f}, {MOST_ERROR:.2f} allowed")
    panels[0].set_ylabel("predicted cost / cost of the best")
    caption = (
        "Costs over those of the best at the points held out, as measured (along) and as predicted (up), of the algorithms in a set of "
        "the best. Hollow: a target was missed, so that the cost is larger than measured; at an edge it lies beyond. Grey: the error that "
        "was allowed."
    )
    return Drawn(figure, caption)


def _panel(panel: Axes, found: Dots, title: str) -> None:
    ends = np.array([SMALLEST, LARGEST])
    panel.fill_between(ends, ends * np.exp(-MOST_ERROR), ends * np.exp(MOST_ERROR), color=CONTEXT, linewidth=0)
    panel.plot(ends, ends, color=INK, linewidth=0.6)
    x, y = np.clip(np.exp(found.measured), *ends), np.clip(np.exp(found.predicted), *ends)
    for chosen, face, marker in ((~found.is_bound, LOOKS[0].colour, "o"), (found.is_bound, "white", ">")):
        panel.plot(
            x[chosen],
            y[chosen],
            marker,
            clip_on=False,
            markerfacecolor=face,
            markeredgecolor=LOOKS[0].colour,
            markeredgewidth=0.7,
        )
    panel.set_xscale("log")
    panel.set_yscale("log")
    ticks = [0.5, 1, 2, 4, 8, 16]
    panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    panel.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    panel.set_xlim(*ends)
    panel.set_ylim(*ends)
    panel.set_title(title)
    panel.set_xlabel("measured cost / cost of the best")


def main() -> None:
    suite = suites.load("map")
    results = load(suite, ROOT / "results/tuned", ROOT / "results/suites")
    said = statements.read(ROOT / "results/suites" / suite.name, results)
    several = {axis: dots(results, said, axis) for axis in BOARD_AXES}
    for one in said.judged:
        found = several[one.axis]
        print(
            f"{one.axis}: error {one.error:.2f}, of the picture {found.error:.2f}: {len(found.known)} known costs, off by "
            f"{found.shift:+.2f} on average with a standard deviation of {found.scatter:.2f}; {found.is_bound.sum()} misses, which make "
            f"{found.of_misses:.2f} of the mean square of {found.error**2:.2f}"
        )
    write(draw(several, {one.axis: one.error for one in said.judged}, WIDTHS["page"]), OUT)


if __name__ == "__main__":
    main()
