"""Makes a table of boards from which LaTeX and Markdown are written: its heads, cells and notes as
plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from fedbench import written
from fedbench.analysis.board_table import BoardLine
from fedbench.analysis.costs import TOO_EARLY
from fedbench.analysis.metrics import in_words
from fedbench.analysis.pictures.boards import Heat
from fedbench.scenarios.schema import ACCURACY
from fedbench.written import AT_LEAST, BEST, Ratio

NO_ROW, NEVER, NO_VERDICT = written.NONE, "never", written.UNKNOWN
CHEAPEST, REFERENCES = "cheapest, cost", "references, not compared"


@dataclass(frozen=True)
class Cell:
    """A cell: a number with the signs before it, and what stands behind it, such as an interval. In
    a cell without a number, `rest` is a word."""

    number: str
    rest: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Row:
    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Block:
    """The rows of one system, which are compared with each other."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Grid:
    """A table, and what its signs mean, one sentence for each."""

    heads: tuple[str, ...]
    blocks: tuple[Block, ...]
    notes: tuple[str, ...]

    def named(self, names: Mapping[str, str]) -> Grid:
        """Returns the table in which these rows have other names."""
        blocks = [
            replace(block, rows=tuple(replace(row, name=names.get(row.name, row.name)) for row in block.rows))
            for block in self.blocks
        ]
        return replace(self, blocks=tuple(blocks))

    @property
    def rows(self) -> list[Row]:
        return [row for block in self.blocks for row in block.rows]


def over_targets(lines: Sequence[BoardLine], left_out: Mapping[str, str] | None = None, metric: str = ACCURACY) -> Grid:
    """Returns the table of one point.

    Its columns are the cost and the regret of every row, and what each target takes. Rows are in
    the order of the board. `left_out` has by row why it is not on the board. `metric` is that of
    the targets.
    """
    targets = sorted({line.target for line in lines if line.target is not None})
    found = {(line.row, line.target): line for line in lines}

    def at(target: float) -> Callable[[str], Cell]:
        return lambda row: _cost(found.get((row, target)))

    columns: dict[str, Callable[[str], Cell]] = {
        "cost": lambda row: _cost(found[row, None], marked=True),
        "regret": lambda row: _regret(found[row, None]),
        **{in_words(metric, target): at(target) for target in targets},
    }
    blocks = []
    for system in dict.fromkeys(line.system for line in lines):
        names = dict.fromkeys(line.row for line in lines if line.system == system)
        rows = [Row(name, tuple(cell(name) for cell in columns.values())) for name in names]
        decided = [t for t in targets if any(line.has_verdict for line in lines if (line.system, line.target) == (system, t))]
        blocks.append(Block(f"{system or REFERENCES}{f': {in_words(metric, *decided)}' if decided else ''}", tuple(rows)))
    told = "Cost: virtual seconds until the targets are held that stand behind the system, the geometric mean over seeds and targets."
    return Grid(
        tuple(columns),
        tuple(blocks),
        (told, *_notes(blocks), *(f"Not compared: {row}, {why}." for row, why in (left_out or {}).items())),
    )


def over_points(data: Heat) -> Grid:
    """Returns the table of several points.

    Its columns are the points. A block has what the cheapest row of a system costs at each point,
    and the regret of every row.
    """
    blocks = []
    for group in data.groups:
        shown = _regret if group.kind and len(group.rows) > 1 else _cost
        rows = [Row(one.row, tuple(map(shown, one.cells))) for one in group.rows]
        if shown is _regret:
            rows.insert(0, Row(CHEAPEST, tuple(Cell("", NO_VERDICT) if one is None else _cost(one) for one in group.cheapest)))
        blocks.append(Block(group.kind or REFERENCES, tuple(rows)))
    told = "Regret: a row's cost over that of the cheapest row of its system at the point, in virtual seconds until the targets are held."
    return Grid(data.points, tuple(blocks), (told, *_notes(blocks)))


def _cost(line: BoardLine | None, *, marked: bool = False) -> Cell:
    """Returns the cell of a cost. It has a mark if it may have one, and its row is in the set of
    the best."""
    if line is None:
        return Cell("", NO_ROW)
    missed = f"miss {line.attempts - line.hits}/{line.attempts}" if line.is_bound else ""
    if line.hits == 0:
        return Cell("", missed)
    return Cell(written.bound(written.tenths(line.cost), line.is_bound), missed, BEST if marked and line.is_best else "")


def _regret(line: BoardLine | None) -> Cell:
    if line is None:
        return Cell("", NO_ROW)
    if not line.system or not line.has_verdict:
        return Cell("", NO_VERDICT if line.system else "")
    if line.regret is None:
        return Cell("", NEVER if line.hits == 0 else "alone")
    return Cell(*Ratio.of(line.regret).parts, BEST if line.is_best else "")


def plain(cell: Cell) -> str:
    """Returns a cell as plain text, such as `● ≥ 1.24 [1.01, ∞]`."""
    return " ".join(part for part in (cell.mark, cell.number, cell.rest) if part)


def _notes(blocks: Sequence[Block]) -> list[str]:
    cells = [cell for block in blocks for row in block.rows for cell in row.cells]
    lines = ["Rows of one system are compared, and only they. Brackets: 95 % intervals."]
    if any(cell.mark for cell in cells):
        lines.append(f"{BEST} in the set of the best, which contains the best row with a probability of at least 95 %.")
    if any(AT_LEAST in cell.number for cell in cells):
        lines.append(
            f"{AT_LEAST} a lower bound, since a missed target counts with what the run had spent; miss 3/10: 3 of 10 are missed."
        )
    if any(cell.rest == NO_VERDICT for cell in cells):
        lines.append(f"{NO_VERDICT} no verdict: every target is {TOO_EARLY}.")
    if any(cell.rest == NEVER for cell in cells):
        lines.append(f"{NEVER}: no target is held.")
    if any(cell.rest == NO_ROW for cell in cells):
        lines.append(f"{NO_ROW} no row.")
    return lines
