"""Tunes options fairly: every algorithm has the same number of trials, on seeds and examples that
no comparison uses, and a fixed rule chooses among them.

The rule, for one algorithm at one point:

1. Trials are the default options and scrambled Sobol' points of the search space. Each is run
   with every tuning seed and measured on the validation part. All of them are kept, whatever
   became of them.
2. The trial with the fewest misses is chosen. A miss is a pair of a seed and a target that is not
   reached. A run that does not finish misses all targets.
3. Among equals, the one with the smallest restricted mean time to the targets, in which a miss
   counts with the time budget.
4. Among equals, the one with the highest mean validation accuracy at the end. It is 0 for a run
   that does not finish.
5. Among equals, the first.

A suite may name another method, which `fedbench.suites.halving` has. Both are searches: they ask
for the runs of some trials, are given the outcomes, and end with a choice. They know nothing of
where the runs are computed, and a search that begins again from the outcomes that are there goes on
where it was.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from fedbench.analysis.hits import first_hit, held, within_budget
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.base import Float, Integer, Seconds
from fedbench.scenarios.schema import ACCURACY
from fedbench.suites.anchors import Near
from fedbench.suites.space import Space
from fedbench.suites.suite import Point, Suite
from fedbench.suites.tuning_parts import Halving, Sobol

Count = Annotated[Integer, Field(ge=0, le=2**31 - 1)]
Metric = Annotated[Float, Field(ge=0, le=1e9)]
RULE = {"sobol": 1, "halving": 2}
"""The versions of the rules by which options are chosen; a file of tuned options names its own."""


@dataclass(frozen=True)
class Trial:
    """One set of options of an algorithm at a point. Number 0 has the default options. `specs`
    has a run for each tuning seed. A halving runs a trial in several rungs."""

    point: str
    selector: str
    number: int
    options: dict[str, Any]
    specs: tuple[RunSpec, ...]
    rung: int = 0
    draw: int = 0


def tuning_of(suite: Suite) -> Sobol | Halving:
    """Returns the suite's part `tuning`. Raises UsageError if it has none."""
    if suite.tuning is None:
        raise UsageError(f"suite {suite.name}: it has no part `tuning`, so there is nothing to look for")
    return suite.tuning


def scramble(suite: Suite, space: Space, point: Point, selector: str, draw: int) -> str | None:
    """Returns the text that makes the scrambling of a search. The first draw of a suite that tunes
    at once has that of its space, as before there were draws."""
    if draw == 0 and isinstance(suite.tuning, Sobol):
        return None
    return json.dumps([suite.name, space.name, selector, point.name, draw])


def trials(suite: Suite, space: Space, points: Sequence[Point], selectors: Sequence[str], draw: int = 0) -> Iterator[Trial]:
    """Yields all trials of a suite that tunes at once, points outermost. A value that is tried
    replaces one that the selector sets."""
    part = tuning_of(suite)
    for point in points:
        scenario = suite.scenario_at(point, validation=True)
        for selector in selectors:
            cls = type(suite.algorithm(selector))
            for number, options in enumerate(space.trials(cls, part.trials, scramble(suite, space, point, selector, draw))):
                algorithm = suite.algorithm(selector, options, point)
                specs = tuple(RunSpec(scenario, algorithm, seed) for seed in suite.tuning_seeds(draw))
                yield Trial(point.name, selector, number, options, specs, draw=draw)


@dataclass(frozen=True)
class Outcome:
    """What a rule knows of one run. `reached` has for every target the virtual seconds, None for
    a miss. `result` is the digest over everything that the run gave.

    In a rung of a halving a target counts when it is held by the rules of reaching, at the first
    touch elsewhere. Only there a run has `spent`, the seconds until it held each target, or after
    which it was last seen to miss it, and `area`, of `area_under`.
    """

    run_id: str
    seed: int
    state: str
    budget_seconds: float
    targets: tuple[float, ...]
    reached: tuple[float | None, ...]
    validation_accuracy: float | None
    result: str
    spent: tuple[float, ...] | None = None
    area: float | None = None

    @classmethod
    def of(cls, run: Record) -> Outcome:
        scenario = run.spec.scenario
        stops = scenario.budget.hold == "window"
        attempts = [held(run, one) if stops else first_hit(run, one.metric, one.value) for one in scenario.compared]
        return cls(
            run_id=run.run_id,
            seed=run.seed,
            state=run.state,
            budget_seconds=float(scenario.budget.seconds),
            targets=tuple(float(target.value) for target in scenario.compared),
            reached=tuple(attempt.reached for attempt in attempts),
            validation_accuracy=run.final.test_accuracy,
            result=str(run.digests.result),
            spent=tuple(attempt.restricted for attempt in attempts) if stops else None,
            area=area_under(run) if stops else None,
        )

    @property
    def finished(self) -> bool:
        return self.state == "finished"

    @property
    def attempts(self) -> list[tuple[bool, float]]:
        """Returns for every target whether it counts as reached, and the seconds with which it
        counts, see `within_budget`."""
        return [within_budget(second, self.budget_seconds, finished=self.finished) for second in self.reached]


