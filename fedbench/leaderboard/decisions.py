"""Makes the table that says at a glance which algorithm costs least: a line for each point, a
column for each system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fedbench.documents.board import Standing
from fedbench.documents.parts import Kind, Ratio, Spent
from fedbench.documents.suite import Document, Point
from fedbench.leaderboard import formats

AXES: Mapping[Spent, str] = {"gradient_evaluations": "fewest gradients", "bytes": "fewest bytes"}
"""The columns of the first system on the other axes."""
MOST = 4  # rows of a set that a cell names


@dataclass(frozen=True)
class Cell:
    """One board: its cheapest row with its cost, and the others of the set of the best with their
    regrets. `note` says why there is no cheapest row, or how many more there are."""

    leader: str
    cost: str
    others: tuple[tuple[str, str], ...]
    note: str = ""


@dataclass(frozen=True)
class Decisions:
    """The table: its columns, of which the first `timed` are by virtual time, and its cells by
    point."""

    columns: tuple[str, ...]
    timed: int
    rows: tuple[tuple[Point, tuple[Cell, ...]], ...]


def decisions(document: Document, kind: Kind) -> Decisions | None:
    """Returns the table of a kind of options, with the systems in which rows are compared. Where
    points have different numbers of clients at work by design, the columns are axes. None if there
    is no such system."""
    found = compared(document, kind)
    if not found:
        return None
    if document.map is not None:
        return _by_design(document, kind)
    columns: list[tuple[str, Spent]] = [(system, "seconds") for system in found] + [(found[0], axis) for axis in AXES]
    heads = [system if axis == "seconds" else f"{AXES[axis]}, {system}" for system, axis in columns]
    points = [point for point in document.points if document.systems_at(kind, point.name)]
    rows = [(point, tuple(_cell(document, kind, point.name, *column) for column in columns)) for point in points]
    return Decisions(tuple(heads), len(found), tuple(rows))


def _by_design(document: Document, kind: Kind) -> Decisions:
    """Returns the table whose cells are of the system that each point has, without public data."""
    axes: dict[Spent, str] = {"seconds": "seconds", **AXES}
    rows = []
    for point in document.points:
        systems = [one.kind for one in document.systems_at(kind, point.name).values() if not one.public_data]
        if systems:
            rows.append((point, tuple(_cell(document, kind, point.name, systems[0], axis) for axis in axes)))
    return Decisions(tuple(axes.values()), 1, tuple(rows))


def compared(document: Document, kind: Kind) -> list[str]:
    """Returns the systems in which algorithms are compared at some point."""
    groups = [one for of_point in document.groups[kind].values() for one in of_point]
    found = {one.kind for one in groups if len(one.rows) > 1 and one.axes["seconds"].leader is not None}
    return [one for one in document.systems(kind) if one in found]


def _cell(document: Document, kind: Kind, point: str, system: str, axis: Spent) -> Cell:
    group = document.systems_at(kind, point).get(system)
    if group is None:
        return Cell("", "", (), "no row")
    found, board = group.axes[axis], document.board(kind, point)
    if found.leader is None:
        return Cell("", "", (), "no target" if group.targets else "no verdict")
    others = [row for row in found.best if row != found.leader]
    shown = tuple((row, regret.parts[0]) for row in others[:MOST] if (regret := regret_on(board[row], axis)))
    more = f"{len(others) - MOST} more" if len(others) > MOST else ""
    return Cell(found.leader, formats.cost(board[found.leader], axis), shown, more)


def regret_on(row: Standing, axis: Spent) -> Ratio | None:
    """Returns the regret of a row of a board on an axis; None without one."""
    found = row.on(axis)
    return None if found is None else found.regret
