"""Many runs: one after the other, or in processes side by side; what is done stays done."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing.context import SpawnContext
from multiprocessing.managers import SyncManager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from fedbench import registry, sources
from fedbench.engine.plan import PlanSummary
from fedbench.engine.plan import plan as plan_spec
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.errors import FedbenchError, PluginError, UsageError
from fedbench.protocols import Algorithm
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.scenarios.schema import Scenario
from fedbench.suites.progress import Watcher, watching
from fedbench.suites.records import Records

Algorithms = str | Algorithm | Sequence[str | Algorithm]
REPORT_EVERY = 0.2  # host seconds between two reports of a run


def specs(
    scenario: str | Path | Scenario, algorithms: Algorithms, seeds: int | Iterable[int], overrides: Sequence[str] = ()
) -> list[RunSpec]:
    """All combinations, algorithms outermost. `seeds` a number n means 0 .. n - 1. UsageError for unknown names or values."""
    resolved = load(scenario, overrides)
    chosen = [algorithms] if isinstance(algorithms, str | Algorithm) else list(algorithms)
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not chosen or not numbers:
        raise UsageError(f"run: expected at least one algorithm and one seed, got {len(chosen)} and {len(numbers)}")
    found = [RunSpec(resolved, registry.algorithm(a), seed) for a in chosen for seed in numbers]
    doubles = len(found) - len({spec.run_id for spec in found})
    if doubles:
        raise UsageError(
            f"run: {doubles} of {len(found)} runs are asked for twice: algorithms {', '.join(map(str, chosen))}, seeds {numbers}"
        )
    return found


def run(
    scenario: str | Path | Scenario,
    algorithm: Algorithms,
    *,
    seeds: int | Iterable[int] = 1,
    overrides: Sequence[str] = (),
    store: str | Path | None = None,
    jobs: int = 1,
    options: RunOptions | None = None,
    progress: bool | None = None,
    watcher: Watcher | None = None,
) -> Records:
    """Run algorithms on a scenario and return their records.

    Args:
        scenario: library name, path to a YAML file, or a Scenario.
        algorithm: selector such as "fedbuff[buffer_size=10]", an Algorithm, or several of them.
        seeds: how many (0, 1, ..), or which.
        overrides: "key.path=value" applied to the scenario.
        store: folder for the records; None keeps them in memory only.
        jobs: runs at a time, each in a process of its own if more than one.
        options: workers, waves, checkpoints, resume; nothing that changes a result.
        progress: True shows how the runs go, False does not, None shows it on a terminal and in a notebook.
        watcher: hears how the runs go, instead of showing it.
    """
    wanted = specs(scenario, algorithm, seeds, overrides)
    options = options or RunOptions()
    if store is not None:
        Store(store).prepare()
    with watching(progress) if watcher is None else nullcontext(watcher) as hearing:
        hearing.expected(len(wanted))
        if jobs <= 1 or len(wanted) == 1:
            return Records([_run_here(i, spec, store, options, hearing) for i, spec in enumerate(wanted)])
        return Records(_run_aside(wanted, store, jobs, options, hearing))


def plan(
    scenario: str | Path | Scenario,
    algorithm: str | Algorithm,
    *,
    seed: int = 0,
    overrides: Sequence[str] = (),
    device: str = "cpu",
) -> PlanSummary:
    """Play the virtual clock of a run without training. `device`: where it is to be trained, cpu, cuda or cuda:N."""
    return plan_spec(specs(scenario, algorithm, [seed], overrides)[0], device)


@dataclass(frozen=True)
class Finished:
    record: Record
    reused: bool


def _run_here(index: int, spec: RunSpec, store: str | Path | None, options: RunOptions, watcher: Watcher) -> Record:
    watcher.started(index, spec)
    done = _execute(spec, store, options, lambda *report: watcher.progress(index, *report))
    watcher.ended(index, done.record, reused=done.reused)
    return done.record


def _execute(
    spec: RunSpec, store: str | Path | None, options: RunOptions, progress: Callable[[int, float, float | None], None]
) -> Finished:
    """One run under a lock, so that two processes cannot write the same record; a stored one is taken when resuming."""
    if store is None:
        return Finished(Run(spec, None, options, progress).record(), reused=False)
    place = Store(store)
    folder = place.folder(spec.scenario.name, spec.algorithm.name, spec.run_id)
    locks = place.root / ".locks"
    locks.mkdir(exist_ok=True)
    try:
        with FileLock(locks / f"{spec.run_id}.lock", timeout=0):
            stored = place.find(spec.scenario.name, spec.algorithm.name, spec.run_id) if options.resume else None
            if stored is not None:
                return Finished(stored, reused=True)
            return Finished(Run(spec, place, options, progress).record(), reused=False)
    except Timeout:
        raise UsageError(f"run {spec.selector} seed {spec.seed}: another process is computing it into {folder}") from None


def _run_aside(
    wanted: Sequence[RunSpec], store: str | Path | None, jobs: int, options: RunOptions, watcher: Watcher
) -> list[Record]:
    """Runs in a pool of processes; reports come back through a queue."""
    _check_processes_find(wanted)
    context = multiprocessing.get_context("spawn")
    with _manager(context, jobs) as manager:
        reports = manager.Queue()
        with ProcessPoolExecutor(min(jobs, len(wanted)), context, initializer=_prepare, initargs=(reports,)) as pool:
            futures = [pool.submit(_work, i, spec, store, options) for i, spec in enumerate(wanted)]
            try:
                _listen(futures, reports, wanted, watcher)
                return [future.result().record for future in futures]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _check_processes_find(wanted: Sequence[RunSpec]) -> None:
    """Processes import the main program again, which they cannot where it is a notebook or a prompt."""
    if hasattr(sys.modules["__main__"], "__file__"):
        return
    for spec in wanted:
        cls = type(spec.algorithm)
        if cls.__module__ == "__main__":
            raise UsageError(
                f"run: class {cls.__qualname__} of algorithm {spec.algorithm.name} is defined in this notebook or prompt, where other "
                "processes do not find it; put it into a file and import it, or leave jobs at 1"
            )


def _manager(context: SpawnContext, jobs: int) -> SyncManager:
    """Starts the first process. UsageError if it cannot import the main program, most often because it starts runs itself."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # this is such a process, and imports the main program
        raise SystemExit(1)
    try:
        return context.Manager()
    except EOFError:
        raise UsageError(
            f"run: jobs={jobs} starts processes that import this program again, so it must be a file, and what it runs must stand "
            'under a guard:\n\n    if __name__ == "__main__":\n        fb.run(..)'
        ) from None


