"""What was measured at the points of a map that are nearest to a place.

A map that does not predict a cost between its points is a table of them. Then it is asked for the
algorithms that cost least at the NEAR points nearest to a place, by the geometric mean of their
regrets on the boards there; only those are compared that have runs at all of these points. What
such a list is worth is known from the points themselves: each is left out in turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedbench.analysis.map.answers import CLOSE
from fedbench.analysis.map.factors import Floats
from fedbench.analysis.map.kept import Costs
from fedbench.analysis.map.parts import MapPart
from fedbench.analysis.map.prediction import MOST_ROWS
from fedbench.analysis.map.runs import Flags
from fedbench.written import Ratio

NEAR = 5


@dataclass(frozen=True)
class Worth:
    """What lists of algorithms were worth at the points of a map, each of which was left out in
    turn. A hit is an algorithm that holds all targets with all seeds, within 10 % of the best.

    Attributes
    ----------
    points : int
        How many points were asked.
    hits : int
        At how many of them an algorithm of the list was a hit.
    first : int
        At how many of them the first one was.
    everywhere : int
        At how many of them a list from all other points had a hit, in place of the nearest ones.
    """

    points: int
    hits: int
    first: int
    everywhere: int

    @property
    def interval(self) -> tuple[float, float]:
        """Returns the 95 % interval of the share of hits (Clopper and Pearson 1934), as if the
        points were independent draws. They are not: they share seeds and neighbours."""
        from scipy.special import betaincinv

        low = betaincinv(self.hits, self.points - self.hits + 1, 0.025) if self.hits else 0.0
        high = betaincinv(self.hits + 1, self.points - self.hits, 0.975) if self.hits < self.points else 1.0
        return float(low), float(high)


@dataclass(frozen=True, eq=False)
class Nearby:
    """Which algorithms cost least near a place, on one axis.

    points: the nearest points of the map, the nearest one first.
    log: the logarithms of regrets at these points (NEAR, K), of those that compete, else NaN.
    is_bound: whether a target was missed at one of them, so that costs are lower bounds (K,).
    mean: the means of `log` (K,), infinite for those that do not run here or at all of the points.
    of_group: which algorithms have, or have not, public data as those that are asked for (K,).
    """

    costs: Costs
    points: tuple[str, ...]
    log: Floats
    is_bound: Flags
    mean: Floats
    of_group: Flags

    @classmethod
    def of(
        cls, costs: Costs, place: Mapping[str, float], about: MapPart, reasons: Mapping[str, str], *, public_data: bool
    ) -> Nearby:
        of_group = np.array([(name in about.public_data) == public_data for name in costs.algorithms])
        competes = of_group & np.array([not reasons[name] for name in costs.algorithms])
        near = costs.distances(place, about.numbers).argsort(kind="stable")[:NEAR]
        log = _over_best(costs.regret, competes)[near]
        names = tuple(str(costs.points["point"][k]) for k in near)
        return cls(costs, names, log, np.asarray(costs.is_bound[near].any(axis=0)), _means(log, competes), of_group)

    @property
    def among(self) -> int:
        """How many algorithms are compared."""
        return int(np.isfinite(self.mean).sum())

    @property
    def enough(self) -> list[str]:
        """Those that cost least, the cheapest first."""
        return [self.costs.algorithms[k] for k in _cheapest(self.mean)]

    @property
    def worth(self) -> Worth:
        """What such a list was worth at the points of the map."""
        return worth(self.costs, self.of_group)

    def probability(self, name: str) -> None:
        """Nothing is known of a single algorithm; `worth` is of the list."""

    def misses(self, name: str) -> bool:
        """Returns whether an algorithm misses a target at one of the points."""
        return bool(self.is_bound[self.costs.algorithms.index(name)])

    def ratio(self, name: str) -> Ratio | None:
        """Returns an algorithm's cost over that of the best: the mean over the points, and the
        smallest and the largest in the place of an interval. None if it is not compared."""
        k = self.costs.algorithms.index(name) if name in self.costs.algorithms else -1
        if k < 0 or math.isinf(self.mean[k]):
            return None
        return Ratio(*(float(np.exp(end)) for end in (self.mean[k], self.log[:, k].min(), self.log[:, k].max())))


def worth(costs: Costs, of_group: Flags) -> Worth:
    """Returns what lists are worth at the points of a map, for the algorithms of a group (K,)."""
    log, apart = _over_best(costs.regret, of_group), costs.apart
    np.fill_diagonal(apart, np.inf)
    asked = hits = first = everywhere = 0
    for n, others in enumerate(apart.argsort(axis=1, kind="stable")[:, :-1]):
        runs = ~np.isnan(log[n])
        is_hit = runs & (np.nan_to_num(log[n], nan=np.inf) <= np.log(CLOSE)) & ~costs.is_bound[n]
        named = _cheapest(_means(log[others[:NEAR]], runs))
        asked += bool(named)
        hits += bool(is_hit[named].any())
        first += bool(is_hit[named[:1]].any())
        everywhere += bool(is_hit[_cheapest(_means(log[others], runs, share=0.5))].any())
    return Worth(asked, hits, first, everywhere)


def _over_best(log: Floats, competes: Flags) -> Floats:
    """Returns log regrets over the smallest of each point (N, K), NaN for who does not compete."""
    known = np.where(competes & ~np.isnan(log), log, np.inf)
    best = known.min(axis=1, keepdims=True, initial=np.inf)
    return np.asarray(np.where(np.isfinite(known), log - np.where(np.isfinite(best), best, 0), np.nan))


def _means(log: Floats, competes: Flags, share: float = 1) -> Floats:
    """Returns the means over points (K,), infinite for who does not compete, or has no runs at a
    larger share of the points."""
    count = (~np.isnan(log)).sum(axis=0)
    mean = np.nansum(log, axis=0) / np.maximum(count, 1)
    return np.asarray(np.where(competes & (count > 0) & (count >= share * len(log)), mean, np.inf))


def _cheapest(mean: Floats) -> list[int]:
    """Returns the algorithms with the smallest means."""
    return [k for k in mean.argsort(kind="stable").tolist()[:MOST_ROWS] if math.isfinite(mean[k])]
