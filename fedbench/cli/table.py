"""`fedbench table`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import fedbench
from fedbench.analysis.board_table import board_lines
from fedbench.analysis.pictures.boards import heat
from fedbench.cli.options import ARCHIVES, TUNED, ArchivesOption, FolderOption
from fedbench.cli.output import put, show, writing
from fedbench.cli.rows import OptionsOption, PointsOption, RecordsOption, RowsOption, Source, SuiteOption, told
from fedbench.errors import UsageError, nearest
from fedbench.figures.tables.board import over_points, over_targets
from fedbench.figures.tables.csv import as_csv
from fedbench.figures.tables.latex import latex
from fedbench.figures.tables.markdown import markdown
from fedbench.results.store import write_atomically
from fedbench.suites.compared import Compared
from fedbench.written import counted

FORMATS = {"latex": ".tex", "markdown": ".md", "csv": ".csv"}


def command(
    records: RecordsOption = None,
    suite: SuiteOption = None,
    points: PointsOption = None,
    rows: RowsOption = None,
    options: OptionsOption = None,
    layout: Annotated[str, typer.Option("--format", help=f"Format: {', '.join(FORMATS)}.")] = "markdown",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write. Default: standard output.")] = None,
    folder: FolderOption = TUNED,
    archives: ArchivesOption = ARCHIVES,
) -> None:
    """Write a results table as LaTeX, Markdown or CSV.

    The table of one point has the cost of every algorithm until it holds the targets, and its
    regret: its cost over that of the cheapest algorithm with as many clients at work. The table of
    several points has the regrets. CSV has a line for each algorithm, point and target. LaTeX needs
    the package booktabs.

    With -a only these rows are shown. Regrets are still those of the whole board.
    """
    if layout not in FORMATS:
        raise UsageError(f"--format must be one of {', '.join(FORMATS)}, got {layout!r}{nearest(layout, FORMATS)}")
    source = Source(records, suite, points or (), options, folder, archives)
    found = source.compared()
    if not found.boards:
        raise UsageError(f"table: {found.title} has no scenario with targets and a budget in seconds, so there is no board")
    asked = [*source.words(), *(("--algorithm", row) for row in rows or ()), ("--format", layout)]
    text = _text(found, found.labels(rows or ()), layout, _head(found, told("table", asked)))
    if output is None:
        put(text.removesuffix("\n"))
        return
    with writing("table", output):
        write_atomically(output, text.encode())
    show(f"{counted(len(found.boards), 'point')} -> {output}")


def _head(found: Compared, command: str) -> list[str]:
    """Returns two comment lines for the top of the table: the command that makes it, and what its
    rows are from."""
    runs = [run for point in found.boards for several in found.rows[point].values() for run in several]
    commits = sorted({str(run.provenance.commit or "unknown")[:12] for run in runs})
    about = f"{found.title}; {len(runs):,} runs at commit {', '.join(commits)}; fedbench {fedbench.__version__}"
    return [" ".join(line.split()) for line in (command, about)]  # a line break would end the comment


def _text(found: Compared, rows: Sequence[str], layout: str, head: Sequence[str]) -> str:
    lines = board_lines(found.boards, only=rows)
    if layout == "csv":
        return as_csv(lines, head)
    if len(found.boards) == 1:
        grid = over_targets(lines, found.off_board.get(next(iter(found.boards))))
    else:
        grid = over_points(heat(found.boards, only=rows))
    return latex(grid, head) if layout == "latex" else markdown(grid, head)
