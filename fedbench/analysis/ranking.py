"""The rows of one group of a scenario, compared on one axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from fedbench import written
from fedbench.analysis import resolution as resolutions
from fedbench.analysis.best import Comparison
from fedbench.analysis.costs import TOO_EARLY
from fedbench.analysis.groups import Group
from fedbench.written import Ratio


@dataclass(frozen=True, eq=False)
class Ranking:
    """The rows of one group, compared on one axis.

    found: the comparison, None if no target gets a verdict.
    targets: those that get one.
    """

    group: Group
    axis: str
    targets: tuple[float, ...]
    found: Comparison | None

    @property
    def rows(self) -> tuple[str, ...]:
        return () if self.found is None else self.found.costs.rows

    @property
    def leader(self) -> str | None:
        """Returns the row with the smallest cost, None without a verdict or if nobody reaches a
        target."""
        return None if self.found is None or self.found.leader is None else self.rows[self.found.leader]

    @cached_property
    def best(self) -> list[str]:
        """Returns the set of the best, from the smallest cost to the largest; empty with fewer than
        three seeds."""
        if self.found is None or not self.found.is_known:
            return []
        return [self.rows[k] for k in self.found.order if self.found.in_set[k]]

    def cost(self, row: str) -> float | None:
        """Returns the geometric mean cost of a row, None without a verdict."""
        return None if self.found is None else math.exp(self.found.costs.score[self.rows.index(row)])

    def regret(self, row: str) -> Ratio | None:
        """Returns the cost of a row over that of the cheapest, None without a verdict."""
        return None if self.found is None else self.found.regret(self.rows.index(row))

    def shown(self, row: str) -> Ratio | None:
        """Returns the regret of a row that reaches a target with a verdict with some seed."""
        return self.regret(row) if self.found is not None and self.found.reaches[self.rows.index(row)] else None

    def pair(self, first: str, second: str) -> Ratio | None:
        """Returns the cost of a row over that of another, with the interval of this pair alone."""
        return None if self.found is None else self.found.pair(self.rows.index(first), self.rows.index(second))

    def misses(self, row: str) -> bool:
        """Returns whether a row misses a target that gets a verdict, with some seed."""
        return self.found is not None and bool(self.found.costs.missed[:, self.rows.index(row)].any())

    @cached_property
    def resolution(self) -> float | None:
        """Returns the smallest ratio that this board shows with probability 0.8."""
        return None if self.found is None else resolutions.resolution(self.found)

    @cached_property
    def stability(self) -> float | None:
        """Returns in what share of splits both halves of the seeds have the same leader."""
        return None if self.found is None else resolutions.stability(self.found)


def in_words(one: Ranking, quoted: Callable[[str], str]) -> str:
    """Returns in words which rows of a group cost least. `quoted` makes the name of a row fit for a
    text."""
    words = f"With {one.group.words}"
    if one.found is None:
        return f"{words}: no verdict, every target is {TOO_EARLY}."
    if one.leader is None:
        return f"{words}: no row holds a target."
    cost = written.cost(one.cost(one.leader), one.misses(one.leader), style=written.SHORT)
    told = f"{words}: {quoted(one.leader)} costs least, {cost}"
    if len(one.rows) == 1:
        return f"{told}; it is alone."
    if not one.found.is_known:
        return f"{told}. There are too few seeds to tell rows apart."
    others = [f"{quoted(row)} ({one.regret(row)})" for row in one.best if row != one.leader]
    return f"{told}. {'It may also be ' + ', '.join(others) if others else 'All others cost more'}."
