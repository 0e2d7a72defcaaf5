"""`fedbench plot`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from fedbench import extras
from fedbench.analysis.axes import AXES
from fedbench.cli import completion
from fedbench.cli.completion import PLOTS
from fedbench.cli.options import ARCHIVES, TUNED, ArchivesOption, FolderOption, ReferencesOption
from fedbench.cli.output import say, show, writing
from fedbench.cli.rows import OptionsOption, PointsOption, RecordsOption, RowsOption, Source, SuiteOption
from fedbench.errors import UsageError, nearest
from fedbench.results.sections import METRICS
from fedbench.results.store import write_atomically
from fedbench.suites.findings.reference import REFERENCES

DATA = ".json"


def command(
    kind: Annotated[
        str, typer.Argument(help=f"Figure: {', '.join(PLOTS[:-1])} or {PLOTS[-1]}.", autocompletion=completion.plots)
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write: .pdf, .svg, .png, or .json for the data of the figure.")
    ],
    records: RecordsOption = None,
    suite: SuiteOption = None,
    points: PointsOption = None,
    rows: RowsOption = None,
    options: OptionsOption = None,
    axis: Annotated[str, typer.Option(help=f"Axis of curves: {', '.join(AXES)}.")] = "seconds",
    metric: Annotated[str, typer.Option(help=f"Metric of curves: {', '.join(METRICS)}, or a scenario's own.")] = "test_accuracy",
    quartiles: Annotated[
        bool, typer.Option("--quartiles", help="Draw curves of medians and quartiles, not of means and intervals.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Seed of timeline and labels. Default: the first one.", min=0)] = None,
    clients: Annotated[int, typer.Option(help="Number of clients in a timeline.", min=1)] = 20,
    until: Annotated[
        float | None, typer.Option(help="End of a timeline in virtual seconds. Default: a quarter of the budget.")
    ] = None,
    width: Annotated[str, typer.Option(help="Width: column (85 mm), page (175 mm), or a number of mm.")] = "column",
    folder: FolderOption = TUNED,
    archives: ArchivesOption = ARCHIVES,
    references: ReferencesOption = REFERENCES,
) -> None:
    """Draw a figure for a paper as PDF, SVG or PNG.

    Prints the caption of the figure. Curves and profiles show the rows named with -a in bold, at
    most eight, and all others in grey. Other figures show only the rows named with -a. Without -a,
    curves, profiles and staleness show the first eight. The figures timeline, labels,
    sensitivity and design of a suite need no runs.
    """
    from fedbench.cli.figures import MAKERS, Asked  # the other verbs start faster without them
    from fedbench.figures.style import check_file, width_of, write

    if kind not in MAKERS:
        raise UsageError(f"plot: unknown kind {kind!r}{nearest(kind, MAKERS)}")
    check_file(output, others=(DATA,))
    if output.suffix.lower() != DATA:
        extras.require("plot", f"figure {output}")
    source = Source(records, suite, points or (), options, folder, archives)
    asked = Asked(source, rows or (), width_of(width), axis, metric, quartiles, seed, clients, until, references)
    data, draw = MAKERS[kind](asked)
    with writing("plot", output):
        if output.suffix.lower() == DATA:
            _write_data(kind, data, output)
        else:
            drawn = draw()
            write(drawn, output)
            say(drawn.caption)
    show(f"{kind} -> {output}")


def _write_data(kind: str, data: object, file: Path) -> None:
    """Writes the data of a figure as JSON. Data of several panels become a list."""
    text = json.dumps({"kind": kind, "data": data}, default=dataclasses.asdict, indent=1, allow_nan=False)
    write_atomically(file, f"{text}\n".encode())
