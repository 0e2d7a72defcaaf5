"""Computes the runs of cells into a store until every cell has its number, and finds their records
in a store or in committed archives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fedbench.engine.run import RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.papers import experiment
from fedbench.papers.cells import Cell
from fedbench.papers.reading import Find, Read, read, read_varied
from fedbench.results import archive
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.suites import campaign
from fedbench.tasks import available

ARCHIVES = Path("results/papers")


def is_trained(cell: Cell) -> bool:
    """Returns whether it is known which runs would make a cell's number."""
    return experiment.table(cell).kind == "runs" and experiment.how(cell) is not None


def is_run(cell: Cell) -> bool:
    """Returns whether a cell is run, so that its number or an order of it can be read off."""
    return is_trained(cell) and experiment.seeds(cell).last > 0


def lacks(cell: Cell) -> str:
    """Returns which data of a cell's runs are not on this machine and how to get them; empty if all
    are there."""
    return next(filter(None, map(available.missing, experiment.data_of(cell))), "")


def in_store(store: Store) -> Find:
    """Returns a function that finds records in a store."""
    return lambda spec: store.find(spec.scenario.name, spec.algorithm.name, spec.run_id)


def in_archives(folder: Path, cells: Iterable[Cell]) -> Find:
    """Returns a function that finds records in the archives of the cells' tables in a folder. A
    table without an archive has no records."""
    known: dict[str, Record] = {}
    for place in sorted({archive_of(folder, cell.of) for cell in cells}):
        if archive.is_archive(place):
            known |= {record.run_id: record for record in archive.read(place)}
    return lambda spec: known.get(spec.run_id)


def archive_of(folder: Path, of: str) -> Path:
    """Returns the archive in a folder that has the records of a table, given by its address."""
    return folder / of.replace(":", "-")


def _reads(cells: Iterable[Cell], find: Find, *, varied: bool, only: str | None = None) -> Iterator[Read]:
    for cell in cells:
        if is_run(cell) and only is None:
            yield from read(cell, find)
        for variation in experiment.variations(cell) if (varied or only is not None) and not experiment.waits(cell) else ():
            if only in (None, variation.name):
                yield from read_varied(cell, variation, find)


def absent(cell: Cell, find: Find) -> int:
    """Returns how many declared seeds of a cell have no number, also of one that waits for a
    ceiling."""
    return experiment.declared_seeds(cell).last - sum(one.reading is not None for one in read(cell, find))


def used(cells: Iterable[Cell], find: Find, *, varied: bool = False) -> list[Record]:
    """Returns the records that the cells' numbers are read off, each once. `varied` adds those of
    their variations."""
    records = [record for one in _reads(cells, find, varied=varied) for record in one.used]
    return list({record.run_id: record for record in records}.values())


def compute(
    cells: Sequence[Cell], store: Store, *, varied: bool, only: str | None, processes: int, options: RunOptions
) -> dict[str, str]:
    """Computes the runs that the cells need until they need none, or until all that they still need
    have failed. How they go is shown.

    Args:
        cells: the cells whose numbers are wanted. Those that are not run need nothing.
        store: the store in which records are looked for and to which new ones are written.
        varied: whether the variations of the cells are computed as well.
        only: the name of the variation that is computed alone.
        processes: how many runs are computed at a time, each in a process of its own.
        options: how runs are computed.

    Returns:
        The failures by run id. A text names the run and says why it failed.
    """
    failed: dict[str, str] = {}
    while True:
        wanted: dict[str, tuple[RunSpec, str]] = {}  # the next run of a search depends on what the last one found
        for cell in cells:
            for one in _reads([cell], in_store(store), varied=varied, only=only):
                if one.needs is not None and one.needs.run_id not in failed:
                    wanted.setdefault(one.needs.run_id, (one.needs, cell.name))
        if not wanted:
            return failed
        specs, of = [spec for spec, _ in wanted.values()], {run_id: name for run_id, (_, name) in wanted.items()}
        tally = campaign.compute(specs, store, processes=processes, options=options, progress=True, of=of)
        failed |= {spec.run_id: f"{spec.named}: {why}" for spec, why in tally.failed}
