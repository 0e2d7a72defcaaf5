"""Boards as plain data for pages and files. There are only JSON values, and no NaN."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fedbench.analysis.axes import SECONDS
from fedbench.analysis.board import BOARD_AXES, Board, Standing
from fedbench.analysis.ranking import Ranking
from fedbench.written import Ratio


def rows(board: Board, marks: Mapping[str, Sequence[str]] | None = None) -> list[dict[str, Any]]:
    """Returns the standings of a board: references first, then group by group from the smallest
    cost to the largest. `marks` are sentences on how a row's options were chosen.

    A row has its group, its cost in virtual seconds with that of every seed, its regret, whether it
    is in the set of the best of its group, what becomes of every target, and on the other axes its
    cost and regret. `against` has, by the other rows of its group, its cost over theirs with the
    interval of that one pair. A ratio is [value, low, high]; high is None where the row misses
    targets that the other one reaches, so that the value is a lower bound.
    """
    return [_row(board, one, list((marks or {}).get(one.row, ()))) for one in board.standings]


def _row(board: Board, one: Standing, marks: list[str]) -> dict[str, Any]:
    ranking = one.ranking
    others = [row for row in ranking.rows if row != one.row] if ranking is not None else []
    axes = {} if ranking is None else {axis: board.ranking(one.group, axis) for axis in BOARD_AXES if axis != SECONDS.name}
    return {
        "label": one.row,
        "group": None if ranking is None else one.group.kind,
        "under_way": one.under_way,
        "cost": one.cost,
        "is_bound": one.is_bound,
        "costs": _by_seed(one),
        "regret": _ratio(one.regret),
        "is_best": one.is_best,
        "solved": one.solved,
        "unfinished": one.unfinished,
        "targets": [
            {
                "target": arrival.target,
                "has_verdict": arrival.has_verdict,
                "hits": arrival.hits,
                "cost": arrival.cost,
                "median": arrival.median,
                "bytes": arrival.bytes,
            }
            for arrival in one.arrivals
        ],
        "axes": {axis: _on_axis(found, one) for axis, found in axes.items()},
        "against": {row: _ratio(ranking.pair(one.row, row)) for row in others} if ranking is not None else {},
        "marks": marks,
    }


def _by_seed(one: Standing) -> dict[str, float]:
    """Returns the cost of every seed, where a miss counts with what the run had spent."""
    found = one.ranking.found if one.ranking is not None else None
    if found is None:
        return {}
    logs = found.costs.log[:, found.costs.rows.index(one.row)].mean(axis=1)
    return {str(seed): math.exp(value) for seed, value in zip(found.costs.seeds, logs, strict=True)}


def _on_axis(found: Ranking, one: Standing) -> dict[str, Any]:
    known = found.found is not None
    return {
        "cost": found.cost(one.row),
        "is_bound": found.misses(one.row),
        "regret": _ratio(found.regret(one.row)) if known and one.hits else None,
        "is_best": one.row in found.best,
    }


def _ratio(given: Ratio | None) -> list[float | None] | None:
    """Returns [value, low, high]; None without a ratio, or if the interval is not known."""
    numbers = None if given is None else given.numbers
    return None if numbers is None else list(numbers)


def groups(board: Board) -> list[dict[str, Any]]:
    """Returns the groups of a board: their systems, the targets that get a verdict, and by axis the
    leader, the set of the best, the resolution as a ratio and the stability as a share of splits.
    `leaders` has the leaders in seconds by rule of reaching."""
    return [
        {
            "kind": group.kind,
            "words": group.words,
            "at_work": group.at_work,
            "public_data": group.public_data,
            "rows": list(board.members(group)),
            "targets": list(board.ranking(group).targets),
            "axes": {axis: _summary(board.ranking(group, axis)) for axis in BOARD_AXES},
            "leaders": {rule: leader for (of, rule), leader in board.leaders.items() if of == group},
        }
        for group in board.groups
    ]


def _summary(found: Ranking) -> dict[str, Any]:
    resolution = found.resolution
    return {
        "leader": found.leader,
        "best": found.best,
        "resolution": None if resolution is None or math.isinf(resolution) else resolution,
        "stability": found.stability,
    }
