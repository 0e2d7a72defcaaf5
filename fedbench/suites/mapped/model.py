"""The draws of one axis, with what was measured and who is compared where."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedbench.analysis.map.draws import Draws
from fedbench.analysis.map.factors import Columns, Floats
from fedbench.analysis.map.prediction import Measured, measured, over_seeds
from fedbench.analysis.map.presence import Presence
from fedbench.analysis.map.runs import Flags
from fedbench.suites.design.schema import Design
from fedbench.suites.mapped import factors
from fedbench.suites.mapped.columns import Table
from fedbench.suites.mapped.fitting import Fitted


@dataclass(frozen=True, eq=False)
class Model:
    """The draws of one axis, with who runs where.

    points: the names of the points (N,).
    measured: what runs say at the points by themselves.
    seen: where the algorithms of the model have runs, and arrive.
    public_data: of every algorithm of the model (K,).
    """

    axis: str
    draws: Draws
    design: Design
    points: list[str]
    measured: Measured
    seen: Presence
    public_data: Flags

    @classmethod
    def of(cls, design: Design, found: Fitted, axis: str, points: Table) -> Model:
        """Reads what was fitted to the runs at some points."""
        draws = found.whole[axis]
        seen = measured(draws.fit.runs)
        public = np.isin(draws.algorithms, list(found.entered.public_data))
        levels = {name: points[name] for name in design.factors}
        return cls(axis, draws, design, list(points["point"]), seen, Presence.of(levels, seen.log, seen.is_bound), public)

    def compete(self, levels: Columns) -> Flags:
        """Returns which algorithms are compared at some levels (L, K)."""
        return factors.runs_there(self.design, self.seen, levels) & ~self.public_data

    @cached_property
    def error(self) -> Floats:
        """Returns the standard deviation over seeds of every measured log cost (N, K)."""
        return np.sqrt(over_seeds(self.draws.fit.runs, self.draws.fit.variances.noise))

    @property
    def names(self) -> list[str]:
        """Returns the algorithms that are compared."""
        return [name for name, is_public in zip(self.draws.algorithms, self.public_data, strict=True) if not is_public]
