"""`fedbench reproduce`."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli import verdicts
from fedbench.cli.interrupts import interruptible
from fedbench.cli.options import DeviceOption, JsonOption, ProcessesOption
from fedbench.cli.output import show
from fedbench.engine.compare import verdict
from fedbench.engine.run import RunOptions
from fedbench.engine.verify import as_recorded
from fedbench.errors import FedbenchError, UsageError, nearest
from fedbench.papers import cells as papers
from fedbench.papers import experiment, handing_in, orders_of_convergence, runs
from fedbench.papers.cells import Cell
from fedbench.papers.price import price
from fedbench.papers.reading import Find
from fedbench.papers.verdicts import all_verdicts
from fedbench.results import archive, provenance
from fedbench.results.store import Store

AddressArgument = Annotated[
    str | None,
    typer.Argument(metavar="PAPER[:TABLE]", help="Paper or table, such as 001:T1 or wu2021:T1. Default: everything."),
]


def command(
    address: AddressArgument = None,
    numbers: Annotated[str | None, typer.Option("--cells", help="Cells of the table, such as 1,3-5.")] = None,
    varied: Annotated[bool, typer.Option("--vary", help="Also run the variations that explain a difference.")] = False,
    stand_in: Annotated[
        str | None,
        typer.Option(
            "--on", help="Run on this stand-in, or `paper` for the paper's own data. Default: all that --device can run."
        ),
    ] = None,
    variation: Annotated[
        str | None, typer.Option("--variation", help="Run this variation alone, as `--price` and the pages name it.")
    ] = None,
    priced: Annotated[
        bool, typer.Option("--price", help="Train nothing. List what is declared and has no record, with prices and commands.")
    ] = False,
    planned: Annotated[bool, typer.Option("--plan", help="Train nothing. List verdicts, costs and reasons.")] = False,
    store: Annotated[
        Path,
        typer.Option(
            "--store", "-r", help="Folder of the records; with --pack also one that was handed in.", envvar="FEDBENCH_STORE"
        ),
    ] = Path("runs/papers"),
    archives: Annotated[Path, typer.Option("--archives", help="Folder of the committed records.")] = runs.ARCHIVES,
    processes: ProcessesOption = 1,
    device: DeviceOption = "cpu",
    pack: Annotated[
        bool, typer.Option("--pack", help="Train nothing. Put the records of the store into the folder of the committed records.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Train nothing. Write verdicts.json beside the committed records, and docs/papers.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Repeat experiments of the papers and compare the numbers.

    Finished runs are taken from the store and interrupted ones continue. Where records are
    committed, the runs must have the same digests; the exit code is 1 if one has not. --plan lists
    every cell of the tables with its verdict by the committed records, its cost and its reason.
    """
    chosen, where = papers.chosen(address, numbers), Store(store)
    _check_alone("--price" if priced else "--plan" * planned, variation, stand_in if priced else None)
    ways = on(chosen, stand_in, device)
    if write:
        return _write(archives, address)
    if pack:
        return _pack(chosen, where, archives)
    committed, claims = _committed(archives, chosen), orders_of_convergence.load(archives)
    if priced:
        return verdicts.tell_prices(chosen, committed, as_json=as_json)
    if planned:
        verdicts.tell(all_verdicts(chosen, committed, claims), as_json=as_json)
        if varied:
            verdicts.tell_variations(ways, committed, as_json=as_json)
        return verdicts.tell_costs(runs.used(ways, committed, varied=True))
    where.prepare()
    if variation is not None:
        ways = _varying(ways, variation)
    compute = functools.partial(_compute, processes=processes, device=device, varied=varied, only=variation)
    failed = compute(_possible(ways, variation), where, committed)
    found = runs.in_store(where)
    verdicts.tell(all_verdicts(chosen, found, claims), as_json=as_json)
    if varied or variation is not None:
        verdicts.tell_variations(ways, found, as_json=as_json)
    others = _compared(ways, found, committed, varied=varied or variation is not None)
    if failed:
        raise FedbenchError(
            f"{len(failed)} runs failed; the same command tries them again. The first: {next(iter(failed.values()))}"
        )
    if others:
        raise typer.Exit(1)
    return None


def _check_alone(listed: str, variation: str | None, stand_in: str | None) -> None:
    """Raises UsageError for an option that would change nothing of what `listed` lists."""
    for name, given in (("--variation", variation), ("--on", stand_in)):
        if listed and given is not None:
            raise UsageError(f"{name} {given}: {listed} lists all that there is for the cells; leave one of the two out")


def _committed(archives: Path, chosen: Sequence[Cell]) -> Find:
    """Returns what finds committed records, and shows if there are none, as outside of the
    repository. UsageError for another folder than the default one, which was named to be read."""
    if not archives.is_dir():
        if archives != runs.ARCHIVES:
            raise UsageError(f"--archives {archives}: there is no such folder of committed records")
        show(
            f"there are no committed records here ({archives}), so nothing counts as measured; they are in the repository of fedbench"
        )
    return runs.in_archives(archives, chosen)


