"""Makes a table of boards from which LaTeX and Markdown are written: its heads, cells and notes as
plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedbench.analysis.board_table import BoardLine

Column = float | str | None
"""What a column stands for: a target, or a point, or None for all targets together."""
ALL_TARGETS, NO_ROW = "all targets", "–"
FIRST, FIRST_ALIKE, AT_LEAST = "●", "○", "≥"
"""Signs in a cell: its row is first, it is first among the rows without an advantage, its time is a
lower bound."""


@dataclass(frozen=True)
class Row:
    """A row of the table. `advantages` are the numbers of the notes to its name. `ranked` is false
    for a reference. A cell is None where the row has no line."""

    name: str
    advantages: tuple[int, ...]
    ranked: bool
    cells: tuple[BoardLine | None, ...]


@dataclass(frozen=True)
class Grid:
    """A table. `advantages` are the notes to names of rows, in the order of their numbers from
    1."""

    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    advantages: tuple[str, ...]

    @property
    def marks_alike(self) -> bool:
        return any(line is not None and FIRST_ALIKE in marks(line) for row in self.rows for line in row.cells)

    @property
    def has_references(self) -> bool:
        return any(not row.ranked for row in self.rows)

    @property
    def lacks_rows(self) -> bool:
        return any(line is None for row in self.rows for line in row.cells)

    @property
    def has_misses(self) -> bool:
        return any(line is not None and line.is_bound for row in self.rows for line in row.cells)


def over_targets(lines: Sequence[BoardLine], advantages: Mapping[str, Sequence[str]]) -> Grid:
    """Returns the table of one point.

    Its columns are the targets, after one for all targets together; a single target has one column.
    Rows are in the order of the board. `advantages` has what a row has beyond the others, by row.
    """
    targets = list(dict.fromkeys(line.target for line in lines))
    heads = tuple(ALL_TARGETS if target is None else f"{100 * target:g} %" for target in targets)
    if len(targets) == 2:
        targets, heads = targets[:1], heads[1:]
    rows = list(dict.fromkeys(line.row for line in lines))
    return _grid(heads, rows, {(line.row, line.target): line for line in lines}, targets, advantages)


def over_points(lines: Sequence[BoardLine], rows: Sequence[str], advantages: Mapping[str, Sequence[str]]) -> Grid:
    """Returns the table of several points.

    Its columns are the points. A cell has the time to all targets of its point.

    Args:
        lines: those of the boards of the points.
        rows: the rows in their order. References are moved to the end.
        advantages: what a row has beyond the others, by row.
    """
    points = list(dict.fromkeys(line.point for line in lines))
    found: dict[tuple[str, Column], BoardLine] = {(line.row, line.point): line for line in lines if line.target is None}
    ranked = {line.row for line in lines if line.place is not None}
    shown = [row for row in sorted(rows, key=lambda row: row not in ranked) if any(line.row == row for line in lines)]
    return _grid(tuple(points), shown, found, points, advantages)


def _grid(
    heads: tuple[str, ...],
    rows: Sequence[str],
    found: Mapping[tuple[str, Column], BoardLine],
    columns: Sequence[Column],
    advantages: Mapping[str, Sequence[str]],
) -> Grid:
    notes = sorted({words for row in rows for words in advantages.get(row, ())})
    ranked = {line.row for line in found.values() if line.place is not None}
    several = [
        Row(
            name=row,
            advantages=tuple(notes.index(words) + 1 for words in advantages.get(row, ())),
            ranked=row in ranked,
            cells=tuple(found.get((row, column)) for column in columns),
        )
        for row in rows
    ]
    return Grid(heads, tuple(several), tuple(notes))


def seconds(value: float) -> str:
    """Returns seconds with one decimal, or with none from 100 on."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}"


def marks(line: BoardLine) -> str:
    """Returns the signs of a row that is first. They are signs since a reader may not see bold
    type. A row is first in all targets together, not in one of them, and it reaches some of
    them."""
    is_marked = line.target is None and line.hits > 0
    return FIRST * (is_marked and line.first) + FIRST_ALIKE * (is_marked and bool(line.first_alike))


def plain(line: BoardLine | None) -> str:
    """Returns a cell as plain text, such as `● ≥ 12.3 ± 0.6, miss 3/40`. It has no time if every
    attempt missed."""
    if line is None:
        return NO_ROW
    miss = missed(line)
    if line.hits == 0:
        return miss
    number = seconds(line.mean) if line.half_width is None else f"{seconds(line.mean)} ± {seconds(line.half_width)}"
    signs = marks(line)
    return f"{signs}{' ' if signs else ''}{f'{AT_LEAST} ' if miss else ''}{number}{', ' if miss else ''}{miss}"


def missed(line: BoardLine) -> str:
    """Returns in words how many attempts missed; nothing if none did."""
    return f"miss {line.attempts - line.hits}/{line.attempts}" if line.is_bound else ""


def notes(grid: Grid) -> list[str]:
    """Returns what the table's signs mean, one sentence for each."""
    lines = ["Mean virtual seconds over seeds, ± their 95 % interval."]
    if grid.has_misses:
        lines.append(
            f"A missed target counts with the whole budget, so {AT_LEAST} is a lower bound; miss 3/10 says that 3 of 10 are missed."
        )
    lines.append(f"{FIRST} first, or the seeds cannot tell it from the first.")
    if grid.marks_alike:
        lines.append(f"{FIRST_ALIKE} the same among the rows without an advantage.")
    if grid.has_references:
        lines.append("Rows in parentheses are references, which are not ranked.")
    if grid.lacks_rows:
        lines.append(f"{NO_ROW} no row.")
    return lines
