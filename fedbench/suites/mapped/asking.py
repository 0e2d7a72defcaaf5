"""Asks the draws of a suite's models what a reader wants to know."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fedbench.analysis.axes import SECONDS
from fedbench.analysis.map import answers
from fedbench.analysis.map import runs as reading
from fedbench.analysis.map.draws import Band, band
from fedbench.analysis.map.factors import Columns, Floats
from fedbench.analysis.map.prediction import judged, measured
from fedbench.suites.design.schema import Design, Value
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import always, factors, statements
from fedbench.suites.mapped.columns import KINDS
from fedbench.suites.mapped.factors import AT_WORK, SKEW, SPREAD
from fedbench.suites.mapped.fitting import Fitted
from fedbench.suites.mapped.model import Model
from fedbench.suites.mapped.statements import Advice, Judged, Map, Place, Price, Region, Sure, Triple

CHUNK = 100  # points that are asked for at once, so that memory stays small


def said(results: Results, found: Fitted) -> Map:
    """Returns what the fitted models of a suite say."""
    suite, design, entered = results.suite, results.suite.designed(), found.entered
    points = factors.points(suite, "design")
    models = [Model.of(design, found, axis, points) for axis in found.whole]
    rows = entered.at(SECONDS.name, points)
    counts = Counter(zip(rows["point"], rows["algorithm"], strict=True)).values()
    return Map(
        schema=1,
        suite=suite.name,
        suite_hash=suite.content_hash(),
        digest=statements.digest_of(results),
        points={
            point.name: Place(kind=point.kind, scenario=results.hashes[point.name], levels=point.levels)
            for point in suite.points
            if point.kind in KINDS
        },
        algorithms=tuple(models[0].names),
        public_data=tuple(sorted(entered.public_data)),
        waits=tuple(name for name in results.synchronous if name in models[0].draws.algorithms),
        left_out=dict(sorted(entered.left_out.items())),
        seeds=(min(counts), max(counts)),
        censored=float(np.mean(rows["is_censored"])),
        no_points=_no_points(design, points),
        advice=tuple(one for model in models for one in _advice(model)),
        always=tuple(one for model in models for one in always.always(model, points)),
        regions=tuple(one for model in models for one in _regions(model)),
        prices=tuple(one for model in models for one in _prices(model, results.synchronous)),
        judged=tuple(one for model in models if (one := _judged(results, found, model)) is not None),
        sure=tuple(map(_sure, models)),
        luck=_luck(results),
    )


def _no_points(design: Design, points: Columns) -> dict[str, tuple[Value, ...]]:
    """Returns by level of clients at work that no point has the nearest ones that points have."""
    known = sorted(set(points.get(AT_WORK, ())))
    return {
        factors.told(level): tuple([one for one in known if one < level][-1:] + [one for one in known if one > level][:1])
        for level in (design.factors[AT_WORK].values if AT_WORK in design.factors else ())
        if level not in known
    }


def _triples(found: Band) -> list[Triple]:
    """Returns a value with its ends for every entry of a band of logarithms (K,)."""
    return [(math.exp(a), math.exp(b), math.exp(c)) for a, b, c in zip(found.value, found.low, found.high, strict=True)]


# ---- which algorithm ----


def _at_work(model: Model) -> list[tuple[Value | None, bool]]:
    """Returns numbers of clients at work that are asked for, and whether it is on this axis: that
    of the middle, and in seconds the largest too."""
    if AT_WORK not in model.design.factors:
        return [(None, True)]
    middle, most = factors.base(model.design)[AT_WORK], model.design.factors[AT_WORK].values[-1]
    return [(middle, True), *([(most, model.axis == SECONDS.name)] if most != middle else [])]


def _advice(model: Model) -> Iterator[Advice]:
    for at_work in (level for level, is_asked in _at_work(model) if is_asked):
        several = [
            (one, {**one.levels, **({} if at_work is None else {AT_WORK: at_work})}) for one in factors.cases(model.design)
        ]
        several = [
            (one, levels)
            for one, levels in several
            if not model.design.is_impossible(levels) and model.compete(factors.table(model.design, [levels])).any()
        ]
        if not several:
            continue
        asked = factors.table(model.design, (levels for _, levels in several))
        there = model.compete(asked)
        drawn = model.draws.at(asked)
        regret = answers.regrets(drawn, there)
        tries = answers.predicted_set(drawn, there)
        costs = model.draws.costs(asked)
        for row, (case, _) in enumerate(several):
            means = regret[:, row].mean(axis=0)
            order = sorted(map(int, np.flatnonzero(tries[row])), key=means.__getitem__)
            cost = _triples(Band(*(part[row, order[:1]] for part in (costs.value, costs.low, costs.high))))[0]
            ratios = _triples(band(regret[:, row, order]))
            named = {model.draws.algorithms[k]: ratio for k, ratio in zip(order, ratios, strict=True)}
            yield Advice(words=case.words, at_work=at_work, axis=model.axis, cost=cost, tries=named)


# ---- where ----


def _regions(model: Model) -> Iterator[Region]:
    """Yields the regions skew x at work, and those of every level of a factor."""
    several = factors.possible(model.design)
    close = np.concatenate([_close(model, several[k : k + CHUNK]) for k in range(0, len(several), CHUNK)])
    crossed = [name for name in (SKEW, AT_WORK) if name in model.design.factors]
    for names in [crossed, *([name] for name in model.design.factors)]:
        keys = [tuple(levels[name] for name in names) for levels in several]
        for key in dict.fromkeys(keys if names else []):
            mean = close[[one == key for one in keys]].mean(axis=0)
            named = dict(zip(model.draws.algorithms, mean.round(6).tolist(), strict=True))
            kept = {name: named[name] for name in model.names}
            yield Region(axis=model.axis, levels=dict(zip(names, key, strict=True)), close=kept)


def _close(model: Model, several: Sequence[Mapping[str, Value]]) -> Floats:
    """Returns the probabilities to be close to the best (L, K); 0 where nobody arrives."""
    levels = factors.table(model.design, several)
    there = model.compete(levels)
    found, known = np.zeros(there.shape), there.any(axis=1)
    if known.any():
        found[known] = answers.close_to_best(model.draws.at(levels)[:, known], there[known])
    return found


def _prices(model: Model, synchronous: Sequence[str]) -> Iterator[Price]:
    """Yields the price of waiting over the spread of speeds and clients at work."""
    rounds = [name for name in synchronous if name in model.names]
    over = {name: model.design.factors[name].values for name in (SPREAD, AT_WORK) if name in model.design.factors}
    if len(over) < 2 or not rounds or len(rounds) == len(model.names):
        return
    middle = {name: level for name, level in factors.base(model.design).items() if name not in over}
    pairs = [{**middle, **dict(zip(over, pair, strict=True))} for pair in itertools.product(*over.values())]
    places = factors.table(model.design, pairs)
    there = model.compete(places)
    waits = np.isin(model.draws.algorithms, rounds)
    is_known = there[:, waits].any(axis=1) & there[:, ~waits].any(axis=1)
    is_known &= ~np.array([model.design.is_impossible(levels) for levels in pairs])
    with warnings.catch_warnings():  # where one side does not run, infinities are subtracted, and the answer is not used
        warnings.simplefilter("ignore", RuntimeWarning)
        found = answers.waiting(model.draws, waits, places, there)
    for k, levels in enumerate(pairs):
        value, low, high = (float(part[k]) for part in (found.value, found.low, found.high))
        ratio = (value, low, high) if is_known[k] else None
        yield Price(axis=model.axis, levels={name: levels[name] for name in over}, ratio=ratio)


# ---- how sure ----


def _judged(results: Results, found: Fitted, model: Model) -> Judged | None:
    """Returns how well the points held out are predicted; None if there are none."""
    axis, suite = model.axis, results.suite
    design, held_out = factors.points(suite, "design"), factors.points(suite, "held_out")
    if not held_out["point"]:
        return None
    columns = found.entered.at(axis, held_out, public_data=False)
    sets = {point: _in_sets(results, point) & set(model.names) for point in held_out["point"]}
    undecided = _undecided(columns, held_out["point"], sets)
    kept = [k for k, name in enumerate(held_out["point"]) if name not in undecided]
    held_out = {name: [column[k] for k in kept] for name, column in held_out.items()}
    if not kept:
        return None
    columns = found.entered.at(axis, held_out, public_data=False)
    one = judged(found.whole[axis], found.main[axis], columns, design, held_out, sets)
    names = held_out["point"]
    return Judged(
        axis=axis,
        error=one.error,
        nearest=one.nearest,
        main=one.main,
        exact=one.exact,
        bounds=one.bounds,
        too_low=one.too_low,
        rows=dict(zip(names, one.rows, strict=True)),
        missed=tuple(name for name, hit in zip(names, one.hits, strict=True) if not hit),
        undecided=undecided,
        in_sets={name: tuple(sorted(sets[name])) for name in names},
    )


def _in_sets(results: Results, point: str) -> set[str]:
    """Returns the rows that are in the set of the best of a group on some axis."""
    boards = results.default if results.suite.tuning is None else results.tuned
    if point not in boards:
        return set()
    return {row for one in boards[point].rankings.values() if not one.group.public_data for row in one.best}


def _undecided(columns: dict[str, list[Any]], points: Sequence[str], sets: Mapping[str, set[str]]) -> dict[str, str]:
    """Returns the points that cannot be judged, with the reason."""
    found = reading.read(columns, points)
    seen = measured(found)
    own = np.array([[row in sets[name] for row in found.algorithms] for name in found.points])
    exact = {
        name: bool(there.any()) for name, there in zip(found.points, own & ~np.isnan(seen.log) & ~seen.is_bound, strict=True)
    }
    reasons = {name: "every algorithm in a set of the best misses a target with some seed" for name in points if not exact[name]}
    return reasons | {name: "no algorithm of the model is in a set of the best" for name in points if not sets[name]}


def _sure(model: Model) -> Sure:
    own, variances = band(model.draws.own), model.draws.fit.variances
    return Sure(
        axis=model.axis,
        fit=(float(own.value), float(own.low), float(own.high)),
        seed=math.sqrt(variances.seed),
        noise=float(np.sqrt(np.median(variances.noise))),
    )


def _luck(results: Results) -> float | None:
    """Returns the pooled standard deviation over draws of the tuning, where there are several."""
    if results.frozen is None:
        return None
    times: dict[tuple[str, str], list[float]] = {}
    for drawn in (results.frozen.points, *results.frozen.draws.values()):
        for point, choices in drawn.items():
            for selector, choice in choices.items():
                times.setdefault((point, selector), []).append(math.log(max(choice.score.restricted_mean_seconds, 1e-9)))
    several = [found for found in times.values() if len(found) > 1]
    if not several:
        return None
    freedom = sum(len(found) - 1 for found in several)
    return math.sqrt(math.fsum(float(np.var(found)) * len(found) for found in several) / freedom)
