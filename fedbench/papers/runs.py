"""The runs of cells: computed into a store until every cell has its number, and taken from a store or from committed archives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fedbench.engine.spec import RunSpec
from fedbench.papers import experiment
from fedbench.papers.cells import Cell
from fedbench.papers.reading import Find, read
from fedbench.results import archive
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.suites import campaign
from fedbench.suites.progress import Watcher

ARCHIVES = Path("results/papers")


def is_run(cell: Cell) -> bool:
    """Is there a run that a cell's number, or an order of it, is read off?"""
    found = experiment.table(cell)
    return found.kind == "runs" and experiment.how(cell) is not None and experiment.seeds(cell).seeds > 0


def in_store(store: Store) -> Find:
    """Records of a store."""
    return lambda spec: store.find(spec.scenario.name, spec.algorithm.name, spec.run_id)


def in_archives(folder: Path, cells: Iterable[Cell]) -> Find:
    """Records of the archives of the cells' tables in a folder; a table without one has none."""
    known: dict[str, Record] = {}
    for place in sorted({archive_of(folder, cell) for cell in cells}):
        if archive.is_archive(place):
            known |= {record.run_id: record for record in archive.read(place)}
    return lambda spec: known.get(spec.run_id)


def archive_of(folder: Path, cell: Cell) -> Path:
    """Where the records of a cell's table are committed."""
    return folder / f"{cell.paper}-{cell.table}"


def needed(cells: Iterable[Cell], find: Find) -> list[RunSpec]:
    """The runs that the cells still need, once each, as far as is known now: what a search needs next depends on what it has found."""
    specs = [one.needs for cell in cells if is_run(cell) for one in read(cell, find) if one.needs is not None]
    return list({spec.run_id: spec for spec in specs}.values())


def used(cells: Iterable[Cell], find: Find) -> list[Record]:
    """The records that the cells' numbers are read off, once each."""
    records = [record for cell in cells if is_run(cell) for one in read(cell, find) for record in one.used]
    return list({record.run_id: record for record in records}.values())


def compute(cells: Sequence[Cell], store: Store, *, jobs: int, watcher: Watcher | None = None) -> Mapping[str, str]:
    """Compute what the cells need, search by search, until they need nothing or everything that they need has failed.

    Returns the failures: the run, and why.
    """
    failed: dict[str, str] = {}
    while True:
        wanted = [spec for spec in needed(cells, in_store(store)) if spec.run_id not in failed]
        if not wanted:
            return failed
        tally = campaign.compute(wanted, store, jobs=jobs, watcher=watcher)
        failed |= {spec.run_id: f"{spec.named}: {why}" for spec, why in tally.failed}
