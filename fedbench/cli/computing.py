"""Computes the runs that a command on a suite wants, and tells how they go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fedbench.cli.interrupts import interruptible
from fedbench.cli.output import show
from fedbench.engine.run import RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.errors import FedbenchError
from fedbench.launch.executors import Executor
from fedbench.launch.watch import Watcher
from fedbench.results.store import Store
from fedbench.suites import campaign


def computed(
    wanted: Sequence[RunSpec],
    store: Store,
    processes: int,
    on: Executor | None,
    *,
    quiet: bool,
    watch: Sequence[Watcher] = (),
    options: RunOptions | None = None,
    points: Mapping[str, str],
) -> campaign.Tally:
    """Computes the wanted runs that the store lacks, and returns what became of them. Without
    options those that have begun go on from their checkpoints. `points` has the point of each run,
    by its id, and is shown where there are several."""
    show(f"{len(wanted):,} runs, {len(campaign.missing(store, wanted)):,} of them to be computed, into {store.root}")
    with interruptible("finished runs are stored, the same command goes on"):
        tally = campaign.compute(
            wanted,
            store,
            processes=processes,
            options=options or RunOptions(resume=True),
            progress=None if quiet else True,
            watch=watch,
            executor=on,
            of=points if len({*points.values()}) > 1 else None,
        )
    show(f"{tally.there:,} of {tally.wanted:,} runs have a record, {tally.before:,} of them had one before")
    return tally


def refuse_failed(failed: Sequence[tuple[RunSpec, str]]) -> None:
    """Raises FedbenchError if runs failed, with the first of them."""
    if failed:
        first, why = failed[0]
        line, *more = why.split("\n")
        raise FedbenchError(
            f"{len(failed)} runs failed; the same command tries them again. The first: {first.named}: {line}", *more
        )
