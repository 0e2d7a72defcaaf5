"""What a map says as a part of the document of its suite: by the model where it predicts the points
held out, and as measured at the points where it does not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from fedbench.analysis.axes import SECONDS
from fedbench.documents import map as shown
from fedbench.documents.board import AXES
from fedbench.documents.parts import Spent
from fedbench.refusals import refused_in
from fedbench.suites.design.schema import Design, Value
from fedbench.suites.findings import map_points
from fedbench.suites.findings.map_points import ends_of
from fedbench.suites.findings.map_screens import without_points, work_of
from fedbench.suites.findings.map_sure import boards
from fedbench.suites.findings.numbers import Waiting
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import factors
from fedbench.suites.mapped.carried import Missed, carried
from fedbench.suites.mapped.factors import AT_WORK, SPREAD, told
from fedbench.suites.mapped.statements import Advice, Always, Judged, Map
from fedbench.written import Ratio


@refused_in("map: more or other than a site shows")
def document(results: Results, said: Map, others: Sequence[Results]) -> shown.Map:
    """Returns what a page shows of a map. `others` are the results of suites at points of the same
    design. Raises UsageError for what `carried` refuses, or if a part is too large for a
    document."""
    predicted = tuple(axis for axis in AXES if said.predicts(axis))
    columns = list(dict.fromkeys((one.axis, one.at_work) for one in said.advice if one.axis in predicted))
    is_predicted = SECONDS.name in predicted
    design = results.suite.designed()
    middle = {name: level for name, level in factors.base(design).items() if name != AT_WORK}
    return shown.Map(
        predicted=predicted,
        points=len(said.design),
        algorithms=said.algorithms,
        public_data=said.public_data,
        left_out=said.left_out,
        middle=_full(design, middle),
        columns=tuple(shown.Column(axis=_spent(axis), at_work=_work(results, level)) for axis, level in columns),
        kinds=tuple(_kinds(results, said, columns)) if columns else (),
        notes=tuple(without_points(said, columns)),
        everywhere=tuple(_predicted(results, said, predicted)) if is_predicted else (_measured(results),),
        levels=() if is_predicted else tuple(_levels(results)),
        waiting=_waiting_predicted(results, said) if is_predicted else _waiting_measured(results),
        elsewhere=tuple(_elsewhere(results, other) for other in others),
        sure=_sure(results, said),
    )


def _spent(axis: str) -> Spent:
    return next(one for one in AXES if one == axis)


def _work(results: Results, level: Value | None) -> str:
    return "" if level is None else f"{work_of(results, level)} clients at work"


def _full(design: Design, levels: factors.Levels) -> str:
    """Returns levels with what they are in words: `skew iid (every client has all classes)`."""
    words = {name: factors.explained(design, {name: level}) for name, level in levels.items()}
    return ", ".join(f"{name} {told(level)}{f' ({words[name]})' if words[name] else ''}" for name, level in levels.items())


# ---- by the model ----


def _kinds(results: Results, said: Map, columns: Sequence[tuple[str, Value | None]]) -> Iterator[shown.Heterogeneity]:
    design = results.suite.designed()
    middle = factors.base(design)
    cells = {(one.words, one.axis, one.at_work): one for one in said.advice}
    for case in factors.cases(design):
        changed = {name: level for name, level in case.levels.items() if level != middle[name]}
        choices = [cells.get((case.words, *column)) for column in columns]
        yield shown.Heterogeneity(
            name=case.words,
            words=factors.explained(design, changed or case.levels),
            choices=tuple(None if one is None else _choice(one) for one in choices),
        )


def _choice(one: Advice) -> shown.Choice:
    return shown.Choice(cost=one.cost, tries={name: Ratio.of(found) for name, found in one.tries.items()})


def _predicted(results: Results, said: Map, predicted: Sequence[Spent]) -> Iterator[shown.Everywhere]:
    """Yields always the same algorithm: at all points of the design, and at those with the most
    clients at work."""
    levels = {name: results.suite.point(name).levels for name in said.design}
    sets = map_points.best(results)
    for at_work in dict.fromkeys(one.at_work for one in said.always):
        kept = [name for name in said.design if at_work is None or levels[name][AT_WORK] == at_work]
        on = {
            axis: {one.algorithm: one for one in said.always if (one.at_work, one.axis) == (at_work, axis)} for axis in predicted
        }
        rows = [
            _always(one, one.points, sum(name in sets.get(point, ()) for point in kept), on)
            for name, one in on[_spent(SECONDS.name)].items()
        ]
        yield shown.Everywhere(
            where="" if at_work is None else _work(results, at_work),
            points=max((one.points for one in on[_spent(SECONDS.name)].values()), default=0),
            rows=tuple(rows),
            left_out=tuple(name for name in said.algorithms if name not in on["seconds"]),
        )


def _always(one: Always, points: int, best: int, on: dict[Spent, dict[str, Always]]) -> shown.Always:
    others = {
        axis: Ratio.of(rows[one.algorithm].mean) for axis, rows in on.items() if axis != SECONDS.name and one.algorithm in rows
    }
    return shown.Always(
        row=one.algorithm,
        mean=Ratio.of(one.mean),
        worst=Ratio.of(one.worst),
        worst_at=one.worst_at,
        points=points,
        best=best,
        others=others,
    )


def _waiting_predicted(results: Results, said: Map) -> shown.Waiting | None:
    found = {(one.levels[SPREAD], one.levels[AT_WORK]): one.ratio for one in said.prices if one.axis == SECONDS.name}
    prices = {pair: shown.Price(ratios=(Ratio.of(ratio),)) for pair, ratio in found.items() if ratio is not None}
    return _waiting(results, prices)


# ---- as measured ----


def _measured(results: Results) -> shown.Everywhere:
    count, several = map_points.always(results)
    rows = [
        shown.Always(row=one.row, mean=None, worst=one.largest, worst_at=one.at, points=len(one.regrets), best=one.best)
        for one in several
        if one.largest.numbers is not None
    ]
    return shown.Everywhere(where="", points=count, rows=tuple(rows))


def _levels(results: Results) -> Iterator[shown.Level]:
    design = results.suite.designed()
    for one in map_points.by_level(results):
        at = {one.factor: one.level}
        yield shown.Level(
            name=factors.in_words(at),
            words=factors.explained(design, at),
            points=one.points,
            rows=tuple(shown.Regrets(row=row, median=middle, largest=largest) for row, (middle, largest) in one.rows.items()),
        )


def _waiting_measured(results: Results) -> shown.Waiting | None:
    design = results.suite.designed()
    if SPREAD not in design.factors or AT_WORK not in design.factors:
        return None
    found = map_points.prices(results)
    prices = {
        pair: shown.Price(ratios=tuple(map(_of_waiting, ends_of(several))), points=len(several))
        for pair, several in found.items()
    }
    return _waiting(results, prices)


def _of_waiting(one: Waiting) -> Ratio:
    misses, other_misses = one.misses
    return Ratio(one.ratio.value, 0.0 if other_misses else one.ratio.low, math.inf if misses else one.ratio.high)


def _waiting(results: Results, prices: dict[tuple[Value, Value], shown.Price]) -> shown.Waiting | None:
    """Returns the prices in a table; None without one."""
    if not prices:
        return None
    design = results.suite.designed()
    known = [level for level in design.factors[AT_WORK].values if any(pair[1] == level for pair in prices)]
    return shown.Waiting(
        unit=design.factors[SPREAD].unit,
        at_work=tuple(_work(results, level) for level in known),
        rows=tuple(
            shown.Spread(level=told(spread), prices=tuple(prices.get((spread, level)) for level in known))
            for spread in design.factors[SPREAD].values
        ),
    )


# ---- elsewhere, and how sure ----


def _elsewhere(results: Results, other: Results) -> shown.Elsewhere:
    return shown.Elsewhere(
        suite=other.suite.name,
        about=other.suite.about,
        axes=tuple(
            shown.Carried(
                axis=_spent(one.axis),
                points=len(one.points),
                agreement=(one.agreement.value, one.agreement.low, one.agreement.high),
                alike=one.alike,
                regret=Ratio(one.regret.value, one.regret.low, math.inf if one.bounds else one.regret.high),
                missed=tuple(_miss(point, miss) for point, miss in one.missed.items()),
            )
            for one in carried(results, other)
        ),
    )


def _miss(point: str, one: Missed) -> shown.Miss:
    return shown.Miss(
        point=point, first=one.first, best=one.best, ratio=Ratio(one.ratio, one.ratio, math.inf if one.is_bound else one.ratio)
    )


def _sure(results: Results, said: Map) -> shown.Sure:
    own, found = next(one for one in said.sure if one.axis == SECONDS.name), boards(results)
    return shown.Sure(
        seeds=said.seeds,
        censored=said.censored,
        seed=own.seed,
        noise=own.noise,
        fit=own.fit,
        luck=said.luck,
        resolution=found.resolution,
        boards=found.count,
        changed=found.changed,
        judged=tuple(_judged(results, one) for one in said.judged),
    )


def _judged(results: Results, one: Judged) -> shown.Judged:
    return shown.Judged(
        axis=_spent(one.axis),
        predicts=one.predicts,
        error=one.error,
        nearest=one.nearest,
        main=one.main,
        named=float(median(one.rows.values())),
        hits=len(one.rows) - len(one.missed),
        points=len(one.rows) + len(one.undecided),
        missed={name: factors.in_words(results.suite.point(name).levels) for name in one.missed},
        undecided=one.undecided,
    )
