"""The runs of a suite with a design as the columns to which a model of costs is fitted.

The cost of a run is the one that boards score: the geometric mean, over the targets that get a
verdict, of what it had spent when it held them, where a miss counts with what it had spent when it
was last seen. So the mean log cost of a row in the model is the cost on its board. If a target is
missed, this mean is a lower bound of what it would be, and the run is censored there; the last
target is the first to be missed. A row for each target would count a run three times, since its
targets are not independent: who is late at the first is late at the last.

Only rows with tuned options enter, if the suite tunes; references do not. All seeds enter that
there are, also those of rows that a race dropped, since the model knows how many each row has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbench.analysis.axes import AXES
from fedbench.analysis.board import BOARD_AXES
from fedbench.analysis.costs import reached
from fedbench.errors import UsageError
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import factors
from fedbench.suites.tuned import TUNED

NAMES = ("algorithm", "point", "seed", "cost", "is_censored")
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
    rows: dict[str, list[tuple[Any, ...]]] = {axis: [] for axis in BOARD_AXES}
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
                on = found.on(AXES[axis]).at(targets)
                costs, missed = np.exp(on.log[:, 0].mean(axis=1)), np.asarray(on.missed[:, 0].any(axis=1))
                rows[axis] += [(label, name, *run) for run in zip(on.seeds, costs.tolist(), missed.tolist(), strict=True)]
            if results.group(name, selector, tuned=is_tuned).public_data:
                public.add(label)
    by_axis = {axis: {name: [row[k] for row in several] for k, name in enumerate(NAMES)} for axis, several in rows.items()}
    left_out = _left_out(results, by_axis[BOARD_AXES[0]])
    if left_out.keys() == set(by_axis[BOARD_AXES[0]]["algorithm"]):
        raise UsageError(
            f"suite {suite.name}: no algorithm holds the last target at a point of the design, so there is nothing to map"
        )
    return Entered(by_axis, frozenset(public), left_out)


def _targets(results: Results, point: str, most: int | None) -> list[float]:
    """Returns the targets of a point that get a verdict in all of its groups, of its first `most`
    alone if this is given."""
    boards = results.default if results.suite.tuning is None else results.tuned
    several = [] if point not in boards else [set(boards[point].ranking(group).targets) for group in boards[point].groups]
    found = sorted(set.intersection(*several)) if several else []
    if most is not None:
        run = next(iter(results.seats[point].values()))[0]
        found = [value for value in found if value in {goal.value for goal in run.spec.scenario.targets[:most]}]
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
