"""Makes the table of algorithms and points of a suite: what a cell says in words, and how dark it
is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fedbench.analysis.board import CLOCK
from fedbench.leaderboard import formats

LEVELS = 7  # classes h0 .. h6 in style.css
POOLED = "Pooled data, not ranked"
PER_DOUBLING = 2  # levels from one time to twice as much


@dataclass(frozen=True)
class Cell:
    """One algorithm at one point.

    Attributes:
        text: its time, or a dash where it reaches no target or has no row.
        interval: the interval of the time; empty where it is not known.
        note: what the number does not say.
        level: how dark the cell is. It is 0 up to the square root of two times the earliest, and
            one more for every further such factor. None where there is no time.
        mark: `first` for the earliest row and for all that cannot be told from it, `alike` for the
            same among the rows without an advantage, or `both`; else empty.
        title: all of it in words.
    """

    text: str
    interval: str
    note: str
    level: int | None
    mark: str
    title: str


@dataclass(frozen=True)
class Line:
    """One algorithm with its cells in the order of the points."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Group:
    """Algorithms that have the same advantages. `title` is empty if they have none and there is no
    other group."""

    title: str
    lines: tuple[Line, ...]


Rows = Mapping[str, Mapping[str, Any]]
"""The rows of an algorithm by point."""
Board = Sequence[Mapping[str, Any]]
"""The rows of a point."""


def times(document: Mapping[str, Any], kind: str) -> list[Group]:
    """Returns the time of every algorithm at every point, shaded by its ratio to the earliest
    ranked row of the point.

    The first group has the algorithms without an advantage, the next ones have one for each set of
    advantages, and the last one has references. In a group the algorithms that reach the most
    targets come first. Among equals those come first that need the least time compared with the
    earliest rows.
    """
    return _groups(document, kind, lambda rows, board, point: _time(rows.get(point["name"]), board, point))


def costs(document: Mapping[str, Any], kind: str) -> list[Group]:
    """Returns the time of every algorithm at every point over its own time at the first point,
    which is the base. The groups are those of `times`."""
    base = document["points"][0]["name"]
    return _groups(document, kind, lambda rows, board, point: _cost(rows.get(point["name"]), rows.get(base), point))


def _groups(document: Mapping[str, Any], kind: str, cell: Callable[[Rows, Board, Mapping[str, Any]], Cell]) -> list[Group]:
    boards, points = document["boards"][kind], document["points"]
    labels: dict[str, list[str]] = {"": []}
    for algorithm in sorted(document["algorithms"], key=lambda one: one["advantages"]):
        labels.setdefault(_title(algorithm), []).append(algorithm["label"])
    labels[POOLED] = labels.pop(POOLED, [])  # references come last
    found = []
    for title, several in labels.items():
        rows = {label: _rows_of(boards, label) for label in several}
        order = sorted((label for label in several if rows[label]), key=lambda label: _rank(boards, rows[label], label))
        if order:
            cells = {label: tuple(cell(rows[label], boards.get(one["name"], []), one) for one in points) for label in order}
            found.append(Group(title, tuple(Line(label, cells[label]) for label in order)))
    return found if len(found) < 2 or found[0].title else [Group("Like for like", found[0].lines), *found[1:]]


def _title(algorithm: Mapping[str, Any]) -> str:
    if algorithm["family"] == "reference":
        return POOLED
    return " and ".join(algorithm["advantages"]).capitalize()


def _rows_of(boards: Mapping[str, Board], label: str) -> dict[str, Mapping[str, Any]]:
    """Returns the rows of an algorithm by point."""
    return {point: row for point, rows in boards.items() for row in rows if row["label"] == label}


def _rank(boards: Mapping[str, Board], rows: Rows, label: str) -> tuple[float, float, str]:
    """Returns the key by which the algorithms of a group are sorted."""
    solved = sum(row["solved"] for row in rows.values()) / len(rows)
    ratios = [math.log(_over(row["mean"], earliest(boards[point]))) for point, row in rows.items()]
    return -solved, sum(ratios) / len(ratios), label


def earliest(rows: Sequence[Mapping[str, Any]]) -> float:
    """Returns the least mean time of the ranked rows of a board, or of all rows if none is
    ranked."""
    ranked = [row["mean"] for row in rows if row["place"] is not None]
    return float(min(ranked or [row["mean"] for row in rows]))


def _without_time(note: str, title: str) -> Cell:
    return Cell(formats.NONE, "", note, None, mark="", title=title)


def _time(row: Mapping[str, Any] | None, board: Board, point: Mapping[str, Any]) -> Cell:
    if row is None:
        return _without_time("no row", f"{point['name']}: no row; it is not applicable, or lacks runs")
    seeds = len(row["seconds"])
    targets = ", ".join(f"{100 * one['target']:g} % by {one['hits']} of {seeds} seeds" for one in row["targets"])
    half = "" if row["half_width"] is None else f"± {row['half_width']:.1f}"
    title = f"{row['label']} at {point['name']}: {row['mean']:.1f} s {half}; {formats.on_board(row)}; {targets}"
    if row["solved"] == 0:
        return _without_time("no target", title)
    missed, bound = ("", "") if row["solved"] == 1 else (f"{formats.percent(row['solved'])} hit", "≥ ")
    mark = {(True, False): "first", (False, True): "alike", (True, True): "both"}.get((row["first"], row["first_alike"]), "")
    level = _level(_over(row["mean"], earliest(board)))
    return Cell(f"{bound}{formats.tenths(row['mean'])}", half, missed, level, mark=mark, title=title)


def _cost(row: Mapping[str, Any] | None, base: Mapping[str, Any] | None, point: Mapping[str, Any]) -> Cell:
    """Returns the cell of a row's time over that at the base. The ratio is a bound if a target is
    missed here or at the base, since a miss counts with the budget."""
    if row is None or base is None:
        return _without_time("no row", f"{point['name']}: no row here, or at the base")
    if row["solved"] == 0:
        return _without_time("no target", f"{row['label']} at {point['name']}: it reaches no target")
    ratio, between = _over(row["mean"], base["mean"]), row.get("over_base")
    interval = f"[{between[0]:.1f}, {between[1]:.1f}]" if between else ""
    title = f"{row['label']} at {point['name']}: {row['mean']:.1f} s, at the base {base['mean']:.1f} s"
    return Cell(f"{formats.bound(row, base)}{ratio:.1f}", interval, "", _level(ratio), mark="", title=title)


def _over(time: float, other: float) -> float:
    """Returns the ratio of two virtual times. Each counts as at least the resolution of the clock,
    since a target may be reached at once."""
    return max(time, CLOCK) / max(other, CLOCK)


def _level(ratio: float) -> int:
    return min(LEVELS - 1, max(0, math.floor(PER_DOUBLING * math.log2(ratio) + 1e-9)))