def on(chosen: Sequence[Cell], stand_in: str | None, device: str) -> list[Cell]:
    """Returns the cells on the stand-in that `--on` names; by default on the paper's own data and
    on all, of which those for a GPU are left out on a CPU. UsageError for a name that none of them
    has."""
    ways = experiment.ways(chosen)
    names = dict.fromkeys(way.stand_in or experiment.PAPER for way in ways)
    if stand_in is not None and stand_in not in names:
        raise UsageError(f"--on {stand_in}: unknown{nearest(stand_in, names)}; known for these cells: {', '.join(names)}")
    if stand_in is None:
        return [way for way in ways if device != "cpu" or not experiment.wants_card(way)]
    return [way for way in ways if stand_in == (way.stand_in or experiment.PAPER)]


def _varying(ways: Sequence[Cell], name: str) -> list[Cell]:
    """Returns the cells that have a variation. UsageError if none has, or if all of them wait for
    what has to be measured first."""
    names = dict.fromkeys(one.name for way in ways for one in experiment.variations(way))
    if name not in names:
        raise UsageError(
            f"--variation {name}: unknown{nearest(name, names)}; known for these cells: {', '.join(names) or 'none'}"
        )
    found = [way for way in ways if any(one.name == name for one in experiment.variations(way))]
    if all(map(experiment.waits, found)):
        raise UsageError(f"--variation {name}: {experiment.waits(found[0])}")
    return found


def _possible(chosen: Sequence[Cell], variation: str | None = None) -> list[Cell]:
    """Returns the cells that have runs and whose data are on this machine, and shows what is left
    out. UsageError if the data of all cells are missing."""
    wanted = [cell for cell in chosen if variation is not None or runs.is_run(cell)]
    lacking = {cell: why for cell in wanted if (why := runs.lacks(cell))}
    if wanted and len(lacking) == len(wanted):
        raise UsageError(f"none of the cells ({len(wanted)}) can be run here: {next(iter(lacking.values()))}")
    for why in dict.fromkeys(lacking.values()):
        show(f"left out ({sum(other == why for other in lacking.values())} of {len(wanted)} cells): {why}")
    return [cell for cell in wanted if cell not in lacking]


def _compute(
    chosen: Sequence[Cell], where: Store, committed: Find, *, processes: int, device: str, varied: bool, only: str | None
) -> dict[str, str]:
    """Computes the runs that are absent, and returns the errors of those that failed.

    The instruction set is that of the committed records, where this machine has it.
    """
    known = runs.used(chosen, committed)
    isa = as_recorded(known[0], RunOptions()).isa if known else ""
    options = RunOptions(resume=True, isa=isa, device=device)
    hours = sum(price(cell).core_hours * runs.absent(cell, runs.in_store(where)) for cell in chosen) / 2
    if provenance.commit()[1]:
        show("the code has local changes, so what is run now can be looked at, and cannot be packed")
    if hours and only is None:
        show(f"about {hours:.2g} hours of two cores up to the printed numbers, as measured on the reference machine")
    with interruptible("finished runs are stored, the same command goes on"):
        return runs.compute(chosen, where, varied=varied, only=only, processes=processes, options=options)


def _compared(chosen: Sequence[Cell], found: Find, committed: Find, *, varied: bool) -> int:
    """Shows how the records compare with the committed ones of the same runs. Returns how many are
    not identical."""
    counts: Counter[str] = Counter()
    by_id = {record.run_id: record for record in runs.used(chosen, committed, varied=varied)}
    for again in runs.used(chosen, found, varied=varied):
        record = by_id.get(again.run_id)
        if record is None:
            counts["not committed"] += 1
            continue
        word, fields = verdict(record, again)
        counts[word] += 1
        if fields:
            show(f"{again.selector} seed {again.seed} ({again.run_id}): {word}, first in {fields[0]}")
    if counts:
        show(f"against the committed records: {', '.join(f'{count} {word}' for word, count in sorted(counts.items()))}")
    return counts["within tolerance"] + counts["differs"]


def _write(archives: Path, address: str | None) -> None:
    """Writes the verdicts on all cells as JSON, and the pages of the papers. UsageError if only a
    part is asked for (`address`), or outside of the repository."""
    from fedbench.papers import published  # the other verbs start faster without it

    root = Path.cwd()
    if address is not None:
        raise UsageError(f"--write: it is about all papers, and {address} was given; leave it out")
    if not (root / "csrc").is_dir():
        raise UsageError(f"--write: the pages name lines of the repository, and {root} is none; run it there")
    if not archives.is_dir():
        raise UsageError(f"--archives {archives}: there is no such folder of committed records")
    for file in published.write(root, archives):
        show(str(file))


def _pack(chosen: Sequence[Cell], where: Store, archives: Path) -> None:
    """Adds the records of a store, or of a folder that was handed in, to the committed ones of
    their tables. UsageError if there are none, and for one that was made with local changes."""
    packed, is_handed_in = 0, (where.root / handing_in.FILE).is_file()
    for of in papers.tables(chosen):
        whole, place = papers.chosen(of), runs.archive_of(archives, of)
        given = runs.in_archives(where.root, whole) if is_handed_in else runs.in_store(where)
        ways = experiment.ways(whole)
        added = runs.used(ways, given, varied=True)
        if added:
            there = runs.used(ways, runs.in_archives(archives, whole), varied=True)
            records = {record.run_id: record for record in (*there, *added)}
            archive.check_clean(records.values())
            packed += archive.write(place, records.values())
            show(f"{of}: {len(records)} records -> {place}")
    if not packed:
        raise UsageError(f"store {where.root}: it has no record of these cells")
