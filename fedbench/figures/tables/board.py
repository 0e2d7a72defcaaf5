"""What a table of boards shows, before it is LaTeX or Markdown: heads, cells and notes as plain
parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedbench.analysis.board_table import BoardLine

Column = float | str | None
"""A target, a point, or all targets together."""
ALL_TARGETS, NO_ROW = "all targets", "–"
FIRST, FIRST_ALIKE, AT_LEAST = "●", "○", "≥"


@dataclass(frozen=True)
class Cell:
    """mean: seconds; half_width: of their interval, None if there is none. is_bound: the mean is a
    lower bound. missed: what was missed of `attempts`, where something was. first, first_alike:
    marks. A cell without a mean has `words` instead."""

    mean: float | None = None
    half_width: float | None = None
    missed: int = 0
    attempts: int = 0
    first: bool = False
    first_alike: bool = False
    words: str = ""


@dataclass(frozen=True)
class Row:
    """advantages: numbers of the notes that its name refers to. ranked: it is no reference."""

    name: str
    advantages: tuple[int, ...]
    ranked: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Grid:
    """A table. advantages: the notes in the order of their numbers, from 1."""

    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    advantages: tuple[str, ...]

    @property
    def marks_alike(self) -> bool:
        return any(cell.first_alike for row in self.rows for cell in row.cells)

    @property
    def has_references(self) -> bool:
        return any(not row.ranked for row in self.rows)

    @property
    def lacks_rows(self) -> bool:
        return any(cell.words == NO_ROW for row in self.rows for cell in row.cells)

    @property
    def has_misses(self) -> bool:
        return any(cell.missed for row in self.rows for cell in row.cells)


def over_targets(lines: Sequence[BoardLine], advantages: Mapping[str, Sequence[str]]) -> Grid:
    """Returns the table of one point: rows x targets, the time to all of them first; a single
    target has one column. Rows are in the order of the board."""
    targets = list(dict.fromkeys(line.target for line in lines))
    heads = tuple(ALL_TARGETS if target is None else f"{100 * target:g} %" for target in targets)
    if len(targets) == 2:
        targets, heads = targets[:1], heads[1:]
    rows = list(dict.fromkeys(line.row for line in lines))
    return _grid(heads, rows, {(line.row, line.target): line for line in lines}, targets, advantages)


def over_points(lines: Sequence[BoardLine], rows: Sequence[str], advantages: Mapping[str, Sequence[str]]) -> Grid:
    """Returns the table of several points: rows x points, each cell with the time to all targets of
    the point. `rows`: their order, behind which references stand last."""
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
            cells=tuple(_cell(found.get((row, column))) for column in columns),
        )
        for row in rows
    ]
    return Grid(heads, tuple(several), tuple(notes))


def _cell(line: BoardLine | None) -> Cell:
    if line is None:
        return Cell(words=NO_ROW)
    missed = line.attempts - line.hits
    if line.hits == 0:
        return Cell(missed=missed, attempts=line.attempts)
    is_whole = line.target is None  # who is first is said of all targets together
    return Cell(
        mean=line.mean,
        half_width=line.half_width,
        missed=missed,
        attempts=line.attempts,
        first=is_whole and line.first,
        first_alike=is_whole and bool(line.first_alike),
    )


def seconds(value: float) -> str:
    """Returns seconds with one digit, none from 100 on."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}"


def marks(cell: Cell) -> str:
    """Returns who is first as signs, not as bold type, which a reader may not see."""
    return FIRST * cell.first + FIRST_ALIKE * cell.first_alike


def plain(cell: Cell) -> str:
    """Returns a cell as plain text, such as `● ≥ 12.3 ± 0.6, miss 3/40`."""
    miss = missed(cell)
    if cell.mean is None:
        return cell.words or miss
    number = seconds(cell.mean) if cell.half_width is None else f"{seconds(cell.mean)} ± {seconds(cell.half_width)}"
    signs = marks(cell)
    return f"{signs}{' ' if signs else ''}{f'{AT_LEAST} ' if miss else ''}{number}{', ' if miss else ''}{miss}"


def missed(cell: Cell) -> str:
    """Returns what was missed in words; nothing if nothing was."""
    return f"miss {cell.missed}/{cell.attempts}" if cell.missed else ""


def notes(grid: Grid) -> list[str]:
    """Returns what the table's signs mean, a sentence each."""
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
