"""Boards as lines of a table. Every row has, at every point, a line for all targets that get a
verdict together, and a line for each target."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from fedbench.analysis.board import BOARD_AXES, Board, Standing


@dataclass(frozen=True)
class BoardLine:
    """One row at one point, for one target or for all that get a verdict.

    system: the kind of its group, empty for a reference, which is not compared.
    target: None in the line for all targets together.
    has_verdict: whether the target, or any of them, gets a verdict. Without one, the line for all
    targets is of all of the scenario's targets.
    cost: the geometric mean of the virtual seconds over seeds, and over targets.
    hits: how many of the `attempts`, pairs of a seed and a target, hold the target. With fewer hits
    than attempts the cost is a lower bound.
    median: the Kaplan-Meier median, None for all targets together, or if too few seeds arrive.
    regret: [value, low, high] of the row's cost over that of the cheapest row of its group; high is
    None if it is not known. is_best: whether it is in the set of the best. Both are in the line for
    all targets only. There is no regret without a
    verdict, of a row that reaches no target, and of one that is alone in its group.
    gradients, bytes: what the row spends until it holds the targets, as geometric means over seeds
    and targets; None without a verdict, and in a line for one target except for bytes.
    at_work: the mean number of clients at work, None if the records do not say it.
    """

    point: str
    row: str
    system: str
    target: float | None
    has_verdict: bool
    cost: float
    hits: int
    attempts: int
    median: float | None
    regret: tuple[float, float, float | None] | None
    is_best: bool
    gradients: float | None
    bytes: float | None
    at_work: float | None
    seeds: int
    unfinished: int

    @property
    def is_bound(self) -> bool:
        """Returns whether the cost is only a lower bound, because a target was missed."""
        return self.hits < self.attempts


def board_lines(boards: Mapping[str, Board], *, only: Collection[str] = ()) -> list[BoardLine]:
    """Returns the lines of all boards. Rows have the order of their board. The line for all targets
    of a row stands before those for each.

    Args:
        boards: by point.
        only: the rows to be shown; all rows if it is empty. Regrets are those of the whole boards.
    """
    return [
        line
        for point, board in boards.items()
        for standing in board.standings
        if not only or standing.row in only
        for line in _lines(point, board, standing)
    ]


def _lines(point: str, board: Board, one: Standing) -> Iterator[BoardLine]:
    """Yields the lines of a row. One that is alone in its group has no regret and no mark."""
    decided, ratio = one.decided, one.regret if one.ranking is not None and len(one.ranking.rows) > 1 else None
    spent = {axis: None if one.ranking is None else board.ranking(one.group, axis).cost(one.row) for axis in BOARD_AXES}
    whole = BoardLine(
        point=point,
        row=one.row,
        system="" if one.ranking is None else one.group.kind,
        target=None,
        has_verdict=any(arrival.has_verdict for arrival in decided),
        cost=one.cost,
        hits=sum(arrival.hits for arrival in decided),
        attempts=sum(len(arrival.reached) for arrival in decided),
        median=None,
        regret=None if ratio is None else ratio.numbers,
        is_best=one.is_best and ratio is not None,
        gradients=spent["gradient_evaluations"],
        bytes=spent["bytes"],
        at_work=one.under_way,
        seeds=len(one.arrivals[0].reached),
        unfinished=one.unfinished,
    )
    yield whole
    for arrival in one.arrivals:
        yield replace(
            whole,
            target=arrival.target,
            has_verdict=arrival.has_verdict,
            cost=arrival.cost,
            hits=arrival.hits,
            attempts=len(arrival.reached),
            median=arrival.median,
            regret=None,
            is_best=False,
            gradients=None,
            bytes=arrival.bytes,
        )
