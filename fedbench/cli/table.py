"""`fedbench table`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import fedbench
from fedbench.analysis.axes import AXES, SECONDS, find
from fedbench.analysis.board_table import board_lines
from fedbench.analysis.metric_table import MetricLine, metric_lines
from fedbench.analysis.pictures.boards import heat
from fedbench.cli.names import names_of
from fedbench.cli.options import ARCHIVES, TUNED, ArchivesOption, FolderOption
from fedbench.cli.output import put, show, writing
from fedbench.cli.rows import OptionsOption, PointsOption, RecordsOption, RowsOption, Source, SuiteOption, told
from fedbench.errors import UsageError, nearest
from fedbench.figures.tables.board import Grid, over_points, over_targets
from fedbench.figures.tables.csv import as_csv, metric_csv
from fedbench.figures.tables.latex import latex
from fedbench.figures.tables.markdown import markdown
from fedbench.figures.tables.metric import over_metric
from fedbench.results.sections import METRICS
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
    metric: Annotated[
        str | None,
        typer.Option(help=f"Show this metric in the place of costs: {', '.join(METRICS)}, or a scenario's own."),
    ] = None,
    axis: Annotated[str | None, typer.Option(help=f"With --metric: what runs have spent alike, {', '.join(AXES)}.")] = None,
    at: Annotated[
        float | None, typer.Option(help="With --metric: place on the axis. Default: the farthest that all compared runs reach.")
    ] = None,
    names: Annotated[Path | None, typer.Option(help="YAML file with the names of rows, SELECTOR: NAME.")] = None,
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

    With --metric the table has the mean of a metric over seeds and its 95 % interval, at the place
    that all compared runs reach.

    With -a only these rows are shown. Regrets are still those of the whole board.
    """
    if layout not in FORMATS:
        raise UsageError(f"--format must be one of {', '.join(FORMATS)}, got {layout!r}{nearest(layout, FORMATS)}")
    if metric is None and (axis is not None or at is not None):
        raise UsageError(f"--{'at' if axis is None else 'axis'} says where a metric is read; say which with --metric")
    source = Source(records, suite, points or (), options, folder, archives)
    found = source.compared()
    if metric is None and not found.boards:
        raise UsageError(
            f"table: {found.title} has no scenario with targets and a budget in seconds, so there is no board; --metric "
            "test_accuracy makes a table of accuracies"
        )
    asked = [*source.words(), *(("--algorithm", row) for row in rows or ())]
    asked += [("--metric", metric), ("--axis", axis), ("--at", at), ("--names", names), ("--format", layout)]
    only, called, head = found.labels(rows or ()), names_of(found, names), _head(found, told("table", asked))
    if metric is None:
        text = _text(found, only, layout, called, head)
    else:
        lines = metric_lines(found.rows, metric, find(axis or SECONDS), at)
        text = _metric_text([line for line in lines if not only or line.row in only], layout, called, head)
    if output is None:
        put(text.removesuffix("\n"))
        return
    with writing("table", output):
        write_atomically(output, text.encode())
    show(f"{counted(len(found.boards if metric is None else found.rows), 'point')} -> {output}")


def _head(found: Compared, command: str) -> list[str]:
    """Returns two comment lines for the top of the table: the command that makes it, and what its
    rows are from."""
    runs = [run for point in found.rows for several in found.rows[point].values() for run in several]
    commits = sorted({str(run.provenance.commit or "unknown")[:12] for run in runs})
    about = f"{found.title}; {len(runs):,} runs at commit {', '.join(commits)}; fedbench {fedbench.__version__}"
    return [" ".join(line.split()) for line in (command, about)]  # a line break would end the comment


def _text(found: Compared, rows: Sequence[str], layout: str, names: Mapping[str, str], head: Sequence[str]) -> str:
    lines = board_lines(found.boards, only=rows)
    if layout == "csv":
        return as_csv([replace(line, row=names.get(line.row, line.row)) for line in lines], head)
    if len(found.boards) == 1:
        point = next(iter(found.boards))
        left_out = found.off_board.get(point, {})
        (target, *_), *_ = (runs[0].spec.scenario.compared for runs in found.rows[point].values())
        grid = over_targets(lines, {names.get(row, row): why for row, why in left_out.items()}, target.metric)
    else:
        grid = over_points(heat(found.boards, only=rows))
    return _laid(grid.named(names), layout, head)


def _metric_text(lines: Sequence[MetricLine], layout: str, names: Mapping[str, str], head: Sequence[str]) -> str:
    named = [replace(line, row=names.get(line.row, line.row)) for line in lines]
    return metric_csv(named, head) if layout == "csv" else _laid(over_metric(named), layout, head)


def _laid(grid: Grid, layout: str, head: Sequence[str]) -> str:
    return latex(grid, head) if layout == "latex" else markdown(grid, head)
