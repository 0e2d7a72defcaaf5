"""Numbers over several points or boards, with intervals over seeds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from fedbench.analysis import bootstrap
from fedbench.analysis.board import CLOCK, Board, Standing
from fedbench.analysis.bootstrap import Floats, Interval, Strata

BASELINE = "fedavg"

Boards = Mapping[str, Board]
"""The boards by point."""


def first_at(boards: Boards, row: str) -> int:
    """Returns at how many points a row is first, or cannot be told from the first."""
    return sum(found.is_first(row) for found in boards.values())


def points_of(boards: Boards, row: str) -> list[str]:
    """Returns the points whose boards have a row."""
    return [point for point, found in boards.items() if found.of(row) is not None]


def solved(boards: Boards, row: str) -> Interval:
    """Returns the share of targets and seeds that a row reaches within the budgets. Every point
    whose board has the row counts alike."""
    strata = {
        point: np.isfinite([list(arrival.reached.values()) for arrival in found.arrivals]).T.astype(np.float64)
        for point, one in boards.items()
        if (found := one.of(row)) is not None
    }
    return bootstrap.estimate(strata, bootstrap.mean_of_scenarios)


def ratio(first: Boards, a: str, second: Boards, b: str) -> Interval | None:
    """Returns the time to the targets of row b of `second` over that of row a of `first`, with
    paired seeds: the geometric mean over the points that have both. None if there is no such
    point."""
    strata = {}
    for point in sorted(first.keys() & second.keys()):
        one, other = first[point].of(a), second[point].of(b)
        if one is not None and other is not None:
            strata[point] = _seconds([one, other])
    return bootstrap.estimate(strata, _ratio) if strata else None


def _ratio(means: Strata) -> Floats:
    """Returns the geometric mean over points of second / first."""
    return np.asarray(np.exp(np.mean([np.log(both[:, 1] / both[:, 0]) for both in means.values()], axis=0)), np.float64)


def gap(board: Board) -> Interval | None:
    """Returns the time to the targets of the baseline over that of the earliest ranked row. Every
    draw of seeds has its own earliest row. None if the board lacks the baseline, or if no ranked
    row reaches a target."""
    base = board.of(BASELINE)
    if base is None or not board.first:
        return None
    return bootstrap.estimate({"": _seconds([base, *board.ranked])}, lambda means: means[""][:, 0] / means[""][:, 1:].min(axis=1))


def gap_bound(board: Board) -> str:
    """Returns the sign of the gap of a board, see `bound`."""
    return bound(board.of(BASELINE), board.first[0] if board.first else None)


def family_gap(board: Board, synchronous: Collection[str]) -> Interval | None:
    """Returns the time to the targets of the earliest synchronous row over that of the earliest
    other ranked row. Every draw of seeds has its own earliest rows. None if one of the sides has no
    row that reaches a target."""
    first, second = _sides(board, synchronous)
    if not all(any(one.solved > 0 for one in side) for side in (first, second)):
        return None
    count = len(first)
    return bootstrap.estimate(
        {"": _seconds([*first, *second])}, lambda means: means[""][:, :count].min(axis=1) / means[""][:, count:].min(axis=1)
    )


def family_bound(board: Board, synchronous: Collection[str]) -> str:
    """Returns the sign of the gap between families, see `bound`."""
    first, second = _sides(board, synchronous)
    return bound(first[0] if first else None, second[0] if second else None)


def _sides(board: Board, synchronous: Collection[str]) -> tuple[list[Standing], list[Standing]]:
    return [one for one in board.ranked if one.row in synchronous], [one for one in board.ranked if one.row not in synchronous]


def bound(first: Standing | None, second: Standing | None) -> str:
    """Returns the sign that says of what a ratio of two rows' times is a bound, since a missed
    target counts with the budget: `≥` if the first row misses targets, `≤` if the second one does,
    `?` if both do, and nothing if none does."""
    misses = (first is not None and first.solved < 1, second is not None and second.solved < 1)
    return {(True, False): "≥", (False, True): "≤", (True, True): "?"}.get(misses, "")


def common(first: Board, second: Board) -> tuple[list[Standing], list[Standing]]:
    """Returns the rows that both boards rank, in the order of the first and in that of the
    second."""
    both = {one.row for one in first.ranked} & {one.row for one in second.ranked}
    return [one for one in first.standings if one.row in both], [one for one in second.standings if one.row in both]


def agreement(first: Board, second: Board) -> Interval | None:
    """Returns Kendall's tau-b between the orders, by mean time, of the rows that both boards rank:
    1 for the same order, -1 for the opposite one. A draw of seeds in which all rows of a board have
    the same time counts as 0. None with fewer than three such rows.

    Source: Kendall 1945.
    """
    ordered, _ = common(first, second)
    if len(ordered) < 3:
        return None
    again = [found for one in ordered if (found := second.of(one.row)) is not None]
    return bootstrap.estimate({"first": _seconds(ordered), "second": _seconds(again)}, _tau)


def _tau(means: Strata) -> Floats:
    first, second = (np.sign(means[name][:, :, None] - means[name][:, None, :]) for name in ("first", "second"))
    agree = (first * second).sum(axis=(1, 2))
    most = np.sqrt((first**2).sum(axis=(1, 2)) * (second**2).sum(axis=(1, 2)))
    return np.asarray(np.divide(agree, most, out=np.zeros_like(agree), where=most > 0), np.float64)


def _seconds(rows: Sequence[Standing]) -> Floats:
    """Returns the times of rows, (seeds, rows). Times below the resolution of the virtual clock are
    raised to it, so that a target that is met at once has a ratio too."""
    return np.maximum([[one.seconds[seed] for one in rows] for seed in sorted(rows[0].seconds)], CLOCK)
