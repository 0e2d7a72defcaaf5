"""The goal of a run, and when it is held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedbench.results import holding
from fedbench.scenarios.grid import Grid
from fedbench.scenarios.schema import Scenario, Target


class GoalHeld(Exception):
    """Ends a run: its last row is the first at which the goal was met for long enough."""


class Goal:
    """A target, and the rows of a run that meet it. It is held where it is met for the
    `hold_points`-th time in a row, or with None by the rules of reaching. `sign` is -1.0 if its
    metric is met at or below its value."""

    def __init__(self, target: Target, grid: Grid, hold_points: int | None = 1, sign: float = 1.0) -> None:
        self.target, self.grid, self.hold_points, self.sign = target, grid, hold_points, sign
        self._met = self._seen = 0  # how many of the last rows meet it in a row, and how many rows were seen
        self._begin = 0  # the first of the rows that meet it up to the last row, or to the one before

    def see(self, rows: Sequence[Mapping[str, float]], complete: int) -> None:
        """Counts how many of the first `complete` rows, which have metrics, meet the goal in a row
        at their end. Values are compared in float32, since the curves keep them so. Raises GoalHeld
        if there are enough."""
        if self._seen == complete:  # as after most updates
            return
        for place, row in enumerate(rows[self._seen : complete], self._seen):
            self._begin = self._begin if self._met else place
            is_met = self.sign * np.float32(row[self.target.metric]) >= self.sign * self.target.value
            self._met = self._met + 1 if is_met else 0
        self._seen = complete
        if self._is_held(rows):
            raise GoalHeld

    def may_be_held(self, rows: Sequence[Mapping[str, float]]) -> bool:
        """Returns whether it is held at the last row if all rows that were not seen meet it."""
        if self.hold_points is not None:
            return self._met + len(rows) - self._seen >= self.hold_points
        return self._is_certain(rows, self._begin if self._met else self._seen, len(rows), last_is_above=True)

    def _is_held(self, rows: Sequence[Mapping[str, float]]) -> bool:
        """Returns whether the last rows that meet it are enough. They end with the last row of all,
        or just before it."""
        if self.hold_points is not None:
            return self._met >= self.hold_points
        if not self._met and self._begin == self._seen - 1:
            return False  # no row meets the goal, as in most of a run
        return self._is_certain(rows, self._begin, self._seen, last_is_above=self._met > 0)

    def _is_certain(self, rows: Sequence[Mapping[str, float]], begin: int, end: int, *, last_is_above: bool) -> bool:
        """Returns whether rows hold it, all of which meet it, but perhaps the last one."""
        above = np.ones(end - begin, np.bool_)
        above[-1] = last_is_above
        at_ns = np.array([self.grid.time_ns(place) for place in range(begin, end)], np.int64)
        version = np.array([row["version"] for row in rows[begin:end]], np.int64)
        return holding.stop(above, at_ns, version) is not None


def goal_of(scenario: Scenario) -> Goal | None:
    """Returns the goal at which runs of a scenario stop, or None."""
    target, budget = scenario.goal, scenario.budget
    if target is None:
        return None
    hold_points = budget.hold_points if budget.hold == "points" else None
    return Goal(target, scenario.evaluation.grid, hold_points, scenario.sign(target.metric))
