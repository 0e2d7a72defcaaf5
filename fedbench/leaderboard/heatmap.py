"""The table of algorithms x points of a suite: what a cell says in words, and how dark it is."""

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

    text: its time, or a dash where it reaches no target or has no row. interval: how sure that is;
    empty where it is not known. note: what the number does not say. level: 0 up to the square root
    of two times the earliest, one more for every further such factor, None where there is no time.
    mark: `first` for the earliest and for whoever cannot be told from it, `alike` for the same
    among the rows without an advantage, or
        `both`.
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
    """Algorithms that are alike in what they have beyond the others. `title` is empty for those
    that have nothing beyond."""

    title: str
    lines: tuple[Line, ...]


Rows = Mapping[str, Mapping[str, Any]]
"""The rows of an algorithm by point."""
Board = Sequence[Mapping[str, Any]]
"""The rows of a point."""


def times(document: Mapping[str, Any], kind: str) -> list[Group]:
    """Returns the time of every algorithm at every point, shaded by its ratio to the earliest
    ranked row of the point.

    Groups are: like for like, then by advantage, then references. Within a group those come first
    that reach the most targets and, among equals, need the least time compared with the earliest
    rows.
    """
    return _groups(document, kind, lambda rows, board, point: _time(rows.get(point["name"]), board, point))


def costs(document: Mapping[str, Any], kind: str) -> list[Group]:
    """Returns, in the same groups, the time at every point over the algorithm's own time at the
    first point, which is the base."""
    base = document["points"][0]["name"]
    return _groups(document, kind, lambda rows, board, point: _cost(rows.get(point["name"]), rows.get(base), point))


def _groups(document: Mapping[str, Any], kind: str, cell: Callable[[Rows, Board, Mapping[str, Any]], Cell]) -> list[Group]:
    titles: dict[str, list[Mapping[str, Any]]] = {"": []}
    for algorithm in sorted(document["algorithms"], key=lambda one: one["advantages"]):
        titles.setdefault(_title(algorithm), []).append(algorithm)
    references = titles.pop(POOLED, [])
    found = []
    for title, several in [*titles.items(), (POOLED, references)]:
        order = sorted(several, key=lambda one: _rank(document, kind, one["label"]))
        lines = tuple(_line(document, kind, one, cell) for one in order if _row_of(document, kind, one["label"]))
        if lines:
            found.append(Group(title, lines))
    return found if len(found) < 2 or found[0].title else [Group("Like for like", found[0].lines), *found[1:]]


def _title(algorithm: Mapping[str, Any]) -> str:
    if algorithm["family"] == "reference":
        return POOLED
    return " and ".join(algorithm["advantages"]).capitalize()


def _row_of(document: Mapping[str, Any], kind: str, label: str) -> dict[str, Mapping[str, Any]]:
    """Returns the rows of an algorithm by point."""
    return {point: row for point, rows in document["boards"][kind].items() for row in rows if row["label"] == label}


def _rank(document: Mapping[str, Any], kind: str, label: str) -> tuple[float, float, str]:
    rows = _row_of(document, kind, label)
    if not rows:
        return 1.0, math.inf, label
    solved = sum(row["solved"] for row in rows.values()) / len(rows)
    ratios = [math.log(_over(row["mean"], earliest(document["boards"][kind][point]))) for point, row in rows.items()]
    return -solved, sum(ratios) / len(ratios), label


def earliest(rows: Sequence[Mapping[str, Any]]) -> float:
    """Returns the least mean time of the ranked rows of a board; of all rows if none is ranked."""
    ranked = [row["mean"] for row in rows if row["place"] is not None]
    return float(min(ranked or [row["mean"] for row in rows]))


def _line(
    document: Mapping[str, Any], kind: str, algorithm: Mapping[str, Any], cell: Callable[[Rows, Board, Mapping[str, Any]], Cell]
) -> Line:
    rows, boards = _row_of(document, kind, algorithm["label"]), document["boards"][kind]
    cells = tuple(cell(rows, boards.get(point["name"], []), point) for point in document["points"])
    return Line(algorithm["label"], cells)


def _time(row: Mapping[str, Any] | None, board: Board, point: Mapping[str, Any]) -> Cell:
    if row is None:
        return Cell(
            formats.NONE, "", "no row", None, mark="", title=f"{point['name']}: no row; it is not applicable, or lacks runs"
        )
    seeds = len(row["seconds"])
    targets = ", ".join(f"{100 * one['target']:g} % by {one['hits']} of {seeds} seeds" for one in row["targets"])
    half = "" if row["half_width"] is None else f"± {row['half_width']:.1f}"
    title = f"{row['label']} at {point['name']}: {row['mean']:.1f} s {half}; {formats.on_board(row)}; {targets}"
    if row["solved"] == 0:
        return Cell(formats.NONE, "", "no target", None, mark="", title=title)
    missed, bound = ("", "") if row["solved"] == 1 else (f"{formats.percent(row['solved'])} hit", "≥ ")
    mark = {(True, False): "first", (False, True): "alike", (True, True): "both"}.get((row["first"], row["first_alike"]), "")
    level = _level(_over(row["mean"], earliest(board)))
    return Cell(f"{bound}{formats.tenths(row['mean'])}", half, missed, level, mark=mark, title=title)


def _cost(row: Mapping[str, Any] | None, base: Mapping[str, Any] | None, point: Mapping[str, Any]) -> Cell:
    """A time that counts a missed target with the budget is a lower bound, of the point or of the
    base."""
    if row is None or base is None:
        return Cell(formats.NONE, "", "no row", None, mark="", title=f"{point['name']}: no row here, or at the base")
    if row["solved"] == 0:
        return Cell(
            formats.NONE, "", "no target", None, mark="", title=f"{row['label']} at {point['name']}: it reaches no target"
        )
    ratio, between = _over(row["mean"], base["mean"]), row.get("over_base")
    interval = f"[{between[0]:.1f}, {between[1]:.1f}]" if between else ""
    title = f"{row['label']} at {point['name']}: {row['mean']:.1f} s, at the base {base['mean']:.1f} s"
    return Cell(f"{formats.bound(row, base)}{ratio:.1f}", interval, "", _level(ratio), mark="", title=title)


def _over(time: float, other: float) -> float:
    """Returns a ratio of virtual times, none below the resolution of the clock: a target may be met
    at once."""
    return max(time, CLOCK) / max(other, CLOCK)


def _level(ratio: float) -> int:
    return min(LEVELS - 1, max(0, math.floor(PER_DOUBLING * math.log2(ratio) + 1e-9)))
