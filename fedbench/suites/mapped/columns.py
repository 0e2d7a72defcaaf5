"""The runs of a suite with a design as the columns to which a model of costs is fitted.

The cost of a run is the one that boards score: the geometric mean, over the targets that get a
verdict, of what it had spent when it held them. So the mean log cost of a row that misses nothing
is the cost on its board. A run that misses a target is censored at a bound for the last one, see
`analysis.map.tallies`. A row for each target would count a run three times, since its targets are
not independent: who is late at the first is late at the last.

A run that broke off had spent little by then, and would never have reached a target. So what it had
spent is taken as if it had gone on at its pace until the end of the budget.

Only rows with tuned options enter, if the suite tunes; references do not. All seeds enter that
there are, also those of rows that a race dropped, since the model knows how many each row has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbench.analysis.axes import AXES, SECONDS
from fedbench.analysis.board import BOARD_AXES
from fedbench.analysis.costs import LEAST, Reached, reached, spending
from fedbench.analysis.map import tallies
from fedbench.analysis.map.factors import Floats
from fedbench.analysis.map.runs import Flags
from fedbench.errors import UsageError
from fedbench.results.holding import HOLD
from fedbench.results.record import Record
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import factors
from fedbench.suites.tuned import TUNED

NAMES = ("algorithm", "point", "seed", "cost", "is_censored", "least", "tuning")
KINDS = ("design", "held_out")
Table = dict[str, list[Any]]


@dataclass(frozen=True)
class Entered:
    """What enters a map.

    by_axis: the columns of the runs at the points of the design and at those held out. Points with
    other numbers of clients are in no model.
    public_data: the algorithms with public data. They are in the model, since their runs say how
    hard points and seeds are, and are compared with each other alone.
    left_out: by algorithm, why it is not in the model.
    """

    by_axis: Mapping[str, Table]
    public_data: frozenset[str]
    left_out: Mapping[str, str]

    def at(self, axis: str, points: Table, *, public_data: bool = True, left_out: bool = False) -> Table:
        """Returns the columns of the algorithms in the model at some points, with or without those
        that have public data, and those that are left out of the model."""
        rows, names = self.by_axis[axis], set(points["point"])
        out = (set() if left_out else set(self.left_out)) | (set() if public_data else self.public_data)
        kept = [
            k
            for k, (point, name) in enumerate(zip(rows["point"], rows["algorithm"], strict=True))
            if point in names and name not in out
        ]
        return {name: [column[k] for k in kept] for name, column in rows.items()}


def entered(results: Results, most: int | None = None) -> Entered:
    """Returns what enters the map of a suite. With `most`, costs are those of its first so many
    targets alone.

    Raises UsageError for a suite without a design, a point without a cap on clients at work, one at
    which no target gets a verdict, whose rows have no cost that can be compared, and if nobody
    arrives.
    """
    suite = results.suite
    suite.designed()
    entering = [point for point in suite.points if point.kind in KINDS]
    for point in entering:
        if suite.scenario_at(point).at_work is None:
            raise UsageError(
                f"suite {suite.name}: {point.name} has no cap on clients at work (at_work), so its rows are of several systems, "
                "which no map compares"
            )
    several: dict[str, list[_Spent]] = {axis: [] for axis in BOARD_AXES}
    public = set[str]()
    for name in (point.name for point in entering if point.name in results.seats):
        targets = _targets(results, name, most)
        for row, runs in results.seats[name].items():
            selector = row.removesuffix(TUNED)
            label, is_tuned = results.labels[selector], row != selector
            if is_tuned != (suite.tuning is not None) or results.families[label] == "reference":
                continue
            found = reached({label: runs})
            for axis in BOARD_AXES:
                several[axis].append(_Spent.of(found, axis, targets, name, _tuned_at(results, name, selector)))
            if results.group(name, selector, tuned=is_tuned).public_data:
                public.add(label)
    by_axis = {axis: _table(each) for axis, each in several.items()}
    left_out = _left_out(results, by_axis[BOARD_AXES[0]])
    if left_out.keys() == set(by_axis[BOARD_AXES[0]]["algorithm"]):
        raise UsageError(
            f"suite {suite.name}: no algorithm holds the last target at a point of the design, so there is nothing to map"
        )
    return Entered(by_axis, frozenset(public), left_out)


@dataclass(frozen=True, eq=False)
class _Spent:
    """What the runs of a row at a point spent on one axis, as logarithms.

    tuning: the anchor whose options it has, see `_tuned_at`.
    log, missed: when they held their targets (S, T).
    watched: when they last could reach one and be seen to hold it (S,).
    least: what they certainly cost (S,).
    """

    algorithm: str
    point: str
    tuning: str | None
    seeds: tuple[int, ...]
    log: Floats
    missed: Flags
    watched: Floats
    least: Floats

    @classmethod
    def of(cls, found: Reached, axis: str, targets: list[float], point: str, tuning: str | None) -> _Spent:
        on = found.on(AXES[axis]).at(targets)
        log, missed = on.log[:, 0], on.missed[:, 0]
        # A run that changed its model too seldom may be inside a window that began before.
        begun = np.where(found.index[:, 0, [found.targets.index(one) for one in targets]] < 0, np.inf, log)
        pace = np.array([_watched(runs[0], axis) for runs in found.runs])
        watched, least = np.minimum(pace, begun.max(axis=1)), tallies.least(log, missed, begun, pace)
        return cls(found.rows[0], point, tuning, on.seeds, log, missed, watched, least)


def _tuned_at(results: Results, point: str, selector: str) -> str | None:
    """Returns the anchor whose options a row has at a point, which is the point itself if all of
    the search was made there. The luck of that search is in the costs of all points that share it.
    None if no two points share any, since luck and lack of fit are then one."""
    if results.frozen is None or results.suite.anchors is None:
        return None
    near = results.frozen.points[point][selector].anchor
    return point if near is None else near.point


def _watched(run: Record, axis: str) -> float:
    """Returns the logarithm of what a run spends until its end over 1.2. The end of one that broke
    off is that of the budget."""
    over, under = HOLD
    seen = float(run.curves["seconds"][-1])
    until = (seen if run.state == "finished" else max(seen, run.spec.scenario.budget.seconds)) * under / over
    spent = until if axis == SECONDS.name else float(spending(run, AXES[axis])[-1]) * (until / seen if seen else 1.0)
    return math.log(max(spent, LEAST.get(axis, 1.0)))


def _table(several: Sequence[_Spent]) -> Table:
    """Returns the columns of an axis."""
    at = {name: [one for one in several if one.point == name] for name in dict.fromkeys(one.point for one in several)}
    gaps = {
        name: tallies.gap(*(np.concatenate([getattr(one, part) for one in here]) for part in ("log", "missed")))
        for name, here in at.items()
    }
    rows: list[tuple[Any, ...]] = []
    for one in several:
        known = gaps[one.point]
        log, is_censored = tallies.tallied(
            one.log, one.missed, one.watched, tallies.typical(list(gaps.values())) if known is None else known
        )
        each = zip(one.seeds, np.exp(log).tolist(), is_censored.tolist(), np.exp(one.least).tolist(), strict=True)
        rows += [(one.algorithm, one.point, *run, one.tuning) for run in each]
    return {name: [row[k] for row in rows] for k, name in enumerate(NAMES)}


def _targets(results: Results, point: str, most: int | None) -> list[float]:
    """Returns the targets of a point that get a verdict in all of its groups, of its first `most`
    alone if this is given."""
    boards = results.default if results.suite.tuning is None else results.tuned
    several = [] if point not in boards else [set(boards[point].ranking(group).targets) for group in boards[point].groups]
    found = sorted(set.intersection(*several)) if several else []
    if most is not None:
        run = next(iter(results.seats[point].values()))[0]
        found = [value for value in found if value in {goal.value for goal in run.spec.scenario.compared[:most]}]
    if not found:
        raise UsageError(f"suite {results.suite.name}: no target gets a verdict at {point}, or it has no complete row")
    return found


def _left_out(results: Results, rows: Table) -> dict[str, str]:
    """Returns the algorithms of which no run tells a cost at a point of the design."""
    design = set(factors.points(results.suite, "design")["point"])
    here, arrives = set[str](), set[str]()
    for name, point, is_censored in zip(rows["algorithm"], rows["point"], rows["is_censored"], strict=True):
        if point in design:
            here.add(name)
            arrives |= set() if is_censored else {name}
    found = dict.fromkeys(here - arrives, "it holds the last target at no point of the design")
    return found | dict.fromkeys(set(rows["algorithm"]) - here, "it has no run at a point of the design")
