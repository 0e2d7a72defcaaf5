"""The board of one scenario: when every row reaches the targets, and whom the seeds can tell apart.

What rows are ordered by is their time to the targets: of every seed the mean over the targets of
the virtual seconds, where a miss counts with the budget. It is the area above the curve of targets
reached, so it needs no choice of one target. Source of the idea: Hansen et al. 2016 (COCO), runtime
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
from fedbench.analysis.survival import arrivals
from fedbench.errors import RecordError, UsageError
from fedbench.results.record import Record

CLOCK = 1e-9
"""Virtual seconds. No time counts as less in a ratio, since a target may be met at once."""


@dataclass(frozen=True)
class Arrival:
    """One row and one target. `reached`: by seed the virtual seconds, infinite for a miss; a run
    that does not finish misses all. `restricted`: over seeds, a miss with the budget. `median`:
    Kaplan-Meier's, None if fewer than half arrive. `bytes`: the mean of what was sent until then,
    None unless every seed arrives."""

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
    """A row of the board. `seconds`: by seed its time to the targets; `mean`: over seeds;
    `unfinished`: runs that diverged, stalled or failed; `place`: of its tie class, the earliest is
    0, None for a reference, which is shown and not ranked."""

    row: str
    arrivals: tuple[Arrival, ...]
    seconds: BySeed
    mean: Estimate
    unfinished: int
    place: int | None

    @property
    def solved(self) -> float:
        """The share of its targets and seeds that it reaches."""
        return sum(one.hits for one in self.arrivals) / sum(len(one.reached) for one in self.arrivals)


@dataclass(frozen=True)
class Board:
    """Standings from the earliest to the latest, references among them. `first`: the earliest
    ranked row and all ranked rows that cannot be told from it, without those that reach no target
    at all. `resolution`: the smallest difference in the time to the targets that such a board shows
    with probability 0.8."""

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

    def front(self, target: float) -> list[str]:
        """Returns the ranked rows that no other beats in both seconds and bytes to a target, among
        those whose seeds all reach it."""
        costs = {}
        for standing in self.standings:
            for one in standing.arrivals:
                if (
                    one.target == target
                    and one.bytes is not None
                    and one.restricted.mean is not None
                    and standing.place is not None
                ):
                    costs[standing.row] = (one.restricted.mean, one.bytes)
        return pareto(costs)


def board(rows: Mapping[str, Sequence[Record]], *, references: frozenset[str] = frozenset()) -> Board:
    """Returns the board of one scenario from the runs of its rows, one run a seed. `references`:
    rows that are not ranked.

    UsageError if the scenario has no targets; RecordError without rows, for a row without runs, or
    for rows of several scenarios.
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
    """Classes do not say this: a class ends at its first row that is told apart, behind which a row
    that scatters more may not be."""
    ranked = [one for one in standings if one.place is not None and one.solved > 0]
    apart = {frozenset((pair.a, pair.b)) for pair in compared if pair.differs}
    return tuple(one for one in ranked if frozenset((ranked[0].row, one.row)) not in apart)


def _arrival(runs: Sequence[Record], target: Mapping[str, float | str], budget: float) -> Arrival:
    attempts = {run.seed: restricted(run, target) for run in runs}
    hits = sum(hit for hit, _ in attempts.values())
    sent = [first_hit(run, str(target["metric"]), float(target["value"]), AXES["bytes"]).reached for run in runs]
    curve = arrivals([second if hit else None for hit, second in attempts.values()], [budget] * len(runs))
    return Arrival(
        target=float(target["value"]),
        reached={seed: second if hit else math.inf for seed, (hit, second) in attempts.items()},
        restricted=estimate(second for _, second in attempts.values()),
        median=curve.median,
        bytes=float(np.mean([one for one in sent if one is not None])) if hits == len(runs) else None,
    )


def _over_targets(several: Sequence[Arrival], budget: float) -> BySeed:
    seeds = several[0].reached
    return {seed: float(np.mean([min(one.reached[seed], budget) for one in several])) for seed in seeds}


def times(boards: Mapping[str, Board], row: str) -> Times:
    """Returns what profiles need of a row: the seconds of all targets of all boards on which it is,
    by the boards' names."""
    seconds, budget = {}, {}
    for name, one in boards.items():
        found = one.of(row)
        for arrival in found.arrivals if found is not None else ():
            problem = Problem(name, arrival.target)
            seconds[problem], budget[problem] = list(arrival.reached.values()), one.budget
    return Times(seconds, budget)
