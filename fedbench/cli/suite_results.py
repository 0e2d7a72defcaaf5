"""`fedbench suite pack|unpack|verify|freeze|illustrate|report`, which make the published files of a
suite from its records, and the records again."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Annotated

import typer

from fedbench import origins, registry
from fedbench.analysis import profiles
from fedbench.cli import suite_design, suite_map, suite_race
from fedbench.cli.interrupts import interruptible
from fedbench.cli.options import ARCHIVES, TUNED, ArchivesOption, DrawOption, FolderOption, ProcessesOption, SuitesArgument
from fedbench.cli.output import say, show
from fedbench.cli.suite import StoreOption, SuiteArgument, TunedOption, app, compared, opened, options_of
from fedbench.errors import UsageError
from fedbench.launch.again import told, verify_all
from fedbench.results import archive
from fedbench.results.store import write_atomically
from fedbench.suites import illustrations, trials, tuned
from fedbench.suites import suite as suites
from fedbench.suites.findings.page import page
from fedbench.suites.findings.reference import reference_file, reference_of
from fedbench.suites.findings.results import load
from fedbench.suites.mapped import statements
from fedbench.suites.race import decisions

PAGE = Path("results/findings.md")


app.command("design")(suite_design.design)
app.command("map")(suite_map.map_)


@app.command("pack")
def pack(
    suite: SuiteArgument, options: TunedOption = None, store: StoreOption = None, archives: ArchivesOption = ARCHIVES
) -> None:
    """Pack the records of a suite into one small archive.

    Runs without a record are counted and left out. Of a race, the runs are those that it asked for;
    its decisions are made again from the records, and written to race.json beside them.
    """
    found, where = opened(suite, store)
    frozen = options_of(found, options)
    race = None if found.race is None else suite_race.Standing.of(found, frozen, where, found.points)
    wanted = compared(found, frozen, found.points, found.selectors()) if race is None else race.wanted
    records = [
        record for spec in wanted if (record := where.find(spec.scenario.name, spec.algorithm.name, spec.run_id)) is not None
    ]
    if not records:
        raise UsageError(f"store {where.root}: it has none of the {len(wanted):,} runs of suite {found.name}")
    if race is not None:
        race.write(archives / found.name, records)
    archive.write(archives / found.name, records)
    show(f"{len(records):,} of {len(wanted):,} runs -> {archives / found.name}")


@app.command("unpack")
def unpack(suite: SuiteArgument, store: StoreOption = None, archives: ArchivesOption = ARCHIVES) -> None:
    """Unpack the records of an archive into a store.

    `suite run` finds them there. Records and decisions of a race that the store has stay as they
    are.
    """
    found, where = opened(suite, store)
    written, there = archive.unpack(archives / found.name, where)
    if found.race is not None:
        decisions.copy(archives / found.name, where.root)
    show(f"{written:,} of {there:,} runs -> {where.root}")


@app.command("verify")
def verify(
    suite: SuiteArgument,
    processes: ProcessesOption = 1,
    sample: Annotated[int | None, typer.Option(help="Number of records to draw at random. Default: all.", min=1)] = None,
    draw: DrawOption = 0,
    archives: ArchivesOption = ARCHIVES,
) -> None:
    """Run the records of a suite again and compare all digests.

    Records that are not identical are named, and the exit code is then 1. Algorithms in files are
    run that the suite names.
    """
    found, begin = suites.load(suite), time.monotonic()
    records = archive.read(archives / found.name)
    if sample is not None:
        records = random.Random(draw).sample(records, min(sample, len(records)))
    with interruptible("nothing is kept, and the same command begins anew"):
        counts = verify_all(records, processes=processes, say=show, files=_files(found))
    say(f"{len(records):,} records of suite {found.name}: {told(counts)} ({(time.monotonic() - begin) / 60:.1f} min)")
    if set(counts) - {"identical"}:
        raise typer.Exit(1)


def _files(suite: suites.Suite) -> dict[str, str]:
    """Returns the algorithms in files that a suite names, by their names."""
    paths = [registry.parse_selector(one)[0] for one in suite.selectors()]
    return {registry.algorithm(path).name: path for path in paths if origins.is_in_file(path)}


@app.command("freeze")
def freeze(
    suite: SuiteArgument,
    folder: FolderOption = TUNED,
    archives: ArchivesOption = ARCHIVES,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="File to write. Default: references/SUITE.json; for a suite of fedbench, the file in the package.",
        ),
    ] = None,
) -> None:
    """Write the reference times of a suite.

    Performance profiles are relative to these times, which come from the tuned rows. An existing
    file is made again from the algorithms that it names, so a new algorithm changes no other
    profile.
    """
    found = suites.load(suite)
    results, file = load(found, folder, archives), output or _references(found)
    reference = reference_of(results.among(profiles.read(file).made_of) if file.exists() else results)
    write_atomically(file, profiles.as_json(reference).encode())
    show(f"{len(reference.seconds)} problems of {len(reference.hashes)} points -> {file}")


def _references(suite: suites.Suite) -> Path:
    """Returns where the reference times of a suite are by default: never in the package for a suite
    of one's own."""
    return reference_file(suite.name) if suite.is_shipped else Path("references") / f"{suite.name}.json"


@app.command("illustrate")
def illustrate(
    suite: SuiteArgument,
    folder: FolderOption = TUNED,
    archives: ArchivesOption = ARCHIVES,
) -> None:
    """Write the pictures that a site shows beside the records.

    They show which client has which labels, what clients do when, and which options were tried. The
    command needs the data of the tasks; the site then does not.
    """
    found = suites.load(suite)
    is_tuned = found.tuning is not None
    known = trials.read(folder / f"{found.name}-trials.parquet", found.design_hash()) if is_tuned else {}
    frozen = tuned.read(folder / f"{found.name}.yaml", found) if is_tuned else None
    file = archives / found.name / illustrations.FILE
    text = illustrations.as_json(illustrations.illustrate(found, frozen, known))
    file.parent.stat()  # a suite without an archive is an error, and gets no folder
    write_atomically(file, text.encode())
    show(f"{len(text):,} bytes -> {file}")


@app.command("report")
def report(
    several: SuitesArgument,
    folder: FolderOption = TUNED,
    archives: ArchivesOption = ARCHIVES,
    output: Annotated[Path, typer.Option("-o", "--output", help="Markdown file to write.")] = PAGE,
) -> None:
    """Write a page of findings from the records of suites.

    The page has the cheapest algorithm at each point, how sure that is, and how much the options
    matter. It begins with the maps of suites with a design, which `suite map` makes.
    """
    found = [load(suites.load(suite), folder, archives) for suite in several]
    given = {"--tuned-in": (folder, TUNED), "--archives": (archives, ARCHIVES), "-o": (output, PAGE)}
    words = [f"{name} {value}" for name, (value, default) in given.items() if value != default]
    maps = {one.suite.name: statements.read(archives / one.suite.name, one) for one in found if one.suite.has_map}
    text = page(found, " ".join(["fedbench suite report", *several, *words]), maps)
    write_atomically(output, text.encode())
    show(f"{sum(len(results.runs) for results in found):,} runs -> {output}")
