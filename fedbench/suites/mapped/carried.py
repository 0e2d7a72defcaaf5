"""Whether what a map says holds with another model or task: a second suite at points of the same
design, whose algorithms are some of those of the map.

At each common point the costs that were measured are compared, so no model and no interpolation is
in the answer. Points are drawn for the intervals: twelve of them say how it may be at others of the
design. The noise of seeds and the luck of tuning lower the agreement and raise the regret, also
where nothing changed, which no interval shows. So it is said what agreement seeds alone would
leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedbench.analysis import bootstrap
from fedbench.analysis.agreement import LEAST, order, tau_of
from fedbench.analysis.bootstrap import Interval
from fedbench.analysis.map import runs as reading
from fedbench.analysis.map.answers import CLOSE
from fedbench.analysis.map.factors import Floats
from fedbench.analysis.map.parts import Transfer
from fedbench.analysis.map.prediction import measured
from fedbench.errors import UsageError
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped.columns import Entered, entered

NOISES = 1_000
"""So many draws of noise are averaged."""


@dataclass(frozen=True)
class Missed:
    """A point at which the first of the map costs more than 10 % more than the best there, or
    misses a target that the best holds.

    first: the algorithm with the smallest cost on the map.
    best: that of the other suite.
    ratio: what `first` costs there over `best`; at least so much if `is_bound`, since it missed a
    target.
    """

    first: str
    best: str
    ratio: float
    is_bound: bool


@dataclass(frozen=True)
class Carried:
    """How far one axis of a map holds elsewhere.

    points: those that both suites have, and at which both measured three algorithms or more.
    agreement: Kendall's tau-b of the two orders by cost, as the mean over points. Two algorithms
        that both miss a target are in no order, nor one that does with a dearer one.
    alike: what it would be, on average, if both had the costs of the map, and so the same order:
        the noise of their seeds makes it less than 1.
    regret: what the first of the map costs there over the best, as the geometric mean over points.
    bounds: at how many of the points this is a lower bound, since the first misses a target.
    missed: by point.
    """

    axis: str
    points: tuple[str, ...]
    agreement: Interval
    alike: float
    regret: Interval
    bounds: int
    missed: Mapping[str, Missed]


def carried(one: Results, other: Results) -> list[Carried]:
    """Returns how far the map `one` holds in a suite `other` at points of the same design, by axis.

    Raises UsageError if they are of two designs, have no two points in common at which both have
    three algorithms, or for what `columns.entered` refuses.
    """
    if one.suite.designed() != other.suite.designed():
        raise UsageError(
            f"suite {other.suite.name}: its points are of design {other.suite.design}, those of {one.suite.name} of "
            f"{one.suite.design}; only points of one design can be compared"
        )
    most = min(len(next(iter(side.runs.values())).spec.scenario.compared) for side in (one, other))
    first, second = entered(one, most), entered(other, most)
    names = [point.name for point in other.suite.points if point.name in one.hashes]
    return [_on(axis, other.suite.name, names, first, second) for axis in first.by_axis]


def transfer(one: Results, other: Results) -> list[Transfer]:
    """Returns what advice says of other tasks and models, by axis; see `carried`."""
    task = other.suite.scenario_at(other.suite.points[0]).task
    return [
        Transfer(
            where=f"task {task.name} with {task.model}",
            axis=found.axis,
            points=len(found.points),
            agreement=found.agreement.value,
            low=found.agreement.low,
            high=found.agreement.high,
        )
        for found in carried(one, other)
    ]


def _on(axis: str, suite: str, names: list[str], first: Entered, second: Entered) -> Carried:
    ours, theirs = _costs(first, axis, names), _costs(second, axis, names)
    taus, alike, regrets, missed = {}, {}, {}, {}
    for name in names:
        here, there = ours.get(name, {}), theirs.get(name, {})
        both = sorted(set(here) & set(there))
        exact = [row for row in both if not there[row].is_bound]
        if len(both) < LEAST or not exact or all(here[row].is_bound for row in both):
            continue
        taus[name] = float(tau_of(*(_order([side[row] for row in both]) for side in (here, there))))
        alike[name] = _by_seeds_alone([here[row] for row in both], [there[row] for row in both])
        lead = min((row for row in both if not here[row].is_bound), key=lambda row: (here[row].log, row))
        best = min(exact, key=lambda row: (there[row].log, row))
        regrets[name] = max(there[lead].log - there[best].log, 0.0)
        if there[lead].is_bound or regrets[name] > np.log(CLOSE):
            missed[name] = Missed(lead, best, float(np.exp(regrets[name])), there[lead].is_bound)
    if len(taus) < 2:
        raise UsageError(
            f"suite {suite}: expected at least 2 points at which it and the map have {LEAST} algorithms in common, and at which one of "
            f"them always holds the targets, got {len(taus)}"
        )
    bounds = sum(one.is_bound for one in missed.values())
    regret = Interval(*np.exp(_over_points(regrets)).tolist())
    return Carried(axis, tuple(taus), _over_points(taus), float(np.mean(list(alike.values()))), regret, bounds, missed)


@dataclass(frozen=True)
class _Cost:
    """A log cost, whether it is a lower bound, and the square of its standard error by seeds."""

    log: float
    is_bound: bool
    variance: float


def _by_seeds_alone(here: Sequence[_Cost], there: Sequence[_Cost]) -> float:
    """Returns the mean Kendall's tau-b of two orders of the costs `here`, one with the noise of
    each side."""
    normal = np.random.Generator(np.random.Philox(0)).standard_normal((2, NOISES, len(here)))
    log, is_bound = np.array([one.log for one in here]), np.array([one.is_bound for one in here])
    noise = np.sqrt(np.nan_to_num([[one.variance for one in side] for side in (here, there)]))
    return float(tau_of(*(order(one, is_bound) for one in log + noise[:, None] * normal)).mean())


def _order(costs: Sequence[_Cost]) -> Floats:
    return order(np.array([one.log for one in costs]), np.array([one.is_bound for one in costs]))


def _costs(found: Entered, axis: str, points: list[str]) -> dict[str, dict[str, _Cost]]:
    """Returns by point and algorithm what was measured, without algorithms with public data. Those
    that never arrive are here, though no model has them."""
    columns = found.at(axis, {"point": points}, public_data=False, left_out=True)
    if len(set(columns["algorithm"])) < LEAST:
        return {}
    known = [name for name in points if name in set(columns["point"])]
    runs = reading.read(columns, known)
    seen = measured(runs)
    return {
        name: {
            row: _Cost(float(seen.log[n, k]), bool(seen.is_bound[n, k]), float(seen.variance[n, k]))
            for k, row in enumerate(runs.algorithms)
            if not np.isnan(seen.log[n, k])
        }
        for n, name in enumerate(known)
    }


def _over_points(values: Mapping[str, float]) -> Interval:
    """Returns the mean over points, with the interval over draws of points."""
    return bootstrap.estimate({"points": np.array(list(values.values()))}, _mean)


def _mean(means: bootstrap.Strata) -> Floats:
    return means["points"]
