"""Computes the runs of a suite that a store lacks. Runs that fail are written down in the store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedbench import foreign
from fedbench.engine.run import RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.launch.executors import Executor
from fedbench.launch.failures import RunsFailed
from fedbench.launch.runner import run_specs
from fedbench.launch.watch import Watcher
from fedbench.results.store import Store, write_atomically
from fedbench.suites.price import planned
from fedbench.suites.suite import Point, Suite

FAILED = ".failed"


@dataclass(frozen=True)
class Tally:
    """What became of the runs that were wanted: how many have a record now (`there`), how many had
    one `before`, and which ones failed, with the reason."""

    wanted: int
    there: int
    before: int
    failed: tuple[tuple[RunSpec, str], ...] = ()


def applicable(suite: Suite, points: Sequence[Point], selectors: Sequence[str]) -> Iterator[tuple[Point, str, str]]:
    """Yields every point and algorithm with the reason why it cannot run there with all seeds,
    which is empty if it can. Raises MissingDataError if the data are not on this machine."""
    for point in points:
        scenario = suite.scenario_at(point)
        for selector in selectors:
            _, refused = planned(RunSpec(scenario, suite.algorithm(selector, at=point), suite.seeds.first), suite.seeds.numbers)
            yield point, selector, refused


def missing(store: Store, wanted: Iterable[RunSpec]) -> list[RunSpec]:
    """Returns the wanted runs that have no record, once each."""
    specs = {spec.run_id: spec for spec in wanted}
    return [spec for run_id, spec in specs.items() if not store.has(spec.scenario.name, spec.algorithm.name, run_id)]


def compute(
    wanted: Sequence[RunSpec],
    store: Store,
    *,
    processes: int = 1,
    options: RunOptions | None = None,
    progress: bool | None = None,
    watch: Sequence[Watcher] = (),
    executor: Executor | None = None,
    of: Mapping[str, str] | None = None,
) -> Tally:
    """Computes the wanted runs that the store lacks. A run that fails is written down in the store,
    and is tried again the next time. The others go on. Runs of a task and a seed come one after
    another, since a process keeps the data of few seeds.

    Args:
        wanted: the runs.
        store: where the records are.
        processes: runs at a time, each in another process if there are several.
        options: as in `fedbench.launch.runner.run`; None resumes from checkpoints.
        progress: whether to show how the runs go, as in `fedbench.launch.runner.run`.
        watch: observe the runs.
        executor: works at the runs, in place of processes on this machine.
        of: what a run is of, as in `fedbench.launch.runner.run_specs`.
    """
    absent = sorted(missing(store, wanted), key=lambda spec: (spec.scenario.task.name, spec.seed))
    before = len({spec.run_id for spec in wanted}) - len(absent)
    failures: list[tuple[RunSpec, str]] = []
    if absent:
        try:
            run_specs(
                absent,
                store=store.root,
                processes=processes,
                options=options or RunOptions(resume=True),
                progress=progress,
                watch=watch,
                keep=False,
                executor=executor,
                of=of,
            )
        except RunsFailed as error:
            failures = [(spec, "\n".join(foreign.told(problem))) for spec, problem in error.failures]
    for spec, why in failures:
        _write_down(store, spec, why)
    done = {spec.run_id for spec in absent} - {spec.run_id for spec in missing(store, absent)}
    for run_id in done:
        _failure(store, run_id).unlink(missing_ok=True)
    return Tally(before + len(absent), before + len(done), before, tuple(failures))


def _failure(store: Store, run_id: str) -> Path:
    return store.root / FAILED / f"{run_id}.json"


def _write_down(store: Store, spec: RunSpec, why: str) -> None:
    file = _failure(store, spec.run_id)
    attempts = json.loads(file.read_text(encoding="utf-8"))["attempts"] if file.exists() else 0
    content = {"run": spec.named, "scenario": spec.scenario.name, "attempts": attempts + 1, "why": why}
    write_atomically(file, (json.dumps(content, indent=1) + "\n").encode())


def failures(store: Store) -> list[dict[str, object]]:
    """Returns what is written down about runs that failed, in order of their ids."""
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted((store.root / FAILED).glob("*.json"))]
