"""Which algorithms are taken to run at a place of a design, by where they have runs.

An algorithm may be refused at a level of a factor: where fewer than all clients may be at work, or
where clients leave. And it may be so slow or so unstable at a level that it reaches nothing there.
What it costs at such a place would be made up by the model from other places. So a level is open to
an algorithm if it has runs at most of the points with this level, and at one of them misses
nothing. Levels are closed one by one, that with the smallest share of runs first, and points at a
closed level no longer count. So a level is not closed because another one refuses the algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedbench.analysis.map.factors import Columns, Floats
from fedbench.analysis.map.runs import Flags

MOST = 0.5
"""More than this share of the points has runs where a level is open. Whoever needs everybody may
have them by chance at a point where clients come and go."""
Level = tuple[str, Any]


@dataclass(frozen=True, eq=False)
class Presence:
    """Where algorithms have runs.

    levels: of every factor at the points (N,).
    has_runs: of every point and algorithm (N, K).
    arrives: whether the algorithm misses no target there, with any seed (N, K).
    """

    levels: Mapping[str, Sequence[Any]]
    has_runs: Flags
    arrives: Flags

    @classmethod
    def of(cls, levels: Columns, log: Floats, is_bound: Flags) -> Presence:
        """Reads what was measured: log costs (N, K), NaN without runs, and which are bounds."""
        has_runs = ~np.isnan(log)
        return cls(levels, has_runs, has_runs & ~is_bound)

    def at(self, near: Mapping[str, Sequence[Any]]) -> Flags:
        """Returns which algorithms are taken to run at a place (K,).

        Args:
            near: of every factor the levels of points next to the place: its own if points have it,
                else both neighbours. All of them have to be open.
        """
        wanted = {(name, level) for name, several in near.items() for level in several}
        return np.array([wanted <= own for own in self.open_to], np.bool_)

    @cached_property
    def open_to(self) -> list[frozenset[Level]]:
        """Returns the levels that are open to each algorithm."""
        return [self._open_to(k) for k in range(self.has_runs.shape[1])]

    def _open_to(self, k: int) -> frozenset[Level]:
        at = {
            (name, level): np.array([one == level for one in column])
            for name, column in self.levels.items()
            for level in dict.fromkeys(column)
        }
        inside = np.ones(len(self.has_runs), np.bool_)
        while True:
            shares = {one: self.has_runs[here & inside, k].mean() for one, here in at.items() if (here & inside).any()}
            worst = min(shares, key=shares.__getitem__, default=None)
            if worst is None or shares[worst] > MOST:
                return frozenset(one for one in shares if self.arrives[at[one] & inside, k].any())
            inside &= ~at[worst]
