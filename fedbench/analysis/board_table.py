"""Boards as lines of a table: one for each row, point and target, and one for the time to all
targets of the point together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from fedbench.analysis.board import Arrival, Board, Standing
from fedbench.analysis.statistics import Estimate


@dataclass(frozen=True)
class BoardLine:
    """One row at one point, for one target or for all of them.

    target: None for all targets together: the mean over them, by which a board is ordered. mean,
    half_width: virtual seconds over seeds and their 95 % interval, None with one seed; a miss
    counts with the budget. hits: of `attempts`, which are seeds, or pairs of a seed and a target.
    With fewer hits than attempts the mean is a lower bound. median: Kaplan-Meier's, bytes: the mean
    of what was sent until then; both None for all targets together, and where too few arrive.
    place: of the tie class at the point, from 0; None for a reference, which is not ranked. first:
    it is the earliest ranked row of the point, or the seeds cannot tell it from the earliest.
    first_alike: the same among the rows without an advantage; None where that is not known.
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
        """Is the mean only a lower bound, because a target was missed?"""
        return self.hits < self.attempts


def board_lines(
    boards: Mapping[str, Board], alike: Mapping[str, Board] | None = None, *, only: Collection[str] = ()
) -> list[BoardLine]:
    """Returns the lines of all boards; of a point, rows in the order of its board; of a row, all
    targets together, then each.

    Args:
        boards: by point.
        alike: the boards of the rows without an advantage, where they are known.
        only: rows to be shown; all if there is none. Who is first is said of the whole board.
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
            first=standing in board.first,
            first_alike=None if alike is None else any(other.row == standing.row for other in alike.first),
            seeds=len(standing.seconds),
            unfinished=standing.unfinished,
        )

    arrivals = standing.arrivals
    yield line(None, standing.mean, sum(one.hits for one in arrivals), sum(len(one.reached) for one in arrivals))
    for one in arrivals:
        yield line(one.target, one.restricted, one.hits, len(one.reached), one)
