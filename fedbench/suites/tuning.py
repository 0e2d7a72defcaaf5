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
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import ConfigDict, Field

from fedbench.analysis.hits import first_hit, within_budget
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.base import Float, Integer, Seconds
from fedbench.suites.space import Space
from fedbench.suites.suite import Point, Suite, Tuning

Count = Annotated[Integer, Field(ge=0, le=2**31 - 1)]
Metric = Annotated[Float, Field(ge=0, le=1e9)]
RULE = 1  # the version of the rule above; a file of tuned options names it


@dataclass(frozen=True)
class Trial:
    """One set of options of an algorithm at a point. Number 0 has the default options. `specs`
    has a run for each tuning seed."""

    point: str
    selector: str
    number: int
    options: dict[str, float]
    specs: tuple[RunSpec, ...]


def tuning_of(suite: Suite) -> Tuning:
    """Returns the suite's part `tuning`. Raises UsageError if it has none."""
    if suite.tuning is None:
        raise UsageError(f"suite {suite.name}: it has no part `tuning`, so there is nothing to look for")
    return suite.tuning


def trials(suite: Suite, space: Space, points: Sequence[Point], selectors: Sequence[str]) -> Iterator[Trial]:
    """Yields all trials, points outermost. A value that is tried replaces one that the selector
    sets."""
    part = tuning_of(suite)
    for point in points:
        scenario = suite.scenario_at(point, validation=True)
        for selector in selectors:
            name = suite.algorithm(selector).name
            for number, options in enumerate(space.trials(name, part.trials)):
                algorithm = suite.algorithm(selector, options)
                specs = tuple(RunSpec(scenario, algorithm, seed) for seed in part.seeds.numbers)
                yield Trial(point.name, selector, number, options, specs)


@dataclass(frozen=True)
class Outcome:
    """What the rule knows of one run. `reached` has for every target the virtual seconds, None for
    a miss. `result` is the digest over everything that the run gave."""

    run_id: str
    seed: int
    state: str
    budget_seconds: float
    targets: tuple[float, ...]
    reached: tuple[float | None, ...]
    validation_accuracy: float | None
    result: str

    @classmethod
    def of(cls, run: Record) -> Outcome:
        scenario = run.spec.scenario
        return cls(
            run_id=run.run_id,
            seed=run.seed,
            state=run.state,
            budget_seconds=float(scenario.budget.seconds),
            targets=tuple(float(target.value) for target in scenario.targets),
            reached=tuple(first_hit(run, target.metric, target.value).reached for target in scenario.targets),
            validation_accuracy=run.final.test_accuracy,
            result=str(run.digests.result),
        )

    @property
    def finished(self) -> bool:
        return self.state == "finished"

    @property
    def attempts(self) -> list[tuple[bool, float]]:
        """Returns for every target whether it counts as reached, and the seconds with which it
        counts, see `within_budget`."""
        return [within_budget(second, self.budget_seconds, finished=self.finished) for second in self.reached]


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
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    trial: Count
    options: dict[str, object]
    score: Score
    trials: Annotated[Integer, Field(ge=1, le=1025)]
    unfinished: Count
    spread: dict[
        Literal["restricted_mean_seconds", "validation_accuracy"], Annotated[list[Metric], Field(min_length=5, max_length=5)]
    ]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


def choose(options: Mapping[int, Mapping[str, float]], found: Mapping[int, Sequence[Outcome]]) -> Choice:
    """Returns the choice that the rule makes from the options and the outcomes of every trial, both
    by the number of the trial."""
    scores = {number: Score.of(runs) for number, runs in sorted(found.items())}
    best = min(scores, key=lambda number: (*scores[number].order, number))
    lines = [f"{run.run_id} {run.result}\n" for number in sorted(found) for run in found[number]]
    return Choice(
        trial=best,
        options=dict(options[best]),
        score=scores[best],
        trials=len(found),
        unfinished=sum(score.unfinished for score in scores.values()),
        spread={
            "restricted_mean_seconds": _quartiles([score.restricted_mean_seconds for score in scores.values()]),
            "validation_accuracy": _quartiles([score.validation_accuracy for score in scores.values()]),
        },
        digest=hashlib.sha256("".join(lines).encode()).hexdigest()[:32],
    )


def _quartiles(values: Sequence[float]) -> list[float]:
    return [round(float(value), 6) for value in np.quantile(values, (0, 0.25, 0.5, 0.75, 1))]


def outcomes(trial: Trial, store: Store, known: Mapping[str, Outcome]) -> list[Outcome] | None:
    """Returns the outcomes of all runs of a trial, or None if one is missing. They are taken from
    `known`, by run id, or else from the store."""
    found = []
    for spec in trial.specs:
        outcome = known.get(spec.run_id)
        if outcome is None:
            record = store.find(spec.scenario.name, spec.algorithm.name, spec.run_id)
            if record is None:
                return None
            outcome = Outcome.of(record)
        found.append(outcome)
    return found


def collect(
    suite: Suite, space: Space, store: Store, known: Mapping[str, Outcome]
) -> tuple[list[tuple[Trial, list[Outcome]]], dict[tuple[str, str], Choice]]:
    """Returns all trials whose runs have all ended, with their outcomes, and the choices by point
    and selector where all trials have ended.

    Args:
        suite: the suite.
        space: its search space.
        store: has the records of trials.
        known: outcomes by run id, which need no record.
    """
    ended: list[tuple[Trial, list[Outcome]]] = []
    choices: dict[tuple[str, str], Choice] = {}
    for point in suite.points:
        for selector in suite.selectors():
            several = list(trials(suite, space, [point], [selector]))
            own = [(trial, runs) for trial in several if (runs := outcomes(trial, store, known)) is not None]
            ended += own
            if len(own) == len(several):
                options = {trial.number: trial.options for trial, _ in own}
                choices[point.name, selector] = choose(options, {trial.number: runs for trial, runs in own})
    return ended, choices
