"""`fedbench tune`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli import clusters
from fedbench.cli.computing import computed, refuse_failed
from fedbench.cli.options import TUNED, ProcessesOption
from fedbench.cli.output import show
from fedbench.cli.suite import (
    OnlyOption,
    PointOption,
    QuietOption,
    StoreOption,
    SuiteArgument,
    chosen,
    opened,
    runnable,
)
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.results.store import write_atomically
from fedbench.suites import space as spaces
from fedbench.suites import trials as trials_table
from fedbench.suites import tuned, tuning
from fedbench.suites.search import Progress, advanced, collect, search
from fedbench.suites.suite import Suite


def command(
    suite: SuiteArgument,
    points: PointOption = None,
    algorithms: OnlyOption = None,
    store: StoreOption = None,
    processes: ProcessesOption = 1,
    on: clusters.OnOption = "here",
    partition: clusters.PartitionOption = None,
    account: clusters.AccountOption = None,
    minutes: clusters.MinutesOption = None,
    memory: clusters.MemoryOption = None,
    at_once: clusters.AtOnceOption = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for SUITE.yaml and SUITE-trials.parquet.")] = TUNED,
    collect_only: Annotated[bool, typer.Option("--collect", help="Compute nothing; take the trials in the store.")] = False,
    draw: Annotated[
        int,
        typer.Option(help="Number of the draw. Others than 0 show how much of the choice is luck.", min=0, max=tuned.MOST_DRAWS),
    ] = 0,
    quiet: QuietOption = False,
) -> None:
    """Tune the options of all algorithms of a suite.

    Every algorithm has the same number of trials at every point, on seeds and examples that no
    comparison uses. Finished trials are taken from the store and from the table of trials. The
    chosen options are written to SUITE.yaml where all trials have ended, and the results of all
    trials to the table.
    """
    found, where = opened(suite, store)
    given = clusters.Given(partition, account, minutes, memory, at_once)
    executor = None if collect_only else clusters.executor(on, where.root, given, processes=processes)
    space = spaces.load(tuning.tuning_of(found).space)
    _check_draw(found, draw)
    file, table = output / f"{found.name}.yaml", output / f"{found.name}-trials.parquet"
    there = trials_table.rows(table, found.design_hash()) if table.exists() else []
    find = tuning.finder(where, {row.outcome.run_id: row.outcome for row in there})
    some, failed = chosen(found, points, algorithms), list[tuple[RunSpec, str]]()
    cells = [] if collect_only else list(runnable(found, *some))

    def searches() -> list[Progress]:
        return [advanced(search(found, space, point, selector, draw), find) for point, selector in cells]

    several, left_out = searches(), {row.outcome.run_id for row in there}
    is_done = collect_only
    while not is_done:
        asked = [spec for one in several for spec in one.asked if spec.run_id not in left_out]
        failed += computed(asked, where, processes, executor, quiet=quiet).failed
        several, left_out = searches(), left_out | {spec.run_id for spec, _ in failed}
        is_done = all(spec.run_id in left_out for one in several for spec in one.wanted)
    # Of all points and draws: the files keep what other calls found.
    ended, choices = collect(found, space, find, {0, draw, *(row.draw for row in there)})
    trials_table.write(table, ended, found.design_hash())
    frozen = tuned.content(found, space, choices.pop(0, {}), choices)
    write_atomically(file, tuned.as_yaml(frozen).encode())
    count = sum(len(one) for points in (frozen.points, *frozen.draws.values()) for one in points.values())
    show(f"{len(ended):,} trials in {table}, {count} choices in {file}")
    refuse_failed(failed)


def _check_draw(suite: Suite, draw: int) -> None:
    try:
        suite.tuning_seeds(draw)
    except ValueError as error:
        raise UsageError(f"suite {suite.name}: {error}") from None
