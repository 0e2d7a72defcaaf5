"""The board of one scenario: what every row spends until it holds the targets, and, within each
group of rows that share a system, which ones may be the best.

The cost of a row is the geometric mean, over seeds and targets, of what it spends until it holds a
target. Nobody has to choose one target. Only targets that get a verdict enter. Source of the idea:
Hansen et al. 2016 (COCO), runtime over many targets.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedbench.analysis.axes import AXES, SECONDS
from fedbench.analysis.best import compare
from fedbench.analysis.costs import Costs, Reached, reached
from fedbench.analysis.gathered import Gathered, Rows, gathered
from fedbench.analysis.groups import Group
from fedbench.analysis.profiles import Problem, Times
from fedbench.analysis.ranking import Ranking
from fedbench.analysis.reaching import RULES, Rule
from fedbench.analysis.scatter import Prior, prior_of
from fedbench.analysis.survival import median_arrival
from fedbench.results.record import Record
from fedbench.written import Ratio

BOARD_AXES = ("seconds", "gradient_evaluations", "bytes")
"""The axes on which every group has a board."""
BySeed = Mapping[int, float]


@dataclass(frozen=True)
class Arrival:
    """When one row holds one target.

    has_verdict: whether the target enters the cost of the row's group.
    reached: by seed the virtual seconds, infinite for a miss.
    cost: the geometric mean over seeds of the seconds, where a miss counts with what the run had
    spent when it was last seen. With fewer hits than seeds it is a lower bound.
    median: the Kaplan-Meier median in seconds, None if fewer than half of the seeds arrive.
    bytes: the geometric mean of the bytes sent by then, None unless every seed arrives.
    """

    target: float
    has_verdict: bool
    reached: BySeed
    cost: float
    median: float | None
    bytes: float | None

    @property
    def hits(self) -> int:
        return sum(math.isfinite(second) for second in self.reached.values())


@dataclass(frozen=True)
class Standing:
    """A row of the board.

    group: its system, in which it is compared.
    ranking: that of its group in virtual seconds, None for a reference, which is shown and not
    compared.
    arrivals: what becomes of every target.
    unfinished: the number of runs that diverged or stalled.
    under_way: the mean number of clients at work, None if the records do not say it.
    """

    row: str
    group: Group
    ranking: Ranking | None
    arrivals: tuple[Arrival, ...]
    unfinished: int
    under_way: float | None

    @property
    def attempts(self) -> int:
        """Returns the number of pairs of a seed and a target."""
        return sum(len(one.reached) for one in self.arrivals)

    @property
    def hits(self) -> int:
        """Returns the number of pairs of a seed and a target that it reaches."""
        return sum(one.hits for one in self.arrivals)

    @property
    def solved(self) -> float:
        """Returns the share of its pairs of a seed and a target that it reaches."""
        return self.hits / self.attempts

    @property
    def decided(self) -> list[Arrival]:
        """Returns the arrivals at the targets that get a verdict; at all of them if none does."""
        return [one for one in self.arrivals if one.has_verdict] or list(self.arrivals)

    @property
    def cost(self) -> float:
        """Returns the geometric mean of the seconds to `decided`."""
        return math.exp(math.fsum(math.log(one.cost) for one in self.decided) / len(self.decided))

    @property
    def is_bound(self) -> bool:
        """Returns whether the cost is only a lower bound, because one of `decided` is missed."""
        return any(one.hits < len(one.reached) for one in self.decided)

    @property
    def regret(self) -> Ratio | None:
        """Returns its cost over that of the cheapest row of its group, None if it is not compared
        or reaches no target with a verdict."""
        return None if self.ranking is None else self.ranking.shown(self.row)

    @property
    def is_best(self) -> bool:
        """Returns whether it is in the set of the best of its group."""
        return self.ranking is not None and self.row in self.ranking.best


@dataclass(frozen=True)
class Board:
    """All rows of one scenario.

    standings: references first, then group by group, from the smallest cost to the largest.
    rankings: by group and axis.
    compared: by group the runs of its rows.
    budget: virtual seconds.
    """

    standings: tuple[Standing, ...]
    rankings: Mapping[tuple[Group, str], Ranking]
    compared: Mapping[Group, Rows]
    budget: float

    @functools.cached_property
    def leaders(self) -> Mapping[tuple[Group, Rule], str | None]:
        """By group and rule of reaching the row with the smallest cost in seconds."""
        found: dict[tuple[Group, Rule], str | None] = {}
        for group, rows in self.compared.items():
            ranking = self.rankings[group, SECONDS.name]
            found[group, RULES[0]] = ranking.leader
            found |= {(group, rule): _leader(rows, rule, ranking.targets) for rule in RULES[1:]}
        return found

    @property
    def groups(self) -> list[Group]:
        """Returns the groups, from the fewest clients at work to the most."""
        return sorted({group for group, _ in self.rankings})

    def ranking(self, group: Group, axis: str = SECONDS.name) -> Ranking:
        return self.rankings[group, axis]

    def members(self, group: Group) -> list[str]:
        """Returns the rows of a group, from the smallest cost to the largest."""
        return [one.row for one in self.ranked if one.group == group]

    @property
    def ranked(self) -> list[Standing]:
        """Returns the standings without the references."""
        return [one for one in self.standings if one.ranking is not None]

    def of(self, row: str) -> Standing | None:
        """Returns the standing of a row, None if it is not on the board."""
        return next((one for one in self.standings if one.row == row), None)


def board(rows: Rows, *, references: frozenset[str] = frozenset(), groups: Mapping[str, Group] | None = None) -> Board:
    """Returns the board of one scenario, see `boards`."""
    return boards({"": rows}, references=references, groups={"": groups or {}})[""]


def boards(
    points: Mapping[str, Rows],
    *,
    references: frozenset[str] = frozenset(),
    groups: Mapping[str, Mapping[str, Group]] | None = None,
) -> dict[str, Board]:
    """Returns the boards of several scenarios, by point. What is known of the scatter of rows is
    learnt from all of them together.

    Args:
        points: by point, the runs of every row, one a seed, the same seeds for all.
        references: rows that are shown and not compared.
        groups: by point, the groups of the rows; by default what their records say.

    Raises:
        UsageError: if a scenario has no targets.
        RecordError: without rows, for rows of several scenarios, or with different seeds.
    """
    found = {point: gathered(rows, references, (groups or {}).get(point, {})) for point, rows in points.items()}
    priors = {axis: prior_of(costs for one in found.values() for costs in one.costs(axis)) for axis in BOARD_AXES}
    return {point: _board(points[point], one, priors) for point, one in found.items()}


def _board(rows: Rows, found: Gathered, priors: Mapping[str, Prior]) -> Board:
    rankings: dict[tuple[Group, str], Ranking] = {}
    for group, (of_group, targets) in found.members.items():
        for axis in BOARD_AXES:
            compared = compare(of_group.on(AXES[axis]).at(targets), priors[axis]) if targets else None
            rankings[group, axis] = Ranking(group, axis, targets, compared)
    standings = []
    for row, runs in rows.items():
        reach, group = found.of(row), found.groups[row]
        ranking = None if reach is found.references else rankings[group, SECONDS.name]
        standings.append(_standing(row, runs, reach, ranking, group))
    standings.sort(key=lambda one: (one.ranking is not None, one.group, one.hits == 0, one.cost, one.row))
    (budget,) = {float(run.spec.scenario.budget.seconds) for runs in rows.values() for run in runs}
    members = {group: {row: rows[row] for row in of_group.rows} for group, (of_group, _) in found.members.items()}
    return Board(tuple(standings), rankings, members, budget)


def _leader(rows: Rows, rule: Rule, targets: Sequence[float]) -> str | None:
    if not targets:
        return None
    found = reached(rows, rule).on(SECONDS).at(targets)
    compared = compare(found)
    return None if compared.leader is None else found.rows[compared.leader]


def _standing(row: str, runs: Sequence[Record], found: Reached, ranking: Ranking | None, group: Group) -> Standing:
    seconds, sent = (found.on(AXES[axis]).among([row]) for axis in ("seconds", "bytes"))
    budget = float(runs[0].spec.scenario.budget.seconds)
    busy = [share for run in runs if (share := run.ledger.busy_fraction) is not None]
    return Standing(
        row=row,
        group=group,
        ranking=ranking,
        arrivals=tuple(_arrival(seconds, sent, t, ranking, budget) for t in range(len(seconds.targets))),
        unfinished=sum(run.state != "finished" for run in runs),
        under_way=float(np.mean(busy)) * group.clients if len(busy) == len(runs) else None,
    )


def _arrival(seconds: Costs, sent: Costs, t: int, ranking: Ranking | None, budget: float) -> Arrival:
    times, missed = seconds.spent[:, 0, t], seconds.missed[:, 0, t]
    reached = np.where(missed, math.inf, times)
    return Arrival(
        target=seconds.targets[t],
        has_verdict=ranking is not None and seconds.targets[t] in ranking.targets,
        reached=dict(zip(seconds.seeds, reached.tolist(), strict=True)),
        cost=float(np.exp(np.log(times).mean())),
        median=median_arrival(reached, np.minimum(budget, times)),
        bytes=None if missed.any() else float(np.exp(sent.log[:, 0, t].mean())),
    )


def times(boards: Mapping[str, Board], row: str) -> Times:
    """Returns the times of a row on all boards that have it, for profiles. A problem there is named
    by the key of its board and by its target."""
    seconds, budget = {}, {}
    for name, one in boards.items():
        found = one.of(row)
        for arrival in found.arrivals if found is not None else ():
            problem = Problem(name, arrival.target)
            seconds[problem], budget[problem] = list(arrival.reached.values()), one.budget
    return Times(seconds, budget)
