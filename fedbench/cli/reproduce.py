"""`fedbench reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli.output import show
from fedbench.cli.run import terminable
from fedbench.errors import FedbenchError
from fedbench.papers import cells as papers
from fedbench.papers import runs
from fedbench.results import archive
from fedbench.results.store import Store
from fedbench.suites.progress import watching

AddressArgument = Annotated[str | None, typer.Argument(metavar="[PAPER[:TABLE]]", help="Such as 001:T1; everything if left out.")]


def command(
    address: AddressArgument = None,
    numbers: Annotated[str | None, typer.Option("--cells", help="Cells of the table, such as 1,3-5.")] = None,
    store: Annotated[Path, typer.Option(help="Folder of the records.", envvar="FEDBENCH_STORE")] = Path("runs/papers"),
    archives: Annotated[Path, typer.Option("--archives", help="Folder of the committed records.")] = runs.ARCHIVES,
    jobs: Annotated[int, typer.Option("-j", "--jobs", help="Runs at a time, each in a process.", min=1)] = 1,
    pack: Annotated[
        bool, typer.Option("--pack", help="Put the records of the store into the folder of the committed ones.")
    ] = False,
) -> None:
    """Make the numbers of the papers' tables again.

    Example: fedbench reproduce 001:T1 --cells 1,3-5
    """
    chosen = papers.chosen(address, numbers)
    where = Store(store)
    where.prepare()
    with terminable(), watching(True) as watcher:
        failed = runs.compute(chosen, where, jobs=jobs, watcher=watcher)
    if pack:
        for of, several in papers.tables(chosen).items():
            records = runs.used(several, runs.in_store(where))
            if records:
                archive.write(runs.archive_of(archives, several[0]), records)
                show(f"{of}: {len(records)} records -> {runs.archive_of(archives, several[0])}")
    if failed:
        raise FedbenchError(f"{len(failed)} runs failed. The first: {next(iter(failed.values()))}")
