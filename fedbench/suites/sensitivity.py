"""Turns the table of trials into the data of a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fedbench.analysis.pictures.sensitivity import Sensitivity, Sought, Tried
from fedbench.errors import RecordError, UsageError
from fedbench.suites import space as spaces
from fedbench.suites.suite import Point, Suite
from fedbench.suites.tuning import Outcome, Score, Trial, choose, trials, tuning_of


def option_sensitivity(suite: Suite, point: Point, selector: str, known: Mapping[str, Outcome]) -> Sensitivity:
    """Returns which options of an algorithm were tried at a point, and which ones the rule chose.

    Args:
        suite: the suite.
        point: one of its points.
        selector: one of its algorithms.
        known: the outcomes of trials by run id, as `fedbench.suites.trials.read` returns them.

    Raises:
        UsageError: if the suite does not say how options are looked for, or if it halves: trials of
            several rungs have no common scale.
        RecordError: if the outcome of a trial is missing.
    """
    if tuning_of(suite).method != "sobol":
        raise UsageError(f"suite {suite.name}: tuning.method: trials can be drawn if they are made at once (sobol), got halving")
    space = spaces.load(tuning_of(suite).space)
    several = list(trials(suite, space, [point], [selector]))
    runs = {trial.number: [known[spec.run_id] for spec in trial.specs if spec.run_id in known] for trial in several}
    ended = [trial for trial in several if len(runs[trial.number]) == len(trial.specs)]
    if len(ended) < len(several):
        raise RecordError(
            f"trials of suite {suite.name}: {len(ended)} of {len(several)} trials of {selector} at {point.name} are in the table; "
            f"`fedbench tune {suite.typed}` makes the others"
        )
    intervals = space.of(type(suite.algorithm(selector)))
    chosen = choose({trial.number: trial.options for trial in several}, runs)
    return Sensitivity(
        row=selector,
        point=point.name,
        budget_seconds=runs[0][0].budget_seconds,
        sought=tuple(Sought(name, one.low, one.high, one.scale) for name, one in intervals.items()),
        trials=tuple(_tried(trial, runs[trial.number], intervals) for trial in several),
        chosen=chosen.trial,
    )


def _tried(trial: Trial, runs: Sequence[Outcome], names: Mapping[str, object]) -> Tried:
    score, options = Score.of(runs), trial.specs[0].algorithm.options()
    numbers = {name: float(options[name]) for name in names if isinstance(options[name], int | float)}
    attempts = sum(len(run.targets) for run in runs)
    return Tried(trial.number, numbers, score.restricted_mean_seconds, score.misses, attempts, score.unfinished)