_queues: list[Any] = []  # a worker process has one, for its reports


def _prepare(reports: Any) -> None:
    """First thing in a worker process. Ctrl-C reaches all processes of a terminal: it ends a run, see `_work`, not the waiting for one."""
    _queues.append(reports)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(index: int, spec: RunSpec, store: str | Path | None, options: RunOptions) -> Finished:
    """In a worker process. Once the main program has gone, its queue has too, and a run that reports ends with an error."""
    (reports,) = _queues
    last = 0.0

    def progress(version: int, seconds: float, accuracy: float | None) -> None:
        nonlocal last
        if time.monotonic() - last >= REPORT_EVERY:
            last = time.monotonic()
            reports.put((index, version, seconds, accuracy))

    reports.put((index, None))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return _execute(spec, store, options, progress)
    except Exception as error:
        if isinstance(error, FedbenchError) or not sources.is_own(error):
            raise
        raise PluginError(sources.described(error)) from None  # its frames do not travel to another process
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _listen(futures: Sequence[Future[Finished]], reports: Any, wanted: Sequence[RunSpec], watcher: Watcher) -> None:
    """Hand reports on until all runs are done; a failed run raises here, the others' records stay."""
    open_runs = dict(enumerate(futures))
    while open_runs:
        while not reports.empty():
            index, *report = reports.get()
            if report == [None]:
                watcher.started(index, wanted[index])
            else:
                watcher.progress(index, *report)
        for index in [i for i, future in open_runs.items() if future.done()]:
            done = open_runs.pop(index).result()
            watcher.ended(index, done.record, reused=done.reused)
        time.sleep(REPORT_EVERY / 4)
