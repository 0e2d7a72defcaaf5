"""Makes a table of a metric at the horizon, from which LaTeX and Markdown are written."""

from __future__ import annotations

from collections.abc import Sequence

from fedbench import written
from fedbench.analysis.horizon import ACCURACY
from fedbench.analysis.metric_table import MetricLine
from fedbench.figures.tables.board import NO_ROW, REFERENCES, Block, Cell, Grid, Row
from fedbench.written import BEST, PLUS_MINUS


def over_metric(lines: Sequence[MetricLine]) -> Grid:
    """Returns the table of a metric, of which there is at least one line. Its columns are the
    points. A row whose system is another one at some points is in several blocks."""
    points = tuple(dict.fromkeys(line.point for line in lines))
    found = {(line.system, line.row, line.point): line for line in lines}
    blocks = []
    for system in sorted(dict.fromkeys(line.system for line in lines), key=lambda one: not one):
        names = dict.fromkeys(line.row for line in lines if line.system == system)
        rows = [Row(name, tuple(_cell(found.get((system, name, point))) for point in points)) for name in names]
        blocks.append(Block(system or REFERENCES, tuple(rows)))
    return Grid(points, tuple(blocks), tuple(_notes(lines, blocks)))


def _cell(line: MetricLine | None) -> Cell:
    if line is None or line.left_out:
        return Cell("", NO_ROW)
    say = written.accuracy if line.metric == ACCURACY else _measured
    number, _, rest = say(line.estimate.mean, line.estimate.half_width).partition(" ")
    return Cell(number, rest, BEST if line.is_ahead else "")


def _measured(mean: float | None, half_width: float | None) -> str:
    return written.NONE if mean is None else written.measured(mean, half_width)


def _notes(lines: Sequence[MetricLine], blocks: Sequence[Block]) -> list[str]:
    first = lines[0]
    places = {line.point: written.place(line.at, first.axis.unit) for line in lines}
    alike = len(set(places.values())) == 1
    where = next(iter(places.values())) if alike else ", ".join(f"{place} ({point})" for point, place in places.items())
    why = ", the farthest place that all compared runs reach" if first.is_limit else ""
    notes = [
        f"{first.metric}: mean over seeds {PLUS_MINUS} the half of its 95 % interval, at {where} of {first.axis.words}{why}."
    ]
    cells = [cell for block in blocks for row in block.rows for cell in row.cells]
    if any(cell.mark for cell in cells):
        notes.append(
            f"{BEST} the best mean of its system, or not to be told from it (paired t-tests over seeds, adjusted by Holm)."
        )
    left_out = [
        (f"{line.row} at {line.point}" if len(places) > 1 else line.row, line.left_out) for line in lines if line.left_out
    ]
    return [*notes, *(f"Not compared: {row}, {why}." for row, why in left_out)]
