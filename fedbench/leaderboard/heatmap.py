"""Makes the table of algorithms and points, system by system: what a cell says in words, and how
dark it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedbench import written
from fedbench.documents.board import Standing
from fedbench.documents.parts import Kind
from fedbench.documents.suite import Document, Point
from fedbench.leaderboard import formats

LEVELS = 7  # classes h0 .. h6 in style.css
PER_DOUBLING = 3  # levels from one regret to twice as much
REFERENCES = "References, not compared"

Rows = Mapping[str, Standing]
"""The rows of an algorithm by point."""


@dataclass(frozen=True)
class Cell:
    """One algorithm at one point.

    Attributes:
        text: its regret, or its cost if it is compared with no other; a dash where there is no
            number.
        interval: the interval of the regret; empty where it is not known.
        note: why there is no regret.
        level: how dark the cell is, one more for every factor of 1.26. None without a regret.
        is_best: whether it is in the set of the best of its system.
        title: all of it in words.
    """

    text: str
    interval: str
    note: str
    level: int | None
    is_best: bool
    title: str


@dataclass(frozen=True)
class System:
    """The algorithms of one kind of system, which are compared with each other.

    title: the kind, such as `10 clients at work`.
    cheapest: for each point the cost of the cheapest algorithm; empty if no two are compared.
    lines: the label of every algorithm, with its cells in the order of the points.
    """

    title: str
    cheapest: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell, ...]], ...]


def heat(document: Document, kind: Kind) -> list[System]:
    """Returns the regret of every algorithm at every point, by kind of system. In a system the
    algorithms with the smallest mean regret come first, and those that reach no target at some
    point last. References are at the end."""
    return _systems(document, kind, [*document.systems(kind), None], document.points)


def heat_of(document: Document, kind: Kind, system: str) -> tuple[list[Point], list[System]]:
    """Returns the points that have a system, and the regrets of its algorithms there."""
    points = [point for point in document.points if system in document.systems_at(kind, point.name)]
    return points, _systems(document, kind, [system], points)


def _systems(document: Document, kind: Kind, systems: Sequence[str | None], at: Sequence[Point]) -> list[System]:
    points = [point.name for point in at]
    found = []
    for system in systems:
        rows = _rows_of(document.boards[kind], system)
        if rows:
            order = sorted(rows, key=lambda label: _rank(rows[label], label))
            lines = tuple((label, tuple(_cell(rows[label].get(point), point) for point in points)) for label in order)
            is_compared = any(row.against for of_label in rows.values() for row in of_label.values())
            cheapest = tuple(_cheapest(document, kind, point, system) for point in points) if system and is_compared else ()
            found.append(System(REFERENCES if system is None else _title(system), cheapest, lines))
    return found


def _title(system: str) -> str:
    return system[0].upper() + system[1:]


def _rows_of(boards: Mapping[str, Sequence[Standing]], system: str | None) -> dict[str, dict[str, Standing]]:
    """Returns the rows of a system by label and point."""
    found: dict[str, dict[str, Standing]] = {}
    for point, rows in boards.items():
        for row in rows:
            if row.group == system:
                found.setdefault(row.label, {})[point] = row
    return found


def _rank(rows: Rows, label: str) -> tuple[bool, float, str]:
    """Returns the key by which the algorithms of a system are sorted."""
    regrets = [math.log(row.regret.value) for row in rows.values() if row.regret is not None]
    return any(row.solved == 0 for row in rows.values()), math.fsum(regrets) / max(1, len(regrets)), label


def _cheapest(document: Document, kind: Kind, point: str, system: str) -> str:
    group = document.systems_at(kind, point).get(system)
    leader = None if group is None else group.axes["seconds"].leader
    return written.NONE if leader is None else formats.cost(document.board(kind, point)[leader])


def _cell(row: Standing | None, point: str) -> Cell:
    if row is None:
        return Cell(written.NONE, "", "no row", None, False, f"{point}: no row; it is not applicable, or lacks runs")
    held = ", ".join(f"{written.targets([one.target])} by {written.counted(one.hits, 'seed')}" for one in row.targets)
    title = f"{row.label} at {point}: {formats.cost(row)}; {formats.on_board(row)}; {held}"
    if row.ratio is None:
        if row.solved == 0:
            return Cell(written.NONE, "", "no target", None, False, title)
        note = "no verdict" if row.group and row.regret is None else ""
        return Cell(formats.cost(row), "", note, None, False, title)
    text, interval = row.ratio.parts
    return Cell(text, interval, "", shade(row.ratio.value), row.is_best, title)


def shade(ratio: float) -> int:
    """Returns how dark the cell of a ratio is."""
    return min(LEVELS - 1, max(0, math.floor(PER_DOUBLING * math.log2(ratio) + 1e-9)))
