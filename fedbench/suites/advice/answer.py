"""What the model of a map says of a place, on an axis of costs that it predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedbench.analysis.map.answers import SURE, close_to_best, predicted_set, regrets
from fedbench.analysis.map.draws import band
from fedbench.analysis.map.factors import Floats
from fedbench.analysis.map.kept import Costs
from fedbench.analysis.map.parts import MapPart
from fedbench.analysis.map.runs import Flags
from fedbench.written import Ratio


@dataclass(frozen=True, eq=False)
class Answer:
    """Which algorithms to try at a place, on one axis.

    log: draws of log costs (B, K).
    runs: which algorithms run there (K,).
    enough: the algorithms of which, with the probability SURE, one is close to the best; the most
    probable one first.
    """

    costs: Costs
    log: Floats
    runs: Flags
    enough: list[str]

    @classmethod
    def of(
        cls, costs: Costs, place: Mapping[str, float], about: MapPart, reasons: Mapping[str, str], *, public_data: bool
    ) -> Answer:
        competes = np.array([not reasons[name] and (name in about.public_data) == public_data for name in costs.algorithms])
        log = costs.at(place, about.numbers)
        runs = competes & costs.runs_at(place, about.numbers)
        enough: list[str] = []
        if runs.any():
            close = close_to_best(log[:, None], runs[None])[0]
            chosen = predicted_set(log[:, None], runs[None], SURE)[0]
            enough = [costs.algorithms[k] for k in np.argsort(-close, kind="stable") if chosen[k]]
        return cls(costs, log, runs, enough)

    @property
    def among(self) -> int:
        """How many algorithms are compared."""
        return int(self.runs.sum())

    def probability(self, name: str) -> float:
        """Returns with which probability an algorithm is close to the best."""
        return float(close_to_best(self.log[:, None], self.runs[None])[0, self.costs.algorithms.index(name)])

    def misses(self, name: str) -> bool:
        """Returns False: the model predicts what a miss would have cost."""
        return False

    def ratio(self, name: str) -> Ratio | None:
        """Returns an algorithm's cost over that of the best; None if it has none here."""
        k = self.costs.algorithms.index(name) if name in self.costs.algorithms else -1
        if k < 0 or not self.runs[k]:
            return None
        found = band(regrets(self.log[:, None], self.runs[None])[:, 0, k])
        return Ratio(*(float(np.exp(end)) for end in (found.value, found.low, found.high)))
