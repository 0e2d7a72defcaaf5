"""Landscapes with a known optimum: what a run of an algorithm with some options would give, without
a run. The logarithm of the time to the last target is a bowl over the places of the options, with
noise by seed and, on some, a cliff behind which runs diverge."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedbench import registry
from fedbench.engine.spec import RunSpec
from fedbench.suites.luck import place_of
from fedbench.suites.search import Progress, advanced, search
from fedbench.suites.space import load as load_space
from fedbench.suites.suite import Suite
from fedbench.suites.tuning import Outcome

SPACE = load_space("axes")
BUDGET = 100.0
SHARES = (0.25, 0.5, 1.0)  # of the time to the last target, for all targets
TARGETS = (0.5, 0.7, 0.8)
POINT = {
    "name": "here",
    "set": {
        "budget.seconds": BUDGET,
        "evaluation": {"kind": "log", "first_seconds": 0.1, "ratio": 1.05},
        "targets": [{"value": value} for value in TARGETS],
    },
}
HALVING: dict[str, Any] = {"method": "halving", "space": "axes", "first_seed": 1000}


def suite(*algorithms: str, **tuning: Any) -> Suite:
    content = {"schema": 1, "name": "hills", "about": "", "scenario": "digits-demo", "points": [POINT], "seeds": {"count": 3}}
    return Suite.model_validate({**content, "algorithms": algorithms, "tuning": tuning or HALVING})


def sobol(*algorithms: str, trials: int = 16) -> Suite:
    return suite(*algorithms, space="axes", trials=trials, seeds={"first": 1000, "count": 2})


@dataclass(frozen=True)
class Landscape:
    """`best`: the places of the optimum in the intervals of the space. `bowl`: the curvatures.
    `least`: the seconds to the last target there. `shared`, `own`: the standard deviations of the
    logarithm over seeds, of what all options share and of the rest. `cliff`: the place of the first
    option behind which runs diverge, in a band that is as wide as a twentieth of the interval."""

    algorithm: str
    best: tuple[float, ...]
    bowl: tuple[float, ...]
    least: float = 10.0
    shared: float = 0.1
    own: float = 0.1
    cliff: float = math.inf

    @classmethod
    def drawn(cls, algorithm: str, random: np.random.Generator, *, edge: bool = False, cliff: bool = False) -> Landscape:
        """The cliff is so near that the steepest stable options would be the best ones."""
        count = len(SPACE.algorithms[algorithm].options)
        best = random.uniform(0.1, 0.9, count)
        best[0] = 1.0 if edge else best[0]
        found = cls(algorithm, tuple(best), tuple(random.uniform(2, 12, count)), least=float(random.uniform(5, 20)))
        return replace(found, cliff=float(best[0]) - 0.05) if cliff else found

    def places(self, options: Mapping[str, Any]) -> list[float]:
        """An option that the run would choose is in the middle of its interval."""
        return [
            0.5 if options[key] is None else place_of(one, options[key])
            for key, one in SPACE.algorithms[self.algorithm].options.items()
        ]

    def seconds(self, options: Mapping[str, Any], seed: int) -> float:
        """To the last target; infinite if the run diverges."""
        places = self.places(options)
        own = np.random.default_rng([seed, *(int(1e9 * abs(place)) for place in places)])
        if places[0] + 0.0125 * own.standard_normal() > self.cliff:
            return math.inf
        height = sum(a * (place - best) ** 2 for a, place, best in zip(self.bowl, places, self.best, strict=True))
        noise = self.shared * np.random.default_rng(seed).standard_normal() + self.own * own.standard_normal()
        return self.least * math.exp(height + noise)

    def outcome(self, spec: RunSpec) -> Outcome:
        budget = float(spec.scenario.budget.seconds)
        seconds = self.seconds(spec.algorithm.options(), spec.seed)
        at = [share * seconds for share in SHARES]
        is_finished, stops = seconds < math.inf, spec.scenario.budget.hold == "window"
        reached = tuple(one if is_finished and (1.2 if stops else 1) * one <= budget else None for one in at)
        rising = 2 / 3 * min(seconds, budget) * math.sqrt(min(1.0, budget / seconds)) if is_finished else 0.0
        return Outcome(
            run_id=spec.run_id,
            seed=spec.seed,
            state="finished" if is_finished else "diverged",
            budget_seconds=budget,
            targets=TARGETS,
            reached=reached,
            validation_accuracy=0.8 * min(1.0, math.sqrt(budget / seconds)) if is_finished else None,
            result="",
            spent=tuple(min(one, budget) for one in at) if stops else None,
            area=0.8 * (rising + max(0.0, budget - seconds)) / budget if stops else None,
        )

    def search(self, of: Suite, draw: int = 0) -> Progress:
        return advanced(search(of, SPACE, of.points[0], self.algorithm, draw), self.outcome)

    def expected(self, options: Mapping[str, Any]) -> float:
        """The mean over many fresh seeds of the logarithm of the costs of these options, over that
        of the optimum. A run that diverges misses all targets."""
        whole = registry.find("algorithm", self.algorithm).make(options).options()
        return float(np.mean([self._cost(self.seconds(whole, 10**6 + seed)) for seed in range(50)]) - self._cost(self.least))

    def _cost(self, seconds: float) -> float:
        return float(np.mean([math.log(min(share * seconds, BUDGET)) for share in SHARES]))
