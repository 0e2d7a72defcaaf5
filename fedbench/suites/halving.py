"""Tunes options by successive halving: many trials are tried briefly, the better ones for longer,
and what wins has to be better than the default options beyond noise, and not at the edge of what
works.

The rule, for one algorithm at one point; it was fixed before any result.

1. The trials of rung 0 are scrambled Sobol' points of the search space. Every later rung has the
   best of the one before. The last rung also has the default options and the published ones of the
   suite. Options that equal those of an earlier trial are no trial of their own.
2. A trial is run with the seeds of its rung, for the rung's share of the time budget, and measured
   on the validation part. No two rungs share a seed, so what was lucky in one is not in the next. A
   run stops as soon as it is certain that its last target is held by the rules of reaching: all
   that is compared is known then. Fixed numbers of evaluations would not do, since the rules count
   time and models.
3. A trial with a run that does not finish is out.
4. Fewest misses win: pairs of a seed and a target that is not held. Among equals, before the last
   rung, the largest mean area under the validation curve, see `area_under`; in the last rung the
   smallest mean logarithm of the seconds until targets are held, in which a miss counts with the
   budget. Among equals, the first.
5. A trial of the last rung can take the place of the default options if it is cheaper beyond noise:
   the lower bound of log(cost of the default / cost of the trial), paired by seed and moderated
   over all trials of the rung as on a board (`fedbench.analysis.best`), is above 0. There a miss
   counts as on a board, too. The level is
   1 - 0.1 / m, one-sided, for m trials that may do so. So where no trial is better, the default
   options stay with a probability of about 90 %. If the default options are out, all may.
6. It must also be stable. Each of its rates is multiplied by 1.25 alone, then all of them, and each
   such trial is run as in the last rung. All runs have to finish, and none of these trials may cost
   more than 1.5 times as much, by the mean of rule 4. If it fails, the next best of those that pass
   rule 5 is looked at. If none is left, the default options stay, whatever became of them.
7. All trials are kept, those of rule 6 as a rung behind the last one.

Where a suite has anchors, this is the search at them. `elsewhere` is the one at other points.

A run that stops at its targets does not show whether it would have diverged later; rule 6 is there
for that too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from fedbench.analysis.best import compare
from fedbench.analysis.costs import Costs
from fedbench.analysis.scatter import prior_of
from fedbench.engine.spec import RunSpec
from fedbench.errors import RecordError, UsageError
from fedbench.scenarios.evaluation_parts import EvaluationPart
from fedbench.suites.anchors import Near
from fedbench.suites.space import Space
from fedbench.suites.suite import Point, Suite
from fedbench.suites.tuning import Choice, Outcome, Score, Search, Trial, choice, scramble, tuning_of
from fedbench.suites.tuning_parts import Halving, Rung

DEFAULT = 0  # the number of the trial with the default options, elsewhere with the anchor's
NOISE = 0.1  # the probability that the default options give way to none that is better
STEEPER = 1.25  # by how much rates are multiplied
DEARER = 1.5  # how many times as much a trial with such rates may cost
LEAST_SECONDS = 1e-9  # as on a board

T = TypeVar("T")
Runs = Mapping[int, Sequence[Outcome]]
"""The outcomes of the runs of trials, by number of the trial."""


def halving(suite: Suite, space: Space, point: Point, selector: str, draw: int) -> Search:
    """Returns the search of the rule above."""
    part = tuning_of(suite)
    assert isinstance(part, Halving)
    drawn = space.trials(type(suite.algorithm(selector)), part.trials, scramble(suite, space, point, selector, draw))
    several = _Trials(suite, space, point, selector, draw, drawn, suite.published(selector))
    return _halved(several, part.rungs, iter(suite.tuning_seeds(draw)))


def elsewhere(suite: Suite, space: Space, point: Point, selector: str, anchor: Choice, near: Near) -> Search:
    """Returns the search at a point that is no anchor. Some options are drawn again, the others are
    those that were chosen at the nearest anchor. The anchor's options as they are take the place of
    the default ones, which had their chance there. They are in every rung, and stay without more
    ado if they are the best of one before the last. All else is the rule above."""
    part = tuning_of(suite)
    assert isinstance(part, Halving)
    assert part.anchors is not None
    rungs, cls = part.anchors.elsewhere.rungs, type(suite.algorithm(selector))
    again = space.only(cls, part.anchors.elsewhere.options)
    found = [] if again is None else again.trials(cls, rungs[0].trials, scramble(suite, space, point, selector, 0))[1:]
    drawn = [one for options in found if _takes(suite, point, selector, one := {**anchor.options, **options})]
    seeds = itertools.islice(suite.tuning_seeds(0), sum(rung.seeds for rung in part.rungs), None)
    chosen = yield from _halved(_Trials(suite, space, point, selector, 0, [anchor.options, *drawn], [], lent=True), rungs, seeds)
    return replace(chosen, anchor=near)


@dataclass(frozen=True)
class _Trials:
    """The trials of an algorithm at a point. `drawn` has options by number of the trial, the
    default ones first; `others` has those that are in the last rung as the default ones are. If the
    first are `lent` by an anchor, they are in every rung."""

    suite: Suite
    space: Space
    point: Point
    selector: str
    draw: int
    drawn: Sequence[Mapping[str, Any]]
    others: Sequence[Mapping[str, Any]]
    lent: bool = False

    def trial(self, number: int, options: Mapping[str, Any], i: int, rung: Rung, seeds: Iterable[int]) -> Trial:
        """Returns a trial in the rung of number `i`."""
        scenario = self.suite.scenario_at(self.point, validation=True, rung=rung)
        algorithm = self.suite.algorithm(self.selector, options, self.point)
        specs = tuple(RunSpec(scenario, algorithm, seed) for seed in seeds)
        return Trial(self.point.name, self.selector, number, dict(options), specs, i, self.draw)

    def is_drawn(self, number: int) -> bool:
        return 0 < number < len(self.drawn)

    def candidates(self) -> dict[int, Mapping[str, Any]]:
        """Returns the options by number. The first of equal ones is there, where those that are not
        drawn precede the drawn ones."""
        numbered = dict(enumerate([*self.drawn, *self.others]))
        first: dict[str, int] = {}
        for number in sorted(numbered, key=lambda number: (self.is_drawn(number), number)):
            first.setdefault(repr(self.suite.algorithm(self.selector, numbered[number], self.point).options()), number)
        return {number: numbered[number] for number in sorted(first.values())}


def _halved(made: _Trials, rungs: Sequence[Rung], seeds: Iterator[int]) -> Search:
    """Returns the search with these rungs, which take their seeds one after another."""
    suite, point, options = made.suite, made.point, made.candidates()
    incumbents = [number for number in options if not made.is_drawn(number)]
    alive = [number for number in options if made.is_drawn(number)]
    everything: list[Outcome] = []
    for i, rung in enumerate(rungs):
        is_last = i == len(rungs) - 1
        own = list(itertools.islice(seeds, rung.seeds))
        asked = alive[: rung.trials] + (incumbents if is_last or made.lent else [])
        found = yield [made.trial(number, options[number], i, rung, own) for number in asked]
        everything += itertools.chain(*found)
        runs = dict(zip(asked, found, strict=True))
        order, scores = ranked(runs, is_last=is_last), {number: Score.of(runs[number]) for number in asked}
        if not is_last and order[:1] == [DEFAULT]:
            return choice(DEFAULT, options[DEFAULT], scores, everything, trials=len(options))
        alive = [number for number in order if is_last or number not in incumbents]
    best = DEFAULT
    for number in challengers(runs, alive, suite.scenario_at(point, validation=True).evaluation):
        steeper = dict(enumerate(_steeper(suite, made.space, point, made.selector, options[number]), max(options) + 1))
        options |= steeper
        found = yield [made.trial(one, steeper[one], len(rungs), rung, own) for one in steeper]
        everything += itertools.chain(*found)
        if all(is_stable(of_one, runs[number]) for of_one in found):
            best = number
            break
    return choice(best, options[best], scores, everything, trials=len(options))


def ranked(runs: Runs, *, is_last: bool) -> list[int]:
    """Returns the trials that are not out from the best to the worst."""

    def key(number: int) -> tuple[int, float, int]:
        of_one = runs[number]
        second = log_cost(of_one) if is_last else -math.fsum(_known(run.area, run) for run in of_one) / len(of_one)
        return Score.of(of_one).misses, second, number

    return sorted((number for number, of_one in runs.items() if all(run.finished for run in of_one)), key=key)


def log_cost(runs: Sequence[Outcome]) -> float:
    """Returns the mean over seeds and targets of the logarithm of the seconds until targets are
    held."""
    return float(np.mean([math.log(max(seconds, LEAST_SECONDS)) for run in runs for _, seconds in run.attempts]))


def _known(value: T | None, run: Outcome) -> T:
    """Returns what a run of a halving has. Raises RecordError if it is missing, as in a table that
    somebody hands in."""
    if value is None:
        raise RecordError(f"run {run.run_id} has no `spent` and `area`, which runs of a halving have")
    return value


def challengers(runs: Runs, order: Sequence[int], evaluation: EvaluationPart) -> list[int]:
    """Returns the trials that are better than the default options beyond noise, from the best on.

    Args:
        runs: the outcomes of the last rung.
        order: its trials that are not out, from the best to the worst.
        evaluation: the times at which models were evaluated.
    """
    others = [number for number in order if number != DEFAULT]
    if DEFAULT not in order or not others:
        return others
    found = _costs({number: runs[number] for number in order}, evaluation)
    compared, level = compare(found, prior_of([found])), 1 - 2 * NOISE / len(others)
    default = order.index(DEFAULT)
    return [number for number in others if compared.pair(default, order.index(number), level).low > 1]


def _costs(runs: Runs, evaluation: EvaluationPart) -> Costs:
    """Returns the costs of trials as a board has those of rows."""
    first = next(iter(runs.values()))
    spent = np.stack([np.array([_known(run.spent, run) for run in of_one]) for of_one in runs.values()], axis=1)
    spent = np.maximum(spent, LEAST_SECONDS)
    missed = np.stack([np.array([[one is None for one in run.reached] for run in of_one]) for of_one in runs.values()], axis=1)
    before = np.maximum(spent - np.vectorize(evaluation.step_seconds, otypes=[np.float64])(spent), LEAST_SECONDS)
    return Costs(
        rows=tuple(map(str, runs)),
        seeds=tuple(run.seed for run in first),
        targets=first[0].targets,
        spent=spent,
        missed=missed,
        step=np.where(missed, 0.0, np.log(spent / before)),
    )


def _steeper(suite: Suite, space: Space, point: Point, selector: str, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the options with each rate STEEPER times as large, and with all of them. A rate is
    left out if published options leave it to the run, or if the algorithm does not take it so
    large."""
    algorithm = suite.algorithm(selector, options, point)
    known = {key: algorithm.options()[key] for key in space.rates(type(algorithm))}
    larger = {key: float(f"{STEEPER * value:.6g}") for key, value in known.items() if isinstance(value, int | float)}
    rates = {key: value for key, value in larger.items() if _takes(suite, point, selector, {**options, key: value})}
    alone = [{**options, key: value} for key, value in rates.items()]
    return [*alone, {**options, **rates}] if len(rates) > 1 else alone


def _takes(suite: Suite, point: Point, selector: str, options: Mapping[str, Any]) -> bool:
    try:
        suite.algorithm(selector, options, point)
    except UsageError:
        return False
    return True


def is_stable(steeper: Sequence[Outcome], trial: Sequence[Outcome]) -> bool:
    """Returns whether a trial with larger rates finishes with every seed, and costs little more
    than the trial with its own."""
    return all(run.finished for run in steeper) and log_cost(steeper) <= log_cost(trial) + math.log(DEARER)
