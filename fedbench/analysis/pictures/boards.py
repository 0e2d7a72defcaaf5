"""The data of pictures of boards of several points: profiles, which show how many targets a row
reaches by when, and heat maps, which show how fast a row is at which point."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from fedbench.analysis.board import CLOCK, Board, Standing, times
from fedbench.analysis.profiles import Reference, ecdf, profile
from fedbench.errors import UsageError

FACTORS = 2.0 ** np.arange(-2, 5 + 1 / 32, 1 / 16)
"""Factors of reference times, from a quarter to 32."""
SHARES = np.linspace(0, 1, 101)
"""Shares of budgets, from 0 to 1."""

Boards = Mapping[str, Board]
"""The boards by point."""


@dataclass(frozen=True)
class Profile:
    """One row: for every place, the share of targets and seeds that it has reached by then."""

    row: str
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Profiles:
    """The profiles of several rows.

    relative: whether `at` are factors of the frozen reference times; else, without a reference,
    they are shares of the budgets.
    problems: the number of targets of all points.
    """

    relative: bool
    at: tuple[float, ...]
    problems: int
    lines: tuple[Profile, ...]


def solved_profiles(boards: Boards, reference: Reference | None) -> Profiles:
    """Returns the profile of every row, from the row that reaches the largest share of its targets
    to the one that reaches least.

    Args:
        boards: by point.
        reference: frozen times, see `fedbench.analysis.profiles`. A row that was not run at one of
            its points has solved nothing there.

    Raises:
        UsageError: without boards, or for a reference without times.
    """
    if not boards:
        raise UsageError("profiles: expected at least one board, got none")
    at = SHARES if reference is None else FACTORS
    lines = []
    for row in order(boards):
        own = times(boards, row)
        lines.append(Profile(row, tuple((ecdf(own, at) if reference is None else profile(own, reference, at)).tolist())))
    known = {(point, arrival.target) for point, one in boards.items() for row in one.standings for arrival in row.arrivals}
    problems = len(known) if reference is None else len(reference.seconds)
    return Profiles(reference is not None, tuple(at.tolist()), problems, tuple(lines))


@dataclass(frozen=True)
class Cell:
    """One row at one point.

    mean: virtual seconds to the targets, where a miss counts with the budget.
    half_width: of the 95 % interval of the mean, None with one seed.
    ratio: the mean over that of the earliest ranked row of the point.
    hits: the number of pairs of a seed and a target that it reaches, of `attempts` pairs. With
    fewer hits than attempts, mean and ratio are lower bounds.
    first: whether it is the earliest ranked row, or cannot be told from it.
    first_alike: the same among the rows without an advantage.
    """

    mean: float
    half_width: float | None
    ratio: float
    hits: int
    attempts: int
    first: bool
    first_alike: bool


@dataclass(frozen=True)
class HeatRow:
    """One row, with a cell for each point, None where it was not run. `ranked` is False for a
    reference."""

    row: str
    ranked: bool
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Heat:
    """A heat map, whose lines are rows and whose columns are points."""

    points: tuple[str, ...]
    rows: tuple[HeatRow, ...]


def heat(boards: Boards, alike: Boards | None = None, *, only: Collection[str] = ()) -> Heat:
    """Returns the heat map of every row at every point. Ranked rows come first, in the order of
    `order`.

    Args:
        boards: by point.
        alike: by point, the boards of the rows without an advantage, if there are other rows.
        only: the rows to be shown; all rows if it is empty. Ratios are to the earliest row of the
            whole board.

    Raises:
        UsageError: without boards.
    """
    if not boards:
        raise UsageError("heat: expected at least one board, got none")
    found = []
    for row in (one for one in order(boards) if not only or one in only):
        cells = tuple(_cell(one, row, (alike or {}).get(point)) for point, one in boards.items())
        found.append(HeatRow(row, _is_ranked(boards, row), cells))
    return Heat(tuple(boards), tuple(sorted(found, key=lambda one: not one.ranked)))


def order(boards: Boards) -> list[str]:
    """Returns all rows, from the one that reaches the largest share of its targets to the one that
    reaches least. Among equals, the one that needs the least time compared with the earliest rows
    comes first."""

    def key(row: str) -> tuple[float, float, str]:
        at = [(board, found) for board in boards.values() if (found := board.of(row)) is not None]
        solved = sum(found.solved for _, found in at) / len(at)
        return -solved, sum(math.log(ratio_to_earliest(board, found)) for board, found in at) / len(at), row

    return sorted({one.row for board in boards.values() for one in board.standings}, key=key)


def ratio_to_earliest(board: Board, standing: Standing) -> float:
    """Returns a row's mean time over that of the earliest ranked row, or of the earliest row if
    none is ranked."""
    earliest = (board.ranked or list(board.standings))[0]
    return max(_mean(standing), CLOCK) / max(_mean(earliest), CLOCK)


def _mean(standing: Standing) -> float:
    """Returns the mean over seeds. Every standing has one, since a miss counts with the budget."""
    return math.inf if standing.mean.mean is None else standing.mean.mean


def _is_ranked(boards: Boards, row: str) -> bool:
    return any((found := board.of(row)) is not None and found.place is not None for board in boards.values())


def _cell(board: Board, row: str, alike: Board | None) -> Cell | None:
    found = board.of(row)
    if found is None:
        return None
    return Cell(
        mean=_mean(found),
        half_width=found.mean.half_width,
        ratio=ratio_to_earliest(board, found),
        hits=found.hits,
        attempts=found.attempts,
        first=board.is_first(row),
        first_alike=alike is not None and alike.is_first(row),
    )
