"""The board of one scenario: when every row reaches the targets, and which rows the seeds can tell
apart.

Rows are ordered by their time to the targets. For one seed this is the mean over the targets of the
virtual seconds, where a miss counts with the budget. It is the area above the curve of targets
reached, so nobody has to choose one target. Source of the idea: Hansen et al. 2016 (COCO), runtime
over many targets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedbench.analysis.axes import AXES
from fedbench.analysis.duel import restricted
from fedbench.analysis.hits import first_hit
from fedbench.analysis.paired import BySeed, Pair, pairs, resolution, tie_classes
from fedbench.analysis.profiles import Problem, Times, pareto
from fedbench.analysis.statistics import Estimate, estimate
from fedbench.analysis.survival import median_arrival
from fedbench.errors import RecordError, UsageError
from fedbench.results.record import Record

CLOCK = 1e-9
"""The smallest time in virtual seconds that enters a ratio, since a target may be met at once."""


@dataclass(frozen=True)
class Arrival:
    """When one row reaches one target.

    reached: by seed the virtual seconds, infinite for a miss. A run that does not finish misses all
    targets.
    restricted: the mean time over seeds, in which a miss counts with the budget.
    median: the Kaplan-Meier median in virtual seconds, None if fewer than half of the seeds arrive.
    bytes: the mean number of bytes sent until the target, None unless every seed arrives.
    """

    target: float
    reached: BySeed
    restricted: Estimate
    median: float | None
    bytes: float | None

    @property
    def hits(self) -> int:
        return sum(math.isfinite(second) for second in self.reached.values())


@dataclass(frozen=True)
class Standing:
    """A row of the board.

    seconds: its time to the targets by seed.
    mean: the mean of `seconds`.
    unfinished: the number of runs that diverged, stalled or failed.
    place: the number of its tie class, 0 for the earliest, None for a reference, which is shown and
    not ranked.
    """

    row: str
    arrivals: tuple[Arrival, ...]
    seconds: BySeed
    mean: Estimate
    unfinished: int
    place: int | None

    @property
    def hits(self) -> int:
        """Returns the number of pairs of a seed and a target that it reaches."""
        return sum(one.hits for one in self.arrivals)

    @property
    def attempts(self) -> int:
        """Returns the number of pairs of a seed and a target."""
        return sum(len(one.reached) for one in self.arrivals)

    @property
    def solved(self) -> float:
        """Returns the share of its pairs of a seed and a target that it reaches."""
        return self.hits / self.attempts


@dataclass(frozen=True)
class Board:
    """The standings of one scenario.

    standings: all rows from the earliest to the latest, references among them.
    first: the earliest ranked row and all ranked rows that the seeds cannot tell from it. Rows that
    reach no target at all are left out.
    budget: virtual seconds.
    resolution: the smallest difference in the time to the targets that such a board shows with
    probability 0.8.
    """

    standings: tuple[Standing, ...]
    first: tuple[Standing, ...]
    budget: float
    resolution: float | None

    @property
    def ranked(self) -> list[Standing]:
        """Returns the standings without the references."""
        return [one for one in self.standings if one.place is not None]

    def of(self, row: str) -> Standing | None:
        """Returns the standing of a row, None if it is not on the board."""
        return next((one for one in self.standings if one.row == row), None)

    def is_first(self, row: str) -> bool:
        """Returns whether a row is among `first`."""
        return any(one.row == row for one in self.first)

    def front(self, target: float) -> list[str]:
        """Returns the ranked rows that no other beats in both seconds and bytes to a target, among
        those whose seeds all reach it."""
        costs = {
            standing.row: (one.restricted.mean, one.bytes)
            for standing in self.ranked
            for one in standing.arrivals
            if one.target == target and one.bytes is not None and one.restricted.mean is not None
        }
        return pareto(costs)


def board(rows: Mapping[str, Sequence[Record]], *, references: frozenset[str] = frozenset()) -> Board:
    """Returns the board of one scenario from the runs of its rows, one run a seed. The rows of
    `references` are not ranked.

    Raises:
        UsageError: if the scenario has no targets.
        RecordError: without rows, for a row without runs, or for rows of several scenarios.
    """
    scenarios = {run.meta["spec"]["scenario_hash"]: run.meta["spec"]["scenario"] for runs in rows.values() for run in runs}
    if len(scenarios) != 1 or not all(rows.values()):
        raise RecordError(f"board: expected rows with runs of one scenario, got {len(rows)} rows of {len(scenarios)} scenarios")
    (scenario,) = scenarios.values()
    targets, budget = scenario["targets"], float(scenario["budget"]["seconds"])
    if not targets:
        raise UsageError("board: the scenario has no targets, so there is no time to them")
    found = {row: tuple(_arrival(runs, target, budget) for target in targets) for row, runs in rows.items()}
    seconds = {row: _over_targets(several, budget) for row, several in found.items()}
    ranked = {row: own for row, own in seconds.items() if row not in references}
    least = float(scenario["evaluation"]["every_seconds"])
    compared = pairs(ranked, least=least)
    classes = tie_classes(ranked, compared, higher_is_better=False)
    place = {row: number for number, several in enumerate(classes) for row in several}
    standings = [
        Standing(
            row=row,
            arrivals=found[row],
            seconds=seconds[row],
            mean=estimate(seconds[row].values()),
            unfinished=sum(run.state != "finished" for run in rows[row]),
            place=place.get(row),
        )
        for row in sorted(rows, key=lambda row: float(np.mean(list(seconds[row].values()))))
    ]
    never = {one.row for one in standings if one.solved == 0}
    shows = resolution(ranked, len(ranked), least=least, still=never)
    return Board(tuple(standings), _first(standings, compared), budget, shows)


def _first(standings: Sequence[Standing], compared: Sequence[Pair]) -> tuple[Standing, ...]:
    """Returns the earliest ranked row and all that cannot be told from it. The tie classes do not
    say this: a class ends at the first row that can be told apart, and behind it there may be a row
    with more scatter that cannot."""
    ranked = [one for one in standings if one.place is not None and one.solved > 0]
    apart = {frozenset((pair.a, pair.b)) for pair in compared if pair.differs}
    return tuple(one for one in ranked if frozenset((ranked[0].row, one.row)) not in apart)


def _arrival(runs: Sequence[Record], target: Mapping[str, float | str], budget: float) -> Arrival:
    attempts = {run.seed: restricted(run, target) for run in runs}
    hits = sum(hit for hit, _ in attempts.values())
    sent = [first_hit(run, str(target["metric"]), float(target["value"]), AXES["bytes"]).reached for run in runs]
    return Arrival(
        target=float(target["value"]),
        reached={seed: second if hit else math.inf for seed, (hit, second) in attempts.items()},
        restricted=estimate(second for _, second in attempts.values()),
        median=median_arrival([second if hit else None for hit, second in attempts.values()], [budget] * len(runs)),
        bytes=float(np.mean([one for one in sent if one is not None])) if hits == len(runs) else None,
    )


def _over_targets(several: Sequence[Arrival], budget: float) -> BySeed:
    seeds = several[0].reached
    return {seed: float(np.mean([min(one.reached[seed], budget) for one in several])) for seed in seeds}


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
