"""Runs many specifications, one after the other or side by side. A failure ends its own run only,
and finished records stay in the store."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fedbench import foreign, registry
from fedbench.engine.plan import PlanSummary
from fedbench.engine.plan import plan as plan_spec
from fedbench.engine.run import RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.errors import FedbenchError, UsageError
from fedbench.launch import watchers
from fedbench.launch.executors import Begun, Done, Event, Executor, Failed, Here, Pool, Told
from fedbench.launch.failures import RunsFailed
from fedbench.launch.progress import watching
from fedbench.launch.records import Records
from fedbench.launch.side_by_side import SideBySide
from fedbench.launch.task import Finished, Task, compute, has_what_is_kept
from fedbench.launch.watch import Evaluation, Report, RunPlan, WatchedRun, Watcher, evaluations, guarded, unchangeable
from fedbench.protocols import Algorithm
from fedbench.results.disk import storing
from fedbench.results.record import Record
from fedbench.results.store import CHECKPOINT, Store
from fedbench.scenarios.load import load, settings
from fedbench.scenarios.schema import Scenario
from fedbench.tasks import given

Algorithms = str | Algorithm | Sequence[str | Algorithm]


def specs(
    scenario: str | Path | Scenario,
    algorithms: Algorithms,
    seeds: int | Iterable[int],
    overrides: Sequence[str] = (),
    task: given.Task | None = None,
) -> list[RunSpec]:
    """Returns all combinations of algorithms and seeds, algorithms outermost.

    Parameters
    ----------
    scenario : str, path or Scenario
        A name of the library, the path of a YAML file, or a scenario.
    algorithms : str, Algorithm, or a sequence of them
        Selectors such as "fedbuff[buffer_size=10]", or algorithms.
    seeds : int or iterable of int
        The seeds, or a number n for the seeds 0 to n - 1.
    overrides : sequence of str
        Settings "key.path=value", applied to the scenario in order.
    task : Task, optional
        Examples and a model, in the place of the scenario's task.

    Returns
    -------
    list of RunSpec
        The runs.

    Raises
    ------
    UsageError
        A name or a value is unknown, or a run is requested twice.
    """
    resolved = load(scenario, settings(overrides, task))
    chosen = [algorithms] if isinstance(algorithms, str | Algorithm | type) else list(algorithms)
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
    task: given.Task | None = None,
    store: str | Path | None = None,
    processes: int = 1,
    options: RunOptions | None = None,
    progress: bool | None = None,
    watch: Watcher | str | Sequence[Watcher | str] = (),
    wait: bool = False,
) -> Records:
    """Runs algorithms on a scenario and returns their records.

    A run that another process is computing into the store is left out, and is in `elsewhere` of the
    records. If a run fails, the others are still run. The error of a single run is raised as it is.

    Parameters
    ----------
    scenario : str, path or Scenario
        A name of the library, the path of a YAML file, or a scenario.
    algorithm : str, Algorithm, or a sequence of them
        Selectors such as "fedbuff[buffer_size=10]", or algorithms.
    seeds : int or iterable of int
        The seeds, or a number n for the seeds 0 to n - 1.
    overrides : sequence of str
        Settings "key.path=value", applied to the scenario in order.
    task : Task, optional
        Examples and a model that are given in Python, in the place of the scenario's task.
    store : path, optional
        The folder for the records. None keeps them in memory only.
    processes : int
        Runs at a time. If there are several, each is in another process.
    options : RunOptions, optional
        Workers, waves, checkpoints, resume, whether to keep the model: nothing that changes a
        result.
    progress : bool, optional
        Whether to show how the runs go. None does so on a terminal and in a notebook.
    watch : Watcher, str, or a sequence of them
        Observe the runs, beside what is shown: watchers, or names as `fedbench run --watch` takes
        them, such as "csv:points.csv".
    wait : bool
        Whether to wait at the end for runs that other processes compute, and to take their records.

    Returns
    -------
    Records
        A record for each run, algorithms outermost.

    Raises
    ------
    UsageError
        The arguments or the store are not usable. Nothing was run.
    RunsFailed
        Some of several runs failed. It has the records of the others.
    WatchersFailed
        A watcher raised. It has the records of the runs, which went on without it.

    Examples
    --------
    >>> import fedbench as fb
    >>> records = fb.run("digits-demo", ["fedavg", "fedbuff"], overrides=["budget.seconds=2", "task.model=softmax"])
    >>> records
    Records(2, digits-demo, fedavg, fedbuff, 1 seed)
    >>> records[0].state
    'finished'
    """
    wanted = specs(scenario, algorithm, seeds, overrides, task)
    with guarded(watchers.made(watch)) as group:
        group.records = run_specs(
            wanted, store=store, processes=processes, options=options, progress=progress, watch=[group], wait=wait
        )
    return group.records


def run_specs(
    wanted: Sequence[RunSpec],
    *,
    store: str | Path | None = None,
    processes: int = 1,
    options: RunOptions | None = None,
    progress: bool | None = None,
    watch: Sequence[Watcher] = (),
    wait: bool = False,
    keep: bool = True,
    executor: Executor | None = None,
    of: Mapping[str, str] | None = None,
) -> Records:
    """Does what `run` does, for runs of any scenarios.

    Parameters
    ----------
    wanted : sequence of RunSpec
        The runs.
    store, processes, options, progress, wait
        As in `run`.
    watch : sequence of Watcher
        Observe the runs. An error of theirs ends the runs; `guarded` prevents it.
    keep : bool
        False leaves the records to the store and returns none, so that thousands of them are not
        held in memory.
    executor : Executor, optional
        Works at the runs, in place of processes on this machine.
    of : mapping of str to str, optional
        By run id, the suite's point or the paper's cell that a run is of, for its name.

    Returns
    -------
    Records
        The records, in the order of `wanted`.
    """
    options = options or RunOptions()
    if store is not None:
        Store(store).prepare()
    elif options.keep_model or options.keeps_clients:
        name = "keep_model" if options.keep_model else "keep_clients"
        raise UsageError(f"{name}: what is kept lies beside its record, so it needs a store, got none")
    executor = executor or on_this_machine(processes, len(wanted))
    if not isinstance(executor, Here | SideBySide):
        _check_processes_find(wanted)
    brings = None if executor.shares_files or store is None else Store(store)
    with watching(progress) as shown:
        series = _Series(wanted, shown, watch, executor, keep=keep, brings=brings, of=of or {})
        tasks = [Task(i, spec, None if brings else store, options) for i, spec in enumerate(wanted)]
        series.run([task for task in tasks if not series.reuses(task)])
        if wait and series.elsewhere:
            series.run([Task(i, wanted[i], store, options, wait=True) for i in sorted(series.elsewhere)])
    return series.records()


def on_this_machine(processes: int, tasks: int) -> Here | Pool:
    """Returns what works at so many tasks, at most `processes` at a time."""
    pool = Pool(min(processes, max(tasks, 1)))
    return pool if pool.processes > 1 else Here()


def plan(
    scenario: str | Path | Scenario,
    algorithm: str | Algorithm,
    *,
    seed: int = 0,
    overrides: Sequence[str] = (),
    task: given.Task | None = None,
    device: str = "cpu",
) -> PlanSummary:
    """Plays the virtual clock of a run without training, and returns what happens on it.

    Parameters
    ----------
    scenario : str, path or Scenario
        A name of the library, the path of a YAML file, or a scenario.
    algorithm : str or Algorithm
        A selector such as "fedbuff[buffer_size=10]", or an algorithm.
    seed : int
        The seed.
    overrides : sequence of str
        Settings "key.path=value", applied to the scenario in order.
    task : Task, optional
        Examples and a model that are given in Python, in the place of the scenario's task.
    device : str
        Where the run is to be trained: cpu, cuda or cuda:N. It need not be on this machine.

    Returns
    -------
    PlanSummary
        Updates, jobs, staleness, idle time and what is wasted, in virtual seconds.

    Raises
    ------
    UsageError
        A name or a value is unknown, or scenario and algorithm do not fit.

    Examples
    --------
    >>> import fedbench as fb
    >>> planned = fb.plan("digits-demo", "fedbuff[buffer_size=5]", overrides=["budget.updates=4"])
    >>> planned.updates, planned.jobs_consumed
    (4, 20)
    """
    found = specs(scenario, algorithm, [seed], overrides, task)
    if len(found) > 1:
        raise UsageError(f"plan: expected one algorithm, got {len(found)}; call it once for each")
    return plan_spec(found[0], device)


class _Series:
    """Several runs: keeps what has become of them so far, and tells the watchers."""

    def __init__(
        self,
        wanted: Sequence[RunSpec],
        shown: Watcher,
        watch: Sequence[Watcher],
        executor: Executor,
        *,
        keep: bool,
        brings: Store | None,
        of: Mapping[str, str],
    ) -> None:
        """With `keep` the records are held. `brings` is the store into which records that come back
        are written; None if the workers write them. `of` is that of run_specs."""
        self.wanted, self.executor, self.keep, self.brings, self.of = wanted, executor, keep, brings, of
        self.shown, self.watchers = shown, (shown, *watch)
        self.evaluated: dict[int, int] = {}  # how many evaluations the watchers know, by run
        self.done: dict[int, Record] = {}
        self.failed: dict[int, Exception] = {}
        self.elsewhere: set[int] = set()

    def reuses(self, task: Task) -> bool:
        """Returns whether the record of a run is taken from the store into which workers' records
        are brought, which workers do not see."""
        if self.brings is None or not task.options.resume:
            return False
        place = (task.spec.scenario.name, task.spec.algorithm.name, task.spec.run_id)
        found = self.brings.find(*place)
        if found is None or not has_what_is_kept(self.brings.folder(*place), found, task.options):
            return False
        for event in (Begun(task.index), Done(task.index, Finished(found, reused=True))):
            self._hear(task.index, event)
        return True

    def run(self, tasks: Sequence[Task]) -> None:
        self.elsewhere -= {task.index for task in tasks}
        if tasks:
            self.executor.run(compute, tasks, lambda event: self._hear(tasks[event.task].index, event))

    def _hear(self, index: int, event: Event[Finished]) -> None:
        run = WatchedRun(index, len(self.wanted), self.wanted[index], of=self.of.get(self.wanted[index].run_id, ""))
        if isinstance(event, Begun):
            for one in self.watchers:
                one.on_begin(run)
        elif isinstance(event, Told):
            self._report(run, event.report)
        elif isinstance(event, Failed):
            self.failed[index] = event.error
            self._leave_out(run, f"failed: {foreign.told(event.error)[0]}", show=run.runs > 1)  # a single error is raised
        elif event.result.record is None:
            self.elsewhere.add(index)
            self._leave_out(run, "another process is computing it")
        elif self.brings is None or event.result.reused or self._bring(index, event.result.record, event.result.beside):
            if self.keep:
                self.done[index] = event.result.record
            self._end(replace(run, reused=event.result.reused), unchangeable(event.result.record))

    def _report(self, run: WatchedRun, report: object) -> None:
        if isinstance(report, RunPlan):
            for one in self.watchers:
                one.on_plan(run, report)
        elif isinstance(report, Report):
            self._evaluate(run, report.evaluations)
            for one in self.watchers:
                one.on_progress(run, report.version, report.seconds)

    def _evaluate(self, run: WatchedRun, points: Sequence[Evaluation]) -> None:
        for point in points:
            for one in self.watchers:
                one.on_evaluation(run, point)
        self.evaluated[run.index] = self.evaluated.get(run.index, 0) + len(points)

    def _end(self, run: WatchedRun, record: Record) -> None:
        self._evaluate(run, evaluations(record, self.evaluated.get(run.index, 0)))
        for one in self.watchers:
            one.on_end(run, record)

    def _leave_out(self, run: WatchedRun, why: str, *, show: bool = True) -> None:
        for one in self.watchers:
            if show or one is not self.shown:
                one.on_failure(run, why)

    def _bring(self, index: int, record: Record, beside: Mapping[str, bytes]) -> bool:
        """Stores a record that has come back. If that fails, its run has failed, and the others go
        on."""
        assert self.brings is not None
        spec = self.wanted[index]
        checkpoint = self.brings.partial(spec.scenario.name, spec.algorithm.name, spec.run_id) / CHECKPOINT
        try:
            with self.brings.lock_of(spec.run_id).acquire(timeout=-1), storing(self.brings.root, checkpoint):
                self.brings.write(record, beside)
        except FedbenchError as error:
            self._hear(index, Failed(index, error))
            return False
        return True

    def records(self) -> Records:
        """Returns the records in the order in which they were asked for. Raises the errors of runs
        that failed."""
        records = Records([self.done[i] for i in sorted(self.done)], [self.wanted[i] for i in sorted(self.elsewhere)])
        if not self.failed:
            return records
        first = self.failed[min(self.failed)]
        if len(self.wanted) == 1:
            raise first
        raise RunsFailed(records, [(self.wanted[i], self.failed[i]) for i in sorted(self.failed)]) from first


def _check_processes_find(wanted: Sequence[RunSpec]) -> None:
    """Raises UsageError for an algorithm that is defined in a notebook or at a prompt. Other
    processes import the main program again, and cannot import those."""
    if hasattr(sys.modules["__main__"], "__file__"):
        return
    for spec in wanted:
        cls = type(spec.algorithm)
        if cls.__module__ == "__main__":
            raise UsageError(
                f"run: class {cls.__qualname__} of algorithm {spec.algorithm.name} is defined in this notebook or prompt, where other "
                "processes do not find it; put it into a file and import it, or leave processes at 1"
            )
