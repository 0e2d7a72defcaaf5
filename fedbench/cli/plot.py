"""`fedbench plot`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from fedbench import extras
from fedbench.analysis.axes import AXES
from fedbench.analysis.metrics import HIGHER_IS_BETTER
from fedbench.cli import completion
from fedbench.cli.completion import PLOTS
from fedbench.cli.options import ARCHIVES, TUNED, ArchivesOption, FolderOption, ReferencesOption
from fedbench.cli.output import say, show, writing
from fedbench.cli.rows import OptionsOption, PointsOption, RecordsOption, RowsOption, Source, SuiteOption
from fedbench.errors import UsageError, nearest
from fedbench.results.store import write_atomically
from fedbench.suites.findings.results import REFERENCES

DATA = ".json"


def command(
    kind: Annotated[str, typer.Argument(help=f"{', '.join(PLOTS[:-1])} or {PLOTS[-1]}.", autocompletion=completion.plots)],
    output: Annotated[Path, typer.Option("--output", "-o", help="A .pdf, .svg or .png; a .json gets the figure's data.")],
    records: RecordsOption = None,
    suite: SuiteOption = None,
    points: PointsOption = None,
    rows: RowsOption = None,
    options: OptionsOption = None,
    axis: Annotated[str, typer.Option(help=f"Of curves: {', '.join(AXES)}.")] = "seconds",
    metric: Annotated[str, typer.Option(help=f"Of curves: {', '.join(HIGHER_IS_BETTER)}.")] = "test_accuracy",
    quartiles: Annotated[
        bool, typer.Option("--quartiles", help="Of curves: median and quartiles, not mean and interval.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Of timeline and labels; the first one by default.", min=0)] = None,
    clients: Annotated[int, typer.Option(help="Of timeline: how many are shown.", min=1)] = 20,
    until: Annotated[float | None, typer.Option(help="Of timeline: virtual seconds; a quarter of the budget by default.")] = None,
    width: Annotated[str, typer.Option(help="column (85 mm), page (175 mm), or a number of mm.")] = "column",
    folder: FolderOption = TUNED,
    archives: ArchivesOption = ARCHIVES,
    references: ReferencesOption = REFERENCES,
) -> None:
    """Draw a figure for a paper as PDF, SVG or PNG.

    It prints what the caption must say. In curves and profiles the rows named with -a are bold, at
    most eight, and all others grey; elsewhere only they are shown. Without -a, curves, profiles and
    staleness have the first eight. timeline, labels and sensitivity of a suite need no runs.

    Example: fedbench plot curves --suite axes --point base -a fedavg -a fedbuff -o curves.pdf
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


def _write_data(kind: str, data: Any, file: Path) -> None:
    """Writes the data of a figure as JSON. Data of several panels become a list."""
    plain = [dataclasses.asdict(one) for one in data] if isinstance(data, list | tuple) else dataclasses.asdict(data)
    write_atomically(file, (json.dumps({"kind": kind, "data": plain}, indent=1, allow_nan=False) + "\n").encode())
