"""The data of pictures of boards of several points: profiles, which show how many targets a row
reaches by when, and heat maps, which show how much more than the cheapest a row costs at which
point."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from fedbench.analysis.board import Board, times
from fedbench.analysis.board_table import BoardLine, board_lines
from fedbench.analysis.groups import Group
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
    """Returns the profile of every row, in the order of `order`.

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
class HeatRow:
    """One row, with its line for all targets at each point, None where it was not run."""

    row: str
    cells: tuple[BoardLine | None, ...]


@dataclass(frozen=True)
class HeatGroup:
    """The rows of one kind of system.

    kind: in words, such as `10 clients at work`; empty for references, which are not compared.
    cheapest: for each point the line of the cheapest row, None without a verdict.
    """

    kind: str
    cheapest: tuple[BoardLine | None, ...]
    rows: tuple[HeatRow, ...]


@dataclass(frozen=True)
class Heat:
    """A heat map, whose lines are rows by group and whose columns are points."""

    points: tuple[str, ...]
    groups: tuple[HeatGroup, ...]


def heat(boards: Boards, *, only: Collection[str] = ()) -> Heat:
    """Returns the heat map of every row at every point, in the order of `kinds` and `order`. A row
    whose system is another one at some points is in several groups.

    Args:
        boards: by point.
        only: the rows to be shown; all rows if it is empty. Regrets are those of the whole boards.

    Raises:
        UsageError: without boards.
    """
    if not boards:
        raise UsageError("heat: expected at least one board, got none")
    found = {(line.system, line.row, line.point): line for line in board_lines(boards) if line.target is None}
    groups = []
    for kind in kinds(boards):
        names = [
            row for row in order(boards) if (not only or row in only) and any((kind, row, point) in found for point in boards)
        ]
        rows = tuple(HeatRow(row, tuple(found.get((kind, row, point)) for point in boards)) for row in names)
        leaders = {(group.kind, point): board.ranking(group).leader for point, board in boards.items() for group in board.groups}
        cheapest = tuple(found.get((kind, leaders.get((kind, point)) or "", point)) for point in boards)
        groups += [HeatGroup(kind, cheapest, rows)] if rows else []
    return Heat(tuple(boards), tuple(groups))


def kinds(boards: Boards) -> list[str]:
    """Returns the kinds of systems on the boards in the order of `Group.place`, then an empty one
    if there are references."""
    found: dict[str, Group] = {}
    for one in (standing for board in boards.values() for standing in board.ranked):
        found.setdefault(one.group.kind, one.group)
    return [
        *sorted(found, key=lambda kind: found[kind].place),
        *([""] if any(len(board.ranked) < len(board.standings) for board in boards.values()) else []),
    ]


def order(boards: Boards) -> list[str]:
    """Returns all rows, from the one whose cost is least on average to the one that costs most, as
    geometric means of the cost over that of the cheapest row of its system. Rows that reach no
    target at some point come after the others, and those without a verdict at the end."""

    def key(row: str) -> tuple[bool, bool, float, str]:
        at = [found for board in boards.values() if (found := board.of(row)) is not None]
        regrets = [one.ranking.regret(row) for one in at if one.ranking is not None]
        ratios = [np.log(one.value) for one in regrets if one is not None]
        return not ratios, any(one.hits == 0 for one in at), float(np.mean(ratios)) if ratios else 0.0, row

    return sorted({one.row for board in boards.values() for one in board.standings}, key=key)
