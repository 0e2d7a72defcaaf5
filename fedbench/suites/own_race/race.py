"""`fb.race`: which algorithm is the best on a user's own scenario, in so many minutes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import Timeout

from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.launch.in_time import InTime
from fedbench.launch.progress import in_notebook, watching
from fedbench.launch.runner import on_this_machine
from fedbench.results.store import Store
from fedbench.scenarios.load import load, settings
from fedbench.scenarios.schema import Scenario
from fedbench.suites import campaign
from fedbench.suites.own_race import plan as plans
from fedbench.suites.own_race.plan import Given
from fedbench.suites.own_race.result import RaceResult
from fedbench.suites.own_race.stages import OutOfTime, Stages, Tell
from fedbench.suites.own_race.standing import result
from fedbench.tasks.given import Task

LOCK = "own-race"
WAIT_SECONDS = 0.5
Clock = Callable[[], float]


def race(
    scenario: str | Path | Scenario,
    *,
    minutes: float = 20,
    algorithms: str | Sequence[str] = (),
    overrides: Sequence[str] = (),
    task: Task | None = None,
    space: str | Path | None = None,
    store: str | Path | None = None,
    processes: int = 1,
    first_seed: int = 0,
    tune: bool = True,
    progress: bool | None = None,
) -> RaceResult:
    """Finds the algorithms that cost least on a scenario, in so many minutes.

    All rows make one run, and those far behind are dropped. The options of the others are tuned if
    there is time for it. Then they race: seeds are added, and rows that cannot be the best any more
    get no further ones. The same call goes on where it stopped, also after a kill.

    Parameters
    ----------
    scenario : str, path or Scenario
        A name of the library, the path of a YAML file, or a scenario. It has targets.
    minutes : float
        After so many minutes no run is begun any more. At the first call they also decide whether
        and how thoroughly options are tuned.
    algorithms : str or sequence of str
        Selectors such as "fedbuff[buffer_size=10]" or "./mine.py:Mine". Without any, all algorithms
        of fedbench take part that can run on the scenario.
    overrides : sequence of str
        Settings "key.path=value", applied to the scenario in order.
    task : Task, optional
        Examples and a model that are given in Python, in the place of the scenario's task.
    space : path, optional
        A YAML file with the options to tune of algorithms of your own, or with others than those
        that fedbench tunes of its own ones.
    store : path, optional
        The folder of records, plan and decisions. None is `runs/race-` and the scenario's name.
    processes : int
        Runs at a time. If there are several, each is in another process.
    first_seed : int
        The first of at most 40 seeds.
    tune : bool
        Whether to tune options, if there is time.
    progress : bool, optional
        Whether to show how the race goes. None does so on a terminal and in a notebook.

    Returns
    -------
    RaceResult
        The rows that may be the best, by system and cost; `print` it.

    Raises
    ------
    UsageError
        The arguments are wrong, no algorithm can run, or the store has another race.
    FedbenchError
        By the first runs, no target gets a verdict. They stay in the store.
    """
    chosen = [algorithms] if isinstance(algorithms, str) else algorithms
    given = Given(load(scenario, settings(overrides, task)), chosen, space, minutes, processes, first_seed, tune)
    is_shown = progress or (progress is None and (sys.stderr.isatty() or in_notebook()))
    tell: Tell = _to_stderr if is_shown else lambda line: None
    return raced(given, Store(store or folder_of(given.scenario)), tell, progress=progress)


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def folder_of(scenario: Scenario) -> Path:
    """Returns the store of a race for which none is given."""
    return Path("runs") / f"race-{scenario.name}"


def raced(given: Given, store: Store, tell: Tell, *, progress: bool | None = None, clock: Clock = time.monotonic) -> RaceResult:
    """Races until the minutes are over, and returns what was found. `clock` gives the seconds that
    the minutes are measured by."""
    given = given.plain()
    count = len(given.selectors)
    begin = clock()
    store.prepare()
    try:
        with store.lock_of(LOCK).acquire(timeout=0):
            plan = plans.read(store.root, given)
            if plan is None:
                tell(f"{count} algorithms: planning, and timing a short run")
                plan = plans.made(given, clock)
                plans.write(store.root, plan)
            stages = Stages(plan, given.scenario, store, given.processes)
            work = _Work(stages, given, begin + 60 * given.minutes, clock, progress)
            try:
                stages.run(work, tell)
            except OutOfTime:
                tell("the time is over")
            return result(given, stages)
    except Timeout:
        raise UsageError(f"race: another race is running in {store.root}; wait for it, or choose another --store") from None


@dataclass(frozen=True)
class _Work:
    """Computes runs until the deadline. Those under way come to their end."""

    stages: Stages
    given: Given
    deadline: float
    clock: Clock
    progress: bool | None

    def is_over(self) -> bool:
        return self.clock() >= self.deadline

    def __call__(self, wanted: Sequence[RunSpec]) -> None:
        while absent := self._absent(wanted):
            if self.is_over():
                raise OutOfTime
            self._compute(absent)
            if self._absent(wanted) and not self.is_over():  # another process computes them, such as one whose parent was killed
                time.sleep(WAIT_SECONDS)

    def _absent(self, wanted: Sequence[RunSpec]) -> list[RunSpec]:
        return [spec for spec in campaign.missing(self.stages.store, wanted) if spec.run_id not in self.stages.failed]

    def _compute(self, absent: Sequence[RunSpec]) -> None:
        begin, store = self.clock(), self.stages.store
        executor = InTime(on_this_machine(self.given.processes, len(absent)), self.is_over)
        with watching(self.progress, lines=False) as shown:
            tally = campaign.compute(
                absent, store, processes=self.given.processes, progress=False, watch=[shown], executor=executor
            )
        self.stages.failed |= {spec.run_id: why.partition("\n")[0] for spec, why in tally.failed}
        self.stages.took(absent, self.clock() - begin)
