"""Boards as lines of a table. Every row has, at every point, a line for all targets of the point
together and a line for each target."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from fedbench.analysis.board import Arrival, Board, Standing
from fedbench.analysis.statistics import Estimate


@dataclass(frozen=True)
class BoardLine:
    """One row at one point, for one target or for all of them.

    target: None in the line for all targets together, which has the mean over them.
    mean: virtual seconds over seeds, where a miss counts with the budget.
    half_width: of the 95 % interval of the mean, None with one seed.
    hits: how many of the `attempts` reach the target. Attempts are seeds, or pairs of a seed and a
    target in the line for all targets. With fewer hits than attempts the mean is a lower bound.
    median: the Kaplan-Meier median, None for all targets together, or if too few seeds arrive.
    bytes: the mean number of bytes sent until the target, None in the same cases.
    place: of the tie class at the point, from 0, None for a reference, which is not ranked.
    first: whether it is the earliest ranked row of the point, or cannot be told from it.
    first_alike: the same among the rows without an advantage, None where that is not known.
    """

    point: str
    row: str
    target: float | None
    mean: float
    half_width: float | None
    hits: int
    attempts: int
    median: float | None
    bytes: float | None
    place: int | None
    first: bool
    first_alike: bool | None
    seeds: int
    unfinished: int

    @property
    def is_bound(self) -> bool:
        """Returns whether the mean is only a lower bound, because a target was missed."""
        return self.hits < self.attempts


def board_lines(
    boards: Mapping[str, Board], alike: Mapping[str, Board] | None = None, *, only: Collection[str] = ()
) -> list[BoardLine]:
    """Returns the lines of all boards. Rows have the order of their board. The line for all targets
    of a row stands before those for each.

    Args:
        boards: by point.
        alike: by point, the boards of the rows without an advantage, where they are known.
        only: the rows to be shown; all rows if it is empty. `first` is of the whole board.
    """
    return [
        line
        for point, board in boards.items()
        for standing in board.standings
        if not only or standing.row in only
        for line in _lines(point, board, (alike or {}).get(point), standing)
    ]


def _lines(point: str, board: Board, alike: Board | None, standing: Standing) -> Iterator[BoardLine]:
    def line(target: float | None, mean: Estimate, hits: int, attempts: int, one: Arrival | None = None) -> BoardLine:
        assert mean.mean is not None  # every seed has a time
        return BoardLine(
            point=point,
            row=standing.row,
            target=target,
            mean=mean.mean,
            half_width=mean.half_width,
            hits=hits,
            attempts=attempts,
            median=one.median if one else None,
            bytes=one.bytes if one else None,
            place=standing.place,
            first=board.is_first(standing.row),
            first_alike=None if alike is None else alike.is_first(standing.row),
            seeds=len(standing.seconds),
            unfinished=standing.unfinished,
        )

    yield line(None, standing.mean, standing.hits, standing.attempts)
    for one in standing.arrivals:
        yield line(one.target, one.restricted, one.hits, len(one.reached), one)
