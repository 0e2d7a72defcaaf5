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
from fedbench.suites.search import Progress, Searches, collect
from fedbench.suites.space import Space
from fedbench.suites.suite import Point, Suite


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
    comparison uses. Where a suite has anchors, these come first, and other points begin from their
    options. Finished trials are taken from the store and from the table of trials. The
    chosen options are written to SUITE.yaml where all trials have ended, and the results of all
    trials to the table.
    """
    found, where = opened(suite, store)
    given = clusters.Given(partition, account, minutes, memory, at_once)
    executor = None if collect_only else clusters.executor(on, where.root, given, processes=processes)
    space = spaces.load(tuning.tuning_of(found).space)
    _check_draw(found, draw, points)
    file, table = output / f"{found.name}.yaml", output / f"{found.name}-trials.parquet"
    there = trials_table.rows(table, found.design_hash()) if table.exists() else []
    find = tuning.finder(where, {row.outcome.run_id: row.outcome for row in there})
    cells = [] if collect_only else _cells(found, space, find, points, algorithms, draw)
    failed = list[tuple[RunSpec, str]]()

    def searches() -> list[Progress]:
        ours = Searches(found, space, find, draw)
        return [ours.progress(point, selector) for point, selector in cells]

    several, left_out = searches(), {row.outcome.run_id for row in there}
    is_done = collect_only
    while not is_done:
        asked = [
            (spec, point.name)
            for (point, _), one in zip(cells, several, strict=True)
            for spec in one.asked
            if spec.run_id not in left_out
        ]
        of = {spec.run_id: point for spec, point in asked}
        failed += computed([spec for spec, _ in asked], where, processes, executor, quiet=quiet, points=of).failed
        several, left_out = searches(), left_out | {spec.run_id for spec, _ in failed}
        is_done = all(spec.run_id in left_out for one in several for spec in one.wanted)
    # Of all points and draws: the files keep what other calls found.
    others = sorted({*chosen(found, None, algorithms)[1]} - {*found.selectors()})
    if lost := sorted({row.selector for row in there} - {*found.selectors(), *others}):
        show(f"left out of {table}, since neither the suite nor -a has them: {', '.join(lost)}")
    ended, choices = collect(found, space, find, {0, draw, *(row.draw for row in there)}, others)
    trials_table.write(table, ended, found.design_hash())
    frozen = tuned.content(found, space, choices.pop(0, {}), choices)
    write_atomically(file, tuned.as_yaml(frozen).encode())
    count = sum(len(one) for points in (frozen.points, *frozen.draws.values()) for one in points.values())
    show(f"{len(ended):,} trials in {table}, {count} choices in {file}")
    if collect_only:
        _show_missing(Searches(found, space, find))
    refuse_failed(failed)


def _cells(
    suite: Suite, space: Space, find: tuning.Find, points: list[str] | None, algorithms: list[str] | None, draw: int
) -> list[tuple[Point, str]]:
    """Returns the points and algorithms whose searches are made, and shows which are not. Of a
    suite with anchors, draws after the first are made where it says so, for its leaders if no
    algorithms are named."""
    some, selectors = chosen(suite, points or _drawn_at(suite, draw), algorithms)
    cells, searches = list(runnable(suite, some, selectors)), Searches(suite, space, find)
    if suite.anchors is None:
        return cells
    if draw:
        here = {point.name: [selector for other, selector in cells if other == point] for point in some}
        return [
            (point, one)
            for point in some
            for one in (here[point.name] if algorithms else searches.leaders(point, here[point.name]))
        ]
    for point, selector in cells:
        if suite.is_elsewhere(point) and searches.near(point, selector) is None:
            show(f"not tuned: {selector} at {point.name}: it runs at none of the anchors")
    cells = [cell for cell in cells if not suite.is_elsewhere(cell[0]) or searches.near(*cell) is not None]
    asked = {(point.name, selector) for point, selector in cells}
    for point, selector, near in searches.waiting(cells):
        if (near.point, selector) not in asked:
            raise UsageError(
                f"suite {suite.name}: {point.name} begins from the options of {selector} at its nearest anchor {near.point}, and "
                f"there are none yet; `fedbench tune {suite.typed} -p {near.point} -a {selector}` makes them"
            )
    return cells


def _show_missing(searches: Searches) -> None:
    """Shows at which anchors there is no choice yet."""
    suite = searches.suite
    names = [] if suite.anchors is None else suite.anchors.points
    cells = [(name, one) for name in names for one in suite.selectors() if searches.runs_at(name, one)]
    if missing := [(name, one) for name, one in cells if searches.choice(name, one) is None]:
        more = f" (and {len(missing) - 1:,} more)" if len(missing) > 1 else ""
        show(f"there is no choice of {missing[0][1]} at anchor {missing[0][0]} yet{more}, from which other points begin")


def _drawn_at(suite: Suite, draw: int) -> list[str] | None:
    """Returns the points at which a draw is made if none are named: None for all."""
    return list(suite.anchors.draws.points) if draw and suite.anchors and suite.anchors.draws else None


def _check_draw(suite: Suite, draw: int, points: list[str] | None) -> None:
    """Raises UsageError for a draw that the suite does not make at these points."""
    if draw and suite.anchors is not None:
        draws = suite.anchors.draws
        if draws is None or draw >= draws.count:
            raise UsageError(
                f"suite {suite.name}: --draw: expected at most {draws.count - 1 if draws else 0} by tuning.anchors.draws, got {draw}"
            )
        for name in points or ():
            if name not in draws.points:
                raise UsageError(
                    f"suite {suite.name}: options are drawn again at {', '.join(draws.points)} only (tuning.anchors.draws), got {name}"
                )
    try:
        suite.tuning_seeds(draw)
    except ValueError as error:
        raise UsageError(f"suite {suite.name}: {error}") from None
