"""`fedbench suite list|plan|run|status`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from fedbench import origins, registry
from fedbench.analysis import profiles
from fedbench.cli import clusters, completion, suite_race
from fedbench.cli.computing import computed, refuse_failed
from fedbench.cli.options import DeviceOption, JsonOption, ProcessesOption, WatchOption
from fedbench.cli.output import print_json, print_table, say, show
from fedbench.engine.run import RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.choose import CPU
from fedbench.errors import UsageError, nearest
from fedbench.launch import watchers
from fedbench.launch.watch import guarded
from fedbench.results.store import Store
from fedbench.suites import campaign, tuned, tuning
from fedbench.suites import space as spaces
from fedbench.suites import suite as suites
from fedbench.suites.findings.reference import reference_file
from fedbench.suites.price import Cell, Total, Tried, priced
from fedbench.suites.race import looks
from fedbench.suites.search import Searches
from fedbench.suites.suite import Point, Suite
from fedbench.suites.tuning_parts import Halving

app = typer.Typer(name="suite", help="Run experiments over scenarios, algorithms and seeds.", no_args_is_help=True)

SuiteArgument = Annotated[str, typer.Argument(help="Suite: a name, or a .yaml file.", autocompletion=completion.suites)]
PointOption = Annotated[list[str] | None, typer.Option("--point", "-p", help="Only this point. Can be repeated.")]
OnlyOption = Annotated[list[str] | None, typer.Option("--algorithm", "-a", help="Only this algorithm. Can be repeated.")]
StoreOption = Annotated[
    Path | None, typer.Option("--store", "-r", help="Folder of the records. Default: runs/SUITE.", envvar="FEDBENCH_STORE")
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print no line for each run.")]
AtOnceOption = Annotated[
    int | None,
    typer.Option(
        "--at-once",
        help="Most runs at a time: on a cluster (64 on Slurm, all processors on Ray), or side by side with --device (8).",
        min=1,
    ),
]
TunedOption = Annotated[Path | None, typer.Option("--tuned", help="File of tuned options, which adds the tuned rows.")]


def chosen(suite: Suite, points: Sequence[str] | None, algorithms: Sequence[str] | None) -> tuple[list[Point], list[str]]:
    """Returns the points and algorithms that are asked for, or all of the suite.

    An algorithm that is not built in is taken as it is, also if the suite does not have it.
    UsageError for a point, or a built-in algorithm, that the suite does not have.
    """
    known = suite.selectors()
    by_name = {registry.parse_selector(selector)[0]: selector for selector in known}
    picked = [one if one in known else by_name.get(one.replace("-", "_"), one) for one in algorithms or known]
    for one in picked:
        name = registry.parse_selector(one)[0]
        if (
            one not in known
            and (name in registry.ALGORITHMS or name not in registry.names("algorithm"))
            and not origins.is_in_file(name)
        ):
            raise UsageError(f"suite {suite.name}: it has no algorithm {one!r}{nearest(one, known)}")
    return [suite.point(name) for name in points] if points else list(suite.points), picked


def opened(suite: str, store: Path | None) -> tuple[Suite, Store]:
    """Returns the suite of this name or path, and the store of its records."""
    found = suites.load(suite)
    return found, Store(store or Path("runs") / found.name)


def runnable(suite: Suite, points: Sequence[Point], selectors: Sequence[str]) -> Iterator[tuple[Point, str]]:
    """Yields the points and algorithms that go together, and then shows why the others do not."""
    found = []
    for point, selector, why in campaign.applicable(suite, points, selectors):
        if why:
            found.append((selector, point.name, why))
        else:
            yield point, selector
    for line in _refusals(found):
        show(line)


def _refusals(found: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """Yields one line for each algorithm, with its first reason.

    `found`: algorithm, point and why the two do not go together.
    """
    by_algorithm: dict[str, list[tuple[str, str]]] = {}
    for selector, point, why in found:
        by_algorithm.setdefault(selector, []).append((point, why))
    for selector, ((point, why), *others) in by_algorithm.items():
        more = f" and {len(others)} other point{'s' if len(others) > 1 else ''}" if others else ""
        yield f"not applicable: {selector} at {point}{more}: {why}"


@app.command("list")
def list_suites() -> None:
    """List the suites of the library."""
    found = [suites.load(name) for name in suites.names()]
    rows = [(s.name, f"{len(s.points)}", f"{len(s.selectors())}", f"{s.seeds.count}", s.content_hash(), s.about) for s in found]
    print_table("suites", ("name", "points", "algorithms", "seeds", "hash", "about"), rows)


@app.command("plan")
def plan(
    suite: SuiteArgument,
    points: PointOption = None,
    algorithms: OnlyOption = None,
    untimed: Annotated[bool, typer.Option("--untimed", help="Do not measure this machine, so print no times.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Estimate the cost of a suite before anything is trained.

    Runs and steps come from plans. Times come from two short runs of every algorithm on this
    machine, so they are estimates. The column `resolves` has the smallest ratio of costs that the
    number of seeds can show, judged by earlier runs.
    """
    found = suites.load(suite)
    cells = list(priced(found, *chosen(found, points, algorithms), timed=not untimed, tell=show))
    if as_json:
        print_json(*({**asdict(cell), "tried": cell.tried} for cell in cells))
    else:
        _show_cells(found, cells)


