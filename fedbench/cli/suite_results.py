"""`fedbench suite pack|unpack|verify|freeze|illustrate|report`, which make the published files of a
suite from its records, and the records again."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Annotated

import typer

from fedbench import rules
from fedbench.analysis import profiles
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
from fedbench.suites.findings.results import load, reference_file, reference_of

PAGE = Path("results/findings.md")


@app.command("pack")
def pack(
    suite: SuiteArgument, options: TunedOption = None, store: StoreOption = None, archives: ArchivesOption = ARCHIVES
) -> None:
    """Put a suite's records into one small archive.

    Runs that have no record are counted and left out.
    """
    found, where = opened(suite, store)
    wanted = compared(found, options_of(found, options), found.points, found.selectors())
    records = [
        record for spec in wanted if (record := where.find(spec.scenario.name, spec.algorithm.name, spec.run_id)) is not None
    ]
    if not records:
        raise UsageError(f"store {where.root}: it has none of the {len(wanted):,} runs of suite {found.name}")
    archive.write(archives / found.name, records)
    show(f"{len(records):,} of {len(wanted):,} runs -> {archives / found.name}")


@app.command("unpack")
def unpack(suite: SuiteArgument, store: StoreOption = None, archives: ArchivesOption = ARCHIVES) -> None:
    """Put an archive's records into a store.

    `suite run` finds them there. Records that the store has stay as they are.
    """
    found, where = opened(suite, store)
    records = archive.read(archives / found.name)
    absent = [one for one in records if not where.has(one.scenario, one.meta["spec"]["algorithm"]["name"], one.run_id)]
    for record in absent:
        where.write(record)
    show(f"{len(absent):,} of {len(records):,} runs -> {where.root}")


@app.command("verify")
def verify(
    suite: SuiteArgument,
    processes: ProcessesOption = 1,
    sample: Annotated[int | None, typer.Option(help="Only so many of the records, drawn at random.", min=1)] = None,
    draw: DrawOption = 0,
    archives: ArchivesOption = ARCHIVES,
) -> None:
    """Compute a suite's records again and compare every digest.

    Records that are not identical are named. Exit 1 if there are any.
    Example: fedbench suite verify axes -j 2
    """
    found, begin = suites.load(suite), time.monotonic()
    records = archive.read(archives / found.name)
    if sample is not None:
        records = random.Random(draw).sample(records, min(sample, len(records)))
    with interruptible("nothing is kept, and the same command begins anew"):
        counts = verify_all(records, processes=processes, say=show)
    say(f"{len(records):,} records of suite {found.name}: {told(counts)} ({(time.monotonic() - begin) / 60:.1f} min)")
    if set(counts) - {"identical"}:
        raise typer.Exit(1)


@app.command("freeze")
def freeze(
    suite: SuiteArgument,
    folder: FolderOption = TUNED,
    archives: ArchivesOption = ARCHIVES,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File; by default the one that fedbench brings.")] = None,
) -> None:
    """Make reference times of a suite.

    They are made from its tuned rows. Profiles are relative to them, so a new entrant changes
    nobody's profile: a file that is there already is made again from the algorithms that it names.
    """
    found = suites.load(suite)
    results, file = load(found, folder, archives), output or reference_file(found.name)
    reference = reference_of(results.among(profiles.read(file).made_of) if file.exists() else results)
    write_atomically(file, profiles.as_json(reference).encode())
    show(f"{len(reference.seconds)} problems of {len(reference.hashes)} points -> {file}")


@app.command("illustrate")
def illustrate(
    suite: SuiteArgument,
    folder: FolderOption = TUNED,
    archives: ArchivesOption = ARCHIVES,
) -> None:
    """Make what a suite's pictures show beside its records.

    The pictures show who has which labels, what clients do when, and which options were tried. This
    needs the data; the site then does not.
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
    output: Annotated[Path, typer.Option("-o", "--output", help="The page, Markdown.")] = PAGE,
) -> None:
    """Write a page on what the records of suites say.

    It says which algorithms cost least at which point, how sure that is, and what options have to
    do with it.
    """
    found = [load(suites.load(suite), folder, archives) for suite in several]
    given = {"--tuned-in": (folder, TUNED), "--archives": (archives, ARCHIVES), "-o": (output, PAGE)}
    words = [f"{name} {value}" for name, (value, default) in given.items() if value != default]
    text = page(found, " ".join(["fedbench suite report", *several, *words]), rules.VERSION)
    write_atomically(output, text.encode())
    show(f"{sum(len(results.runs) for results in found):,} runs -> {output}")
