"""Makes the map of a suite with a design: what was fitted to its runs, with what the suite says of
its points, so that advice can be asked for without the suite."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from fedbench.analysis.map.draws import Draws
from fedbench.analysis.map.factors import Columns, Factor, Floats
from fedbench.analysis.map.kept import Costs
from fedbench.analysis.map.parts import Transfer
from fedbench.analysis.map.prediction import Verdict
from fedbench.analysis.map.saved import Saved, saved
from fedbench.engine.heterogeneity import FACTORS, Heterogeneity
from fedbench.errors import UsageError, nearest
from fedbench.scenarios import load as scenarios
from fedbench.suites.advice.place import DIGITS, WORDS
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped.fitting import Fitted
from fedbench.suites.mapped.statements import Map
from fedbench.suites.suite import Point, Suite
from fedbench.suites.tuned import Tuned

NEAR = 0.25
"""So far, as a share of a factor's range, a measured level may be from the one of the design:
speeds of a hundred clients scatter, and a tie of 0.9 is measured as 0.8."""


def of_results(results: Results, fitted: Fitted, said: Map, day: str, transfers: Iterable[Transfer] = ()) -> Saved:
    """Returns the map of a suite's results, fitted on a day such as `2026-12-01`, with what is
    known of other tasks and models.

    Raises:
        UsageError: if its runs are of several commits, and for what `made` refuses.
    """
    commits = results.commits
    if len(commits) > 1:
        raise UsageError(
            f"suite {results.suite.name}: its runs are of {len(commits)} commits, {', '.join(commits)}; advice rests on one"
        )
    return made(
        results.suite,
        results.frozen,
        fitted.whole,
        {one.axis: one.verdict for one in said.judged},
        regrets={axis: regrets(results, said.design, one.algorithms, axis) for axis, one in fitted.whole.items()},
        labels=results.labels,
        public_data=fitted.entered.public_data,
        records=len(results.runs),
        seeds=said.seeds,
        commit=commits[0],
        made=day,
        transfer=transfers,
    )


def regrets(results: Results, points: Sequence[str], algorithms: Sequence[str], axis: str) -> Floats:
    """Returns the logarithms of the regrets on an axis that boards have at some points (N, K); NaN
    for an algorithm without one."""
    boards, found = results.tuned or results.default, np.full((len(points), len(algorithms)), np.nan)
    for n, point in enumerate(points):
        for group in boards[point].groups if point in boards else ():
            ranking = boards[point].ranking(group, axis)
            for row in ranking.rows:
                if row in algorithms and (regret := ranking.regret(row)) is not None:
                    found[n, algorithms.index(row)] = np.log(regret.value)
    return found


def made(
    suite: Suite,
    frozen: Tuned | None,
    draws: Mapping[str, Draws],
    verdicts: Mapping[str, Verdict],
    *,
    regrets: Mapping[str, Floats],
    labels: Mapping[str, str],
    public_data: Collection[str],
    records: int,
    seeds: tuple[int, int],
    commit: str,
    made: str,
    transfer: Iterable[Transfer] = (),
) -> Saved:
    """Returns the map of a suite.

    Args:
        suite: it has a design and a scenario.
        frozen: its tuned options, if it tunes.
        draws: by axis, of models that were fitted to runs at the points of the design.
        verdicts: by axis, whether the points held out were predicted. Without one an axis does not
            predict. A point that could not be judged is a miss.
        regrets: by axis, as `regrets` returns them.
        labels: by selector of the suite, the name of the algorithm in the model.
        public_data: the names of those that use public data.
        records, seeds: how many records the map rests on, and the fewest and the most of a row.
        commit, made: of the records, and the day of the fit.
        transfer: how well the order of algorithms agrees elsewhere.

    Raises:
        UsageError: for a suite without a scenario or a design, and for a factor of kinds that
            cannot be measured.
    """
    if suite.scenario is None or suite.design is None:
        raise UsageError(f"suite {suite.name}: a map needs a suite with a scenario and a design")
    several = [point for point in suite.points if point.kind == "design"]
    factors = next(iter(draws.values())).design.factors
    points: Columns = {
        "point": [point.name for point in several],
        **{factor.name: [point.levels[factor.name] for point in several] for factor in factors},
    }
    chosen = {} if frozen is None else {point.name: frozen.points.get(point.name, {}) for point in several}
    return saved(
        {axis: Costs.of(one, points, verdicts.get(axis), regrets[axis]) for axis, one in draws.items()},
        suite=suite.name,
        commit=commit,
        made=made,
        records=records,
        seeds=seeds,
        scenario=scenarios.load(suite.scenario).resolved(),
        numbers=_numbers(suite, factors, several),
        public_data=tuple(sorted(public_data)),
        selectors={name: selector for selector, name in labels.items() if name != selector},
        options={
            point: {labels[selector]: choice.options for selector, choice in choices.items() if selector in labels}
            for point, choices in chosen.items()
        },
        first=() if suite.anchors is None else suite.anchors.first,
        transfer=tuple(one.model_dump() for one in transfer),
    )


def _numbers(suite: Suite, factors: Sequence[Factor], points: Sequence[Point]) -> dict[str, dict[str, float]]:
    """Returns what stands for the kinds of factors: the numbers of the suite's anchors, else what
    is measured at the first point of each kind.

    Raises UsageError for a factor that cannot be measured, and for one whose levels are other
    numbers than those measured: advice would look it up at the wrong place.
    """
    found = {} if suite.anchors is None else {name: dict(numbers) for name, numbers in suite.anchors.numbers.items()}
    for factor in factors:
        name = factor.name
        if name not in FACTORS:
            raise UsageError(f"suite {suite.name}: factor {name} cannot be measured in a scenario{nearest(name, FACTORS)}")
        first = {point.levels[name]: point for point in reversed(points)}
        measured = {
            level: round(float(getattr(Heterogeneity(suite.scenario_at(point)), name)), DIGITS) for level, point in first.items()
        }
        if factor.kinds:
            found.setdefault(name, {str(kind): number for kind, number in measured.items()})
        numbers = found.get(name, {})
        given = {level: numbers[str(level)] if factor.kinds else float(level) for level in measured}
        room = NEAR * (max(given.values()) - min(given.values()))
        for level, number in measured.items():
            if abs(number - given[level]) > room:
                raise UsageError(
                    f"suite {suite.name}: factor {name} is {given[level]:g} at {first[level].name}, where {number:.3g} is measured; "
                    f"advice looks it up by what it measures, {WORDS[name]}"
                )
    return found