def _show_cells(suite: Suite, cells: Sequence[Cell]) -> None:
    by_point: dict[str, list[Cell]] = {}
    for cell in cells:
        by_point.setdefault(cell.point, []).append(cell)
    file = reference_file(suite.name)
    resolves = profiles.read(file).resolution if file.exists() else {}
    print_table(
        f"suite {suite.name} ({suite.content_hash()})",
        ("point", "runs", "trials", "steps", "core minutes", "resolves"),
        [_priced_row(several, resolves.get(point)) for point, several in by_point.items()],
    )
    leaders = suite.anchors.draws.leaders if suite.anchors and suite.anchors.draws else 0
    total, halves = Total.of(cells, leaders), isinstance(suite.tuning, Halving)
    most = "at most " if halves else ""
    say(f"\n{total.runs:,} runs to compare, {most}{total.tried:,} to find options, {most}{total.steps:,} trained steps")
    if halves and total.rungs:
        say(f"to find options{' at anchors' if suite.anchors else ''}: {_rungs(total.rungs)}")
    if total.elsewhere:
        say(f"to find options elsewhere, from those of the nearest anchor: {_rungs(total.elsewhere)}")
    if total.drawn:
        say(f"at most {total.drawn:,} in draws after the first, for the best {leaders} at each point")
    if suite.race is not None:
        suite_race.say_price(suite.race, cells)
    if total.core_seconds is not None:
        share = f", at most {(total.tuning_seconds or 0.0) / 3600:.1f} of them to find options" if halves else ""
        say(f"about {total.core_seconds / 3600:.1f} core hours on this machine{share}")
    if total.peak_mb is not None:
        say(f"peak memory of a process about {total.peak_mb:,.0f} MB")
    for line in _refusals([(cell.selector, cell.point, cell.refused) for cell in cells if cell.refused]):
        say(line)


def _rungs(several: Sequence[Tried]) -> str:
    *rungs, steeper = [f"{one.runs:,} x {one.share:.0%} of the time" for one in several]
    return f"{', '.join(rungs)}, and at most {steeper} with larger rates"


def _priced_row(cells: Sequence[Cell], resolves: float | None) -> tuple[str, ...]:
    """Returns the cells of the table for a point.

    `resolves`: the smallest ratio of costs that the suite's seeds can show; None if the suite has
    no file of reference times.
    """
    total = Total.of(cells)
    seconds = "-" if total.core_seconds is None else f"{total.core_seconds / 60:.1f}"
    return (
        cells[0].point,
        f"{total.runs:,}",
        f"{total.tried:,}",
        f"{total.steps:,}",
        seconds,
        "-" if resolves is None else f"{resolves:.2f}",
    )


