"""Makes the table that says at a glance which algorithm costs least: a line for each point, a
column for each system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fedbench.leaderboard import formats
from fedbench.leaderboard.document import board_at, groups_at, systems
from fedbench.written import Ratio

AXES = {"gradient_evaluations": "fewest gradients", "bytes": "fewest bytes"}
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
    rows: tuple[tuple[Mapping[str, Any], tuple[Cell, ...]], ...]


def decisions(document: Mapping[str, Any], kind: str) -> Decisions | None:
    """Returns the table of a kind of options, with the systems in which rows are compared. None if
    there is no such system."""
    found = compared(document, kind)
    if not found:
        return None
    columns = [(system, "seconds") for system in found] + [(found[0], axis) for axis in AXES]
    heads = [system if axis == "seconds" else f"{AXES[axis]}, {system}" for system, axis in columns]
    points = [point for point in document["points"] if groups_at(document, kind, point["name"])]
    rows = [(point, tuple(_cell(document, kind, point["name"], *column) for column in columns)) for point in points]
    return Decisions(tuple(heads), len(found), tuple(rows))


def compared(document: Mapping[str, Any], kind: str) -> list[str]:
    """Returns the systems in which algorithms are compared at some point."""
    return [one for one in systems(document, kind) if _is_compared(document, kind, one)]


def _is_compared(document: Mapping[str, Any], kind: str, system: str) -> bool:
    return any(
        one["kind"] == system and len(one["rows"]) > 1 and one["axes"]["seconds"]["leader"] is not None
        for of_point in document["groups"][kind].values()
        for one in of_point
    )


def _cell(document: Mapping[str, Any], kind: str, point: str, system: str, axis: str) -> Cell:
    group = next((one for one in groups_at(document, kind, point) if one["kind"] == system), None)
    if group is None:
        return Cell("", "", (), "no row")
    found, board = group["axes"][axis], board_at(document, kind, point)
    if found["leader"] is None:
        return Cell("", "", (), "no target" if group["targets"] else "no verdict")
    others = [row for row in found["best"] if row != found["leader"]]
    shown = tuple((row, Ratio.of(regret).parts[0]) for row in others[:MOST] if (regret := regret_on(board[row], axis)))
    more = f"{len(others) - MOST} more" if len(others) > MOST else ""
    return Cell(found["leader"], formats.cost(board[found["leader"]], axis), shown, more)


def regret_on(row: Mapping[str, Any], axis: str) -> Any:
    """Returns the regret of a row of a board on an axis; None without one."""
    return row["regret"] if axis == "seconds" else row["axes"][axis]["regret"]
