"""`fedbench suite map`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from fedbench.analysis.map import saved
from fedbench.analysis.map.draws import REPLICATES
from fedbench.cli.interrupts import interruptible
from fedbench.cli.options import ARCHIVES, TUNED, ArchivesOption, FolderOption, ProcessesOption
from fedbench.cli.output import say, show
from fedbench.cli.suite import SuiteArgument
from fedbench.errors import UsageError
from fedbench.suites import suite as suites
from fedbench.suites.advice import made
from fedbench.suites.findings.results import load
from fedbench.suites.mapped import asking, fitting, statements
from fedbench.suites.mapped.carried import transfer
from fedbench.written import counted


def map_(
    suite: SuiteArgument,
    processes: ProcessesOption = 1,
    folder: FolderOption = TUNED,
    archives: ArchivesOption = ARCHIVES,
    advice: Annotated[
        Path | None, typer.Option("--advice", help="File, such as map.npz, to which goes what `fedbench advise --map` reads.")
    ] = None,
    elsewhere: Annotated[
        list[str] | None,
        typer.Option(
            "--elsewhere", help="With --advice: a suite at points of the same design with another model or task. Repeatable."
        ),
    ] = None,
) -> None:
    """Fit the map of a suite with a design, and write what it says.

    The model of costs over the design's factors is fitted to the archived records, for every axis.
    What it says, and whether it predicts the points held out, goes to map.json beside them, which
    `suite report` shows. The same records give the same file: linear algebra has one thread in each
    process. The suite map takes some twenty minutes of a processor.
    """
    found = suites.load(suite)
    found.designed()  # before anything is said
    if elsewhere and advice is None:
        raise UsageError("--elsewhere: it is said in advice; expected --advice FILE beside it")
    results = load(found, folder, archives)
    transfers = [one for name in elsewhere or () for one in transfer(results, load(suites.load(name), folder, archives))]
    with interruptible("nothing is kept, and the same command begins anew"):
        show(f"suite {found.name}: fits each model, and {REPLICATES} times again to see how sure it is")
        fitted = fitting.both(results, processes=processes)
        said = asking.said(results, fitted)
    statements.write(archives / found.name, said)
    for one in said.judged:
        verb = "predicts" if one.predicts else "does not predict"
        say(f"{one.axis}: the map {verb} the {counted(len(one.rows), 'point')} held out")
    show(f"{len(results.runs):,} runs -> {archives / found.name / statements.FILE}")
    if advice is not None:
        today = datetime.now(UTC).date().isoformat()
        saved.write(advice, made.of_results(results, fitted, said, today, transfers))
        show(f"what advice reads -> {advice}")
