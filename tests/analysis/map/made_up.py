"""Runs over a small design whose model is known, so that a fit can be compared with the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench.analysis.map.factors import INTERACTION, LEVEL, Design, Factor

Floats = npt.NDArray[np.float64]
FACTORS = (
    Factor("skew", kinds=("iid", "dirichlet", "two_class")),
    Factor("spread", has_square=True),
    Factor("at_work", is_log=True, has_square=True),
    Factor("steps", is_log=True),
)
PAIRS = (("spread", "at_work"), ("skew", "spread"), ("steps", "at_work"), ("spread", "steps"))


def levels(generator: np.random.Generator, count: int) -> dict[str, list[Any]]:
    """The levels of all factors at random."""
    return {
        "skew": [str(one) for one in generator.choice(FACTORS[0].kinds, count)],
        "spread": [float(one) for one in generator.choice([0.0, 0.5, 1.2], count)],
        "at_work": [int(one) for one in generator.choice([5, 10, 30, 100], count)],
        "steps": [int(one) for one in generator.choice([2, 10, 30], count)],
    }


def points(generator: np.random.Generator, count: int) -> dict[str, list[Any]]:
    """A design of that many points at random."""
    return {"point": [f"p{n}" for n in range(count)], **levels(generator, count)}


@dataclass(frozen=True)
class World:
    """How costs come about. Standard deviations are on the log scale."""

    algorithms: int = 6
    departure: tuple[float, float, float, float] = (0.4, 0.15, 0.08, 0.1)  # level, main, square, interaction
    mean: tuple[float, float, float, float] = (3.0, 0.3, 0.1, 0.1)
    fit: float = 0.1
    point: float = 0.1
    seed: float = 0.1
    tuning: float = 0.0
    noise: Sequence[float] = field(default=(0.1, 0.15, 0.2, 0.25, 0.15, 0.2))

    def truth(self, generator: np.random.Generator, design: Design) -> Truth:
        """Coefficients at random."""
        shape = (self.algorithms, len(design.terms))
        departure, mean = (np.array(one)[design.groups] for one in (self.departure, self.mean))
        common = generator.standard_normal(shape[1]) * mean
        common[design.groups == LEVEL] = mean[0]
        return Truth(self, design, common + generator.standard_normal(shape) * departure)


@dataclass(frozen=True)
class Truth:
    """What is true: the coefficients (K, P) of a design."""

    world: World
    design: Design
    coefficients: Floats

    def without_interactions(self) -> Truth:
        return replace(self, coefficients=np.where(self.design.groups == INTERACTION, 0, self.coefficients))

    def expected(self, generator: np.random.Generator, at: dict[str, list[Any]]) -> Floats:
        """The expected log costs (L, K) at levels, with lack of fit."""
        smooth = self.design.matrix(at) @ self.coefficients.T
        shared = generator.standard_normal((len(smooth), 1)) * self.world.point
        return np.asarray(smooth + shared + generator.standard_normal(smooth.shape) * self.world.fit)

    def runs(
        self,
        generator: np.random.Generator,
        names: Sequence[str],
        expected: Floats,
        *,
        seeds: Sequence[int] = (3,),
        censored: float = 0.0,
    ) -> dict[str, list[Any]]:
        """Columns of runs with these expected log costs. The first half of the algorithms by cost
        goes on to seeds[1] seeds. Of all runs about the share `censored` is censored, at a budget
        that is one for all."""
        noise = np.array(self.world.noise)[: self.world.algorithms]
        most = max(seeds)
        shape = (len(names), self.world.algorithms, most)
        log = expected[:, :, None] + generator.standard_normal((shape[0], 1, most)) * self.world.seed
        log = log + generator.standard_normal(shape) * noise[:, None]
        budget = float(np.quantile(log[:, :, : min(seeds)], 1 - censored)) if censored else np.inf
        rows = []
        for n, name in enumerate(names):
            goes_on = np.argsort(expected[n])[: max(2, self.world.algorithms // 2)]
            for k in range(self.world.algorithms):
                rows += [
                    (f"a{k}", name, seed, float(np.exp(min(log[n, k, seed], budget))), bool(log[n, k, seed] > budget))
                    for seed in range(most if k in goes_on else min(seeds))
                ]
        return dict(zip(("algorithm", "point", "seed", "cost", "is_censored"), map(list, zip(*rows, strict=True)), strict=True))