def area_under(run: Record) -> float:
    """Returns the mean over the time budget of the accuracy, as far as it is not above the highest
    target. A model counts until the next evaluation, the last one until the end; after a run has
    stopped at its targets the highest one counts. So who stops early loses nothing."""
    scenario = run.spec.scenario
    if (metric := scenario.compared[0].metric) != ACCURACY:
        raise UsageError(f"tune: trials are ordered by {ACCURACY}, so scenario {scenario.name} needs targets in it, got {metric}")
    top, budget = max(float(target.value) for target in scenario.compared), float(scenario.budget.seconds)
    values = np.minimum(np.nan_to_num(np.asarray(run.curves["test_accuracy"], np.float64)), top)
    if run.outcome.ended_by == "target":
        values[-1] = top
    lengths = np.diff(np.append(np.minimum(run.curves["seconds"], budget), budget))
    return round(math.fsum(values * lengths) / budget, 9)


@dataclass(frozen=True)
class Score:
    """The numbers by which the rule orders trials, over the seeds of one trial, and the number of
    its runs that did not finish."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    misses: Count
    restricted_mean_seconds: Seconds
    validation_accuracy: Metric
    unfinished: Count

    @property
    def order(self) -> tuple[int, float, float]:
        """Returns the key by which trials are ordered. Smaller is better."""
        return self.misses, self.restricted_mean_seconds, -self.validation_accuracy

    @classmethod
    def of(cls, runs: Sequence[Outcome]) -> Score:
        """Returns the score of the runs of one trial. Raises UsageError without runs or targets."""
        attempts = [attempt for run in runs for attempt in run.attempts]
        if not attempts:
            raise UsageError("tuning: the scenario has no targets, so there is nothing to choose by")
        accuracies = [run.validation_accuracy or 0.0 if run.finished else 0.0 for run in runs]
        return cls(
            misses=sum(not hit for hit, _ in attempts),
            restricted_mean_seconds=round(float(np.mean([seconds for _, seconds in attempts])), 6),
            validation_accuracy=round(float(np.mean(accuracies)), 6),
            unfinished=sum(not run.finished for run in runs),
        )


@dataclass(frozen=True)
class Choice:
    """What was chosen for one algorithm at one point.

    trial, options, score: of the trial that was chosen.
    trials, unfinished: the number of trials, and of runs of all trials that did not finish.
    spread: the least value, the quartiles and the largest value over the trials, of the restricted
    mean seconds and of the validation accuracy. They say how much the options matter.
    digest: of the ids and results of all runs from which it was chosen.
    anchor: from whose options the search began, None if it was the whole search.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    trial: Count
    options: dict[str, object]
    score: Score
    trials: Annotated[Integer, Field(ge=1, le=4096)]
    unfinished: Count
    spread: dict[
        Literal["restricted_mean_seconds", "validation_accuracy"], Annotated[list[Metric], Field(min_length=5, max_length=5)]
    ]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    anchor: Near | None = None

    @property
    def words(self) -> str:
        """Returns how the options were found."""
        return "tuned" if self.anchor is None else f"tuned at anchors ({self.anchor.point}, distance {self.anchor.distance:g})"


def choose(options: Mapping[int, Mapping[str, Any]], found: Mapping[int, Sequence[Outcome]]) -> Choice:
    """Returns the choice that the rule makes from the options and the outcomes of every trial, both
    by the number of the trial."""
    scores = {number: Score.of(runs) for number, runs in sorted(found.items())}
    best = min(scores, key=lambda number: (*scores[number].order, number))
    runs = [run for number in sorted(found) for run in found[number]]
    return choice(best, options[best], scores, runs, trials=len(found))


def choice(best: int, options: Mapping[str, Any], scores: Mapping[int, Score], runs: Iterable[Outcome], *, trials: int) -> Choice:
    """Returns the choice of the trial `best`, which has these options.

    Args:
        best: the number of the trial.
        options: its options.
        scores: of the trials that it was compared with last, and its own, by number.
        runs: the outcomes of all runs of all trials, in the order in which they were asked for.
        trials: the number of trials.
    """
    runs = list(runs)
    return Choice(
        trial=best,
        options=dict(options),
        score=scores[best],
        trials=trials,
        unfinished=sum(not run.finished for run in runs),
        spread={
            "restricted_mean_seconds": _quartiles([score.restricted_mean_seconds for score in scores.values()]),
            "validation_accuracy": _quartiles([score.validation_accuracy for score in scores.values()]),
        },
        digest=hashlib.sha256("".join(f"{run.run_id} {run.result}\n" for run in runs).encode()).hexdigest()[:32],
    )


def _quartiles(values: Sequence[float]) -> list[float]:
    return [round(float(value), 6) for value in np.quantile(values, (0, 0.25, 0.5, 0.75, 1))]


Search = Generator[Sequence[Trial], Sequence[Sequence[Outcome]], Choice]
"""Yields trials of one algorithm at one point, is sent the outcomes of the runs of each, and so on;
returns the choice. The same outcomes make the same search."""


def outcomes(trial: Trial, store: Store, known: Mapping[str, Outcome]) -> list[Outcome] | None:
    """Returns the outcomes of all runs of a trial, or None if one is missing. They are taken from
    `known`, by run id, or else from the store."""
    find = finder(store, dict(known))
    found = [outcome for spec in trial.specs if (outcome := find(spec)) is not None]
    return found if len(found) == len(trial.specs) else None


Find = Callable[[RunSpec], Outcome | None]
"""Returns the outcome of a run, None if there is none yet."""


def finder(store: Store, known: dict[str, Outcome]) -> Find:
    """Returns what finds outcomes in `known`, by run id, or else in the store. `known` keeps what
    was found."""

    def find(spec: RunSpec) -> Outcome | None:
        if spec.run_id not in known:
            record = store.find(spec.scenario.name, spec.algorithm.name, spec.run_id)
            if record is None:
                return None
            known[spec.run_id] = Outcome.of(record)
        return known[spec.run_id]

    return find
