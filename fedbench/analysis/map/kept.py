"""What is kept of a fitted map: its costs at any place, and those that were measured at its points.

Draws are thinned to MOST_DRAWS, and of their coefficients half-precision numbers say how they
depart from the mean over draws. A departure is rounded by a thousandth of itself, much less than
what is left to chance.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fedbench.analysis.map import between
from fedbench.analysis.map.between import Numbers
from fedbench.analysis.map.draws import Draws, expected
from fedbench.analysis.map.factors import Columns, Design, Floats
from fedbench.analysis.map.prediction import Verdict, measured
from fedbench.analysis.map.presence import Presence
from fedbench.analysis.map.runs import Flags

MOST_DRAWS = 400


@dataclass(frozen=True, eq=False)
class Costs:
    """What is known of costs on one axis: draws at any place, and what was measured at the points.

    points: the name of every point, as `point`, and the level of every factor (N,).
    verdict: how well held-out points were predicted; None if there were none.
    centre: the mean coefficients over draws (K, P).
    around: how those of every draw depart from it (B, K, P), float16.
    own, shared: as in `Draws` (B,).
    log: measured log costs (N, K), NaN where an algorithm has no runs.
    is_bound: where a run was censored, so that the cost is a lower bound (N, K).
    regret: logarithms of costs over that of the best, as the boards of the points have them (N, K),
    NaN where an algorithm has none.
    """

    design: Design
    algorithms: tuple[str, ...]
    points: Columns
    seed: int
    verdict: Verdict | None
    centre: Floats
    around: npt.NDArray[np.float16]
    own: Floats
    shared: Floats
    log: Floats
    is_bound: Flags
    regret: Floats

    @classmethod
    def of(cls, draws: Draws, points: Columns, verdict: Verdict | None, regret: Floats) -> Costs:
        """Returns what is kept of draws. `points` are those to which the model was fitted, as `fit`
        has them, `verdict` is that of `prediction.judged`, and `regret` has the logarithms of the
        regrets at these points (N, K)."""
        kept = np.unique(np.linspace(0, len(draws.own) - 1, MOST_DRAWS).astype(np.int64))
        centre, found = draws.coefficients.mean(axis=0), measured(draws.fit.runs)
        return cls(
            draws.design,
            draws.algorithms,
            {name: list(points[name]) for name in ("point", *(one.name for one in draws.design.factors))},
            draws.seed,
            verdict,
            centre,
            (draws.coefficients[kept] - centre).astype(np.float16),
            draws.own[kept],
            draws.shared[kept],
            found.log,
            found.is_bound,
            regret,
        )

    @property
    def predicts(self) -> bool:
        """Returns whether costs between the points may be asked for. If not, the points are all
        there is."""
        return self.verdict is not None and self.verdict.predicts

    @cached_property
    def coefficients(self) -> Floats:
        """Returns those of every draw (B, K, P)."""
        return self.centre + self.around.astype(np.float64)

    def at(self, place: Mapping[str, float], numbers: Numbers) -> Floats:
        """Returns draws of the expected log costs of all algorithms, tuned once, at a place (B, K).
        A factor of kinds has there one of the `numbers` of its kinds, or one between them."""
        x = between.at(self.design.matrix, self.design.factors, place, numbers)
        return expected(self.coefficients, self.own, self.shared, self.seed, x)[:, 0]

    def runs_at(self, place: Mapping[str, float], numbers: Numbers) -> Flags:
        """Returns which algorithms the points say something of at a place (K,), see `presence`."""
        near = {
            factor.name: between.around(factor, np.array(self.points[factor.name]), place[factor.name], numbers)
            for factor in self.design.factors
        }
        return self.presence.at(near)

    @cached_property
    def presence(self) -> Presence:
        """Returns where the algorithms have runs, and arrive."""
        levels = {factor.name: self.points[factor.name] for factor in self.design.factors}
        return Presence.of(levels, self.log, self.is_bound)

    def distances(self, place: Mapping[str, float], numbers: Numbers, among: Collection[str] = ()) -> Floats:
        """Returns how far away the points are (N,), in some factors or in all: 2 is the range of a
        factor."""
        kept = tuple(one for one in self.design.factors if not among or one.name in among)
        coordinates = replace(self.design, factors=kept).coordinates
        return _lengths(coordinates(self.points) - between.at(coordinates, kept, place, numbers))

    @property
    def apart(self) -> Floats:
        """Returns how far the points are from each other (N, N)."""
        places = self.design.coordinates(self.points)
        return _lengths(places[:, None] - places)


def _lengths(steps: Floats) -> Floats:
    """Returns the lengths of steps (.., C), so rounded that equal ones stay equal."""
    return np.asarray(np.round(np.sqrt(np.square(steps).sum(axis=-1)), 9))
