"""The schema of a race: after how many seeds the rows of a group are looked at, and how sure a look
has to be."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fedbench.analysis.statistics import LEAST_SEEDS, LEVEL
from fedbench.scenarios.base import Float, Integer, Part

MOST_ERROR = 1 - LEVEL


class Look(Part):
    """One look at the rows that are left, after so many `seeds`. It may drop the best row with at
    most the probability `level`."""

    seeds: Annotated[Integer, Field(ge=LEAST_SEEDS, le=10_000)]
    level: Annotated[Float, Field(gt=0, le=MOST_ERROR)]


class Race(Part):
    """The looks of a race, in order. Their levels add up to at most 0.05, so that the best row is
    never dropped with a probability of at least 95 %. `points` are those with all looks; at every
    other point the race ends with the first one. Without it all points have all looks."""

    looks: Annotated[tuple[Look, ...], Field(min_length=1, max_length=20)]
    points: Annotated[tuple[str, ...], Field(min_length=1)] | None = None

    def _check(self) -> None:
        seeds = [look.seeds for look in self.looks]
        if seeds != sorted(set(seeds)):
            raise ValueError(f"looks: every look has more seeds than the one before, got {', '.join(map(str, seeds))}")
        if (total := sum(look.level for look in self.looks)) > MOST_ERROR + 1e-9:
            raise ValueError(f"looks: the levels add up to at most {MOST_ERROR:.2g}, got {total:.6g}")

    def at(self, point: str) -> tuple[Look, ...]:
        """Returns the looks at a point."""
        return self.looks if self.points is None or point in self.points else self.looks[:1]
