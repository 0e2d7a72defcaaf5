"""What it costs to always use one algorithm: on average by the model, and at worst as measured."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fedbench.analysis.map import answers
from fedbench.analysis.map.factors import Columns
from fedbench.analysis.map.runs import Flags
from fedbench.suites.design.schema import Value
from fedbench.suites.mapped.factors import AT_WORK
from fedbench.suites.mapped.model import Model
from fedbench.suites.mapped.statements import Always

Z = 1.96


def always(model: Model, points: Columns) -> Iterator[Always]:
    """Yields what it costs to always use one algorithm: at the points of the design, and at those
    with the most clients at work."""
    yield from _always_at(model, points, None)
    if AT_WORK in model.design.factors:
        most = max(points[AT_WORK])
        kept = [k for k, level in enumerate(points[AT_WORK]) if level == most]
        yield from _always_at(model, {name: [column[k] for k in kept] for name, column in points.items()}, most)


def _always_at(model: Model, points: Columns, at_work: Value | None) -> Iterator[Always]:
    there, names = model.compete(points), model.draws.algorithms
    kept = np.flatnonzero(there.any(axis=1)).tolist()
    if not kept:
        return
    points, there = {name: [column[k] for k in kept] for name, column in points.items()}, there[kept]
    found = answers.always(model.draws, points, there)
    place = [model.points.index(name) for name in points["point"]]
    several = []
    for k in np.flatnonzero(~np.isnan(found.value)):
        worst, where = _worst(model, place, there, int(k))
        mean = (float(found.value[k]), float(found.low[k]), float(found.high[k]))
        several.append(
            Always(
                algorithm=names[k],
                axis=model.axis,
                at_work=at_work,
                points=len(kept),
                mean=mean,
                worst=worst,
                worst_at=model.points[where],
            )
        )
    yield from sorted(several, key=lambda one: one.mean[0])


def _worst(model: Model, place: list[int], there: Flags, k: int) -> tuple[tuple[float, float, float | None], int]:
    """Returns the largest measured cost of an algorithm over that of the best at some points, with
    its interval over seeds, and the point. It has no upper end if the algorithm misses a target at
    one of the points: there it may cost more."""
    seen, error = model.measured, model.error[place]
    log, is_bound = np.where(there, seen.log[place], np.nan), seen.is_bound[place]
    exact = np.where(is_bound | np.isnan(log), np.inf, log)
    best = exact.argmin(axis=1)
    regret = np.nan_to_num(log[:, k] - exact.min(axis=1), nan=-np.inf)
    n = int(regret.argmax())
    half = Z * math.hypot(error[n, k], error[n, best[n]]) if best[n] != k else 0.0
    ends = math.exp(max(regret[n] - half, 0.0)), None if (is_bound[:, k] & there[:, k]).any() else math.exp(regret[n] + half)
    return (math.exp(max(regret[n], 0.0)), *ends), place[n]
