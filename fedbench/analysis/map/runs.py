"""The runs to which a model of costs is fitted, read from plain columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench.analysis.map.factors import Columns, Floats, Integers
from fedbench.errors import UsageError, quoted, some

Flags = npt.NDArray[np.bool_]
WANTED = ("algorithm", "point", "seed", "cost", "is_censored")


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs by point, unit and seed. A unit is an algorithm with one draw of its tuning; without
    known draws an algorithm is one unit. Not all points have equally many units or seeds, so some
    places are empty.

    algorithms, points: their names (K,) and (N,).
    algorithm: of every unit, its place in `algorithms` (N, U). An empty unit counts as the first.
    tuning: of every unit, the number of its draw (N, U); -1 where it is not known.
    log: the logarithm of the cost, or of the cost at which the run was censored (N, U, S); 0 in
    empty places.
    least: that of what the run certainly cost (N, U, S), which of a censored run may be less.
    is_there, is_censored: (N, U, S).
    """

    algorithms: tuple[str, ...]
    points: tuple[str, ...]
    algorithm: Integers
    tuning: Integers
    log: Floats
    least: Floats
    is_there: Flags
    is_censored: Flags

    @property
    def of_algorithm(self) -> Floats:
        """Returns which unit is of which algorithm, as zeros and ones (N, U, K)."""
        return np.eye(len(self.algorithms))[self.algorithm]

    def per_algorithm(self, values: Floats) -> Floats:
        """Returns the sums of values (N, U, S) over the runs of each algorithm (K,)."""
        return np.asarray(np.einsum("nus,nuk->k", np.where(self.is_there, values, 0), self.of_algorithm))


def read(columns: Columns, points: Sequence[str]) -> Runs:
    """Returns the runs of some columns, in the order of `points`; algorithms are in alphabetical
    order.

    Args:
        columns: `algorithm`, `point`, `seed`, `cost`, `is_censored`, and `tuning` if draws are
            known: what names the draw, or None. Draws of one algorithm with the same name at
            several points are the same draw. A cost of a censored run is where it was censored;
            `least` is what it certainly cost, by default the same.
        points: the names of the points, of which each has a run.

    Raises:
        UsageError: for a missing column, columns of other lengths, a cost that is no finite number
            above 0, a run that is there twice, a point that is not known or has no run, fewer than
            two algorithms, or no point with two seeds.
    """
    _check(columns, points)
    draws = columns.get("tuning") or [None] * len(columns["cost"])
    algorithms = sorted(set(columns["algorithm"]))
    units = [
        (point, algorithm, draw) for point, algorithm, draw in zip(columns["point"], columns["algorithm"], draws, strict=True)
    ]
    of_point = {point: sorted({unit for unit in units if unit[0] == point}, key=str) for point in points}
    seeds = {
        point: sorted({seed for at, seed in zip(columns["point"], columns["seed"], strict=True) if at == point})
        for point in points
    }
    number = {draw: k for k, draw in enumerate(sorted({unit[1:] for unit in units if unit[2] is not None}, key=str))}
    shape = (len(points), max(map(len, of_point.values())), max(map(len, seeds.values())))
    algorithm, tuning = np.zeros(shape[:2], np.int64), np.full(shape[:2], -1)
    for n, point in enumerate(points):
        for u, (_, name, draw) in enumerate(of_point[point]):
            algorithm[n, u], tuning[n, u] = algorithms.index(name), number.get((name, draw), -1)
    place = {unit: (n, u) for n, point in enumerate(points) for u, unit in enumerate(of_point[point])}
    at = tuple(
        np.array([(*place[unit], seeds[unit[0]].index(seed)) for unit, seed in zip(units, columns["seed"], strict=True)]).T
    )
    log, least, is_there, is_censored = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    log[at], least[at] = np.log(columns["cost"]), np.log(columns.get("least") or columns["cost"])
    is_there[at], is_censored[at] = True, columns["is_censored"]
    return Runs(tuple(algorithms), tuple(points), algorithm, tuning, log, least, is_there, is_censored)


def _check(columns: Columns, points: Sequence[str]) -> None:
    for name in (one for one in WANTED if one not in columns):
        raise UsageError(f"map: column {name} is missing; given: {some(columns)}")
    counts = {name: len(column) for name, column in columns.items()}
    if len(set(counts.values())) != 1 or not counts["cost"]:
        shown = ", ".join(f"{count} of {name}" for name, count in counts.items())
        raise UsageError(f"map: expected columns of one length, and at least one run, got {shown}")
    _check_rows(columns)
    if unknown := sorted(set(columns["point"]) - set(points)):
        raise UsageError(f"map: runs at the point {quoted(unknown[0])}, which the design does not have")
    seen = set(columns["point"])
    if left := [point for point in points if point not in seen]:
        raise UsageError(f"map: no run at the point {quoted(left[0])} of the design")
    if len(set(columns["algorithm"])) < 2:
        raise UsageError(f"map: expected two algorithms or more, got {some(set(columns['algorithm']))}")
    if max(Counter(point for point, _ in set(zip(columns["point"], columns["seed"], strict=True))).values()) < 2:
        raise UsageError("map: every point has one seed; expected two or more, or seeds and scatter cannot be told apart")


def _check_rows(columns: Columns) -> None:
    for cost, flag, *named in zip(*(columns[name] for name in ("cost", "is_censored", *WANTED[:3])), strict=True):
        if isinstance(cost, bool) or not isinstance(cost, (int, float, np.number)) or not 0 < cost < np.inf:
            raise UsageError(f"{_where(*named)} has cost {quoted(cost)}, expected a finite number above 0")
        if not isinstance(flag, (bool, np.bool_)):
            raise UsageError(f"{_where(*named)} has is_censored {quoted(flag)}, expected true or false")
    keys = [*WANTED[:3], *(["tuning"] if "tuning" in columns else [])]
    for run in _twice(zip(*(columns[name] for name in keys), strict=True)):
        raise UsageError(
            f"map: two runs have {', '.join(f'{name} {quoted(value)}' for name, value in zip(keys, run, strict=True))}"
        )


def _where(algorithm: object, point: object, seed: object) -> str:
    return f"map: run of {quoted(algorithm)} at {quoted(point)} with seed {quoted(seed)}"


def _twice(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [row for row, count in Counter(rows).items() if count > 1]