@app.command("run")
def run(
    suite: SuiteArgument,
    points: PointOption = None,
    algorithms: OnlyOption = None,
    options: TunedOption = None,
    store: StoreOption = None,
    processes: ProcessesOption = 1,
    on: clusters.OnOption = "here",
    partition: clusters.PartitionOption = None,
    account: clusters.AccountOption = None,
    minutes: clusters.MinutesOption = None,
    memory: clusters.MemoryOption = None,
    at_once: AtOnceOption = None,
    device: DeviceOption = CPU,
    watch: WatchOption = None,
    quiet: QuietOption = False,
) -> None:
    """Run all comparisons of a suite.

    These are the rows with default options and, with --tuned FILE, also the rows with the options
    in the file. Finished runs are taken from the store, and interrupted ones continue. A race goes
    on look by look; race.json in the store says which rows were dropped, when and why.

    With --device, this process has several runs at a time, and their jobs train side by side. The
    last bits depend on --at-once, which a run keeps until it has ended.
    """
    found, where = opened(suite, store)
    given = clusters.Given(partition, account, minutes, memory, at_once)
    how = RunOptions(resume=True, device=device)
    executor = None
    if device == CPU:
        executor = clusters.executor(on, where.root, given, processes=processes)
    else:
        executor = clusters.on_device(device, on, given, processes=processes)
        how = replace(how, lanes=executor.lanes)
    frozen = options_of(found, options)
    suite_race.check_asked(found, algorithms)
    with guarded(watchers.made(watch or ())) as group:
        names = {found.scenario_at(point).content_hash(): point.name for point in chosen(found, points, None)[0]}

        def make(wanted: Sequence[RunSpec]) -> campaign.Tally:
            of = {spec.run_id: names[spec.scenario.content_hash()] for spec in wanted}
            return computed(wanted, where, processes, executor, quiet=quiet, watch=[group], options=how, points=of)

        if found.race is not None:
            those = looks.entries(found, frozen, runnable(found, *chosen(found, points, None)))
            suite_race.run(found, frozen, where, those, make)
            return
        cells = runnable(found, *chosen(found, points, algorithms))
        wanted = [spec for point, selector in cells for spec in compared(found, frozen, [point], [selector])]
        refuse_failed(make(wanted).failed)


def compared(suite: Suite, frozen: tuned.Tuned | None, points: Sequence[Point], selectors: Sequence[str]) -> list[RunSpec]:
    """Returns the runs of default rows and, if there are frozen options, of tuned rows. A run
    that belongs to both is there once."""
    specs = [spec for _, _, of_row in tuned.rows(suite, frozen, points, selectors) for spec in of_row]
    return list({spec.run_id: spec for spec in specs}.values())


def options_of(suite: Suite, file: Path | None) -> tuned.Tuned | None:
    """Returns the options in a file of tuned options, or None without a file. UsageError if the
    suite compares nothing else."""
    if file is None and suite.rows == "tuned":
        raise UsageError(
            f"suite {suite.name} compares tuned options only: add --tuned FILE; `fedbench tune {suite.typed}` makes it"
        )
    return None if file is None else tuned.read(file, suite)


@app.command("status")
def status(
    suite: SuiteArgument,
    points: PointOption = None,
    algorithms: OnlyOption = None,
    options: TunedOption = None,
    store: StoreOption = None,
) -> None:
    """Show how many runs of a suite have a record, and which failed.

    Of a search in several rungs, the trials are those of the rungs that have begun. At a point that
    begins from the options of an anchor there are none until these are chosen.
    """
    found, where = opened(suite, store)
    frozen = None if options is None else options_of(found, options)
    suite_race.check_asked(found, algorithms)
    some, selectors = chosen(found, points, algorithms)
    rows, searches = [], _searches(found, where)
    searched = [one for one in selectors if searches is not None and searches.space.entry(type(found.algorithm(one)))]
    for point in some:
        race = None if found.race is None else suite_race.Standing.of(found, frozen, where, [point])
        wanted = compared(found, frozen, [point], selectors) if race is None else race.wanted
        row = [point.name, f"{len(wanted) - len(campaign.missing(where, wanted)):,} of {len(wanted):,}"]
        row += [] if race is None else [str(race)]
        if searches is not None:
            tried = [searches.progress(point, selector) for selector in searched]
            asked = sum(len(one.asked) for one in tried)
            row.append(f"{asked - sum(len(one.wanted) for one in tried):,} of {asked:,}")
        rows.append(row)
    more = [*(["race"] if found.race is not None else []), *(["trials"] if found.tuning is not None else [])]
    print_table(f"suite {found.name} in {where.root}", ("point", "runs", *more), rows)
    for failure in campaign.failures(where):
        say(f"failed {failure['attempts']} time(s): {failure['run']} on {failure['scenario']}: {failure['why']}")


def _searches(suite: Suite, store: Store) -> Searches | None:
    """Returns the searches of a suite's first draw, None if it does not tune."""
    return None if suite.tuning is None else Searches(suite, spaces.load(suite.tuning.space), tuning.finder(store, {}))
