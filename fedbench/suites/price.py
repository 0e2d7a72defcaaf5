"""Estimates what a suite costs before it is run. Runs and trained steps come from plans, seconds
from a few short runs on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fedbench import registry
from fedbench.engine.plan import PlanSummary, check_everybody, plan
from fedbench.engine.run import Run
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.errors import MissingDataError, UsageError
from fedbench.process import peak_memory_mb
from fedbench.scenarios.load import load
from fedbench.suites import space as spaces
from fedbench.suites.space import Space
from fedbench.suites.suite import Point, Suite
from fedbench.suites.tuning import tuning_of
from fedbench.suites.tuning_parts import Halving

SAMPLES = (0.05, 0.25)
"""The shares of the time budget of the two short runs of every algorithm. The price of a step is
the difference in seconds between the two over the difference in steps."""


@dataclass(frozen=True)
class Tried:
    """So many runs, at most, for a share of the time budget of each."""

    runs: int
    share: float


def tried(suite: Suite, space: Space, selector: str) -> tuple[Tried, ...]:
    """Returns the runs in which options of an algorithm are tried at one point, by rung. Behind the
    rungs of a halving are the runs with larger rates of all trials of the last one, the most that
    can be needed."""
    part = tuning_of(suite)
    if not isinstance(part, Halving):
        return (Tried((part.trials + 1) * part.seeds.count, 1.0),)
    more = len(suite.published(selector))
    *_, last = counts = [rung.trials + (1 + more if rung is part.rungs[-1] else 0) for rung in part.rungs]
    rates = len(space.rates(suite.algorithm(selector).name))
    steeper = rates + (rates > 1)
    found = [Tried(count * rung.seeds, rung.budget_share) for count, rung in zip(counts, part.rungs, strict=True)]
    return (*found, Tried((last - 1) * steeper * part.rungs[-1].seeds, 1.0))


@dataclass(frozen=True)
class Cell:
    """The price of one algorithm at one point.

    refused: why it cannot run there. If it is not empty, nothing else is known.
    steps, updates: the trained steps and the updates of one run.
    vectors: how many vectors of the model's size the server keeps.
    seconds: of one run on this machine, None if they were not asked for.
    runs: the number of seeds.
    rungs: the runs in which options are tried, by rung; none in a suite that does not tune.
    """

    point: str
    selector: str
    refused: str = ""
    steps: int = 0
    updates: int = 0
    vectors: int = 0
    seconds: float | None = None
    runs: int = 0
    rungs: tuple[Tried, ...] = ()

    @property
    def tried(self) -> int:
        """Returns the number of runs in which options are tried, at most."""
        return sum(one.runs for one in self.rungs)

    @property
    def whole(self) -> float:
        """Returns to how many runs of the whole budget all runs come, at most. What stops at its
        targets costs less."""
        return self.compared + sum(one.runs * one.share for one in self.rungs)

    @property
    def compared(self) -> int:
        """Returns the number of runs that are compared. A row with tuned options costs as much as
        one with default options."""
        return self.runs * (2 if self.rungs else 1)


def priced(
    suite: Suite, points: Sequence[Point], selectors: Sequence[str], *, timed: bool, tell: Callable[[str], None]
) -> Iterator[Cell]:
    """Yields every algorithm at every point, points outermost.

    Args:
        suite: the suite.
        points: the points that are asked for.
        selectors: the algorithms that are asked for.
        timed: whether seconds are measured on this machine.
        tell: called with a line before an algorithm is timed.

    Raises:
        MissingDataError: if a data set is not on this machine.
    """
    rates: dict[str, Rate] = {}
    space = None if suite.tuning is None else spaces.load(suite.tuning.space)
    for point in points:
        for selector in selectors:
            spec = RunSpec(suite.scenario_at(point), suite.algorithm(selector, at=point), suite.seeds.first)
            found, refused = planned(spec)
            if found is None:
                yield Cell(point.name, selector, refused=refused)
                continue
            if timed and selector not in rates:
                tell(f"timing {selector}")
                rates[selector] = Rate.measured(spec)
            yield Cell(
                point.name,
                selector,
                steps=found.trained_steps,
                updates=found.updates,
                vectors=found.server_vectors,
                seconds=rates[selector].seconds(found.trained_steps) if timed else None,
                runs=suite.seeds.count,
                rungs=() if space is None else tried(suite, space, selector),
            )


def planned(spec: RunSpec) -> tuple[PlanSummary | None, str]:
    """Returns the plan of a run, or the reason why the algorithm cannot run there. An algorithm
    that selects clients by the state of the model has no plan of its own, so that of FedAvg stands
    for it. Raises MissingDataError if the data are not on this machine."""
    try:
        setup = Setup(spec)
        check_everybody(setup)
        return plan(RunSpec(spec.scenario, registry.algorithm("fedavg"), spec.seed) if setup.is_external else spec), ""
    except MissingDataError:
        raise
    except UsageError as error:
        return None, str(error)


@dataclass(frozen=True)
class Rate:
    """The host seconds of a run on one core: fixed + per_step x trained steps."""

    fixed: float
    per_step: float

    def seconds(self, steps: int) -> float:
        return self.fixed + self.per_step * steps

    @classmethod
    def measured(cls, spec: RunSpec) -> Rate:
        """Measures two runs that are cut short. One run before them loads the data."""
        taken = []
        Run(_cut(spec, SAMPLES[0])).record()
        for share in SAMPLES:
            begin = time.perf_counter()
            record = Run(_cut(spec, share)).record()
            taken.append((record.ledger.trained_steps, time.perf_counter() - begin))
        (few, short), (many, long) = taken
        per_step = max(0.0, (long - short) / max(1, many - few))
        return cls(max(0.0, short - per_step * few), per_step)


def _cut(spec: RunSpec, share: float) -> RunSpec:
    seconds = max(spec.scenario.evaluation.step_seconds(0), share * spec.scenario.budget.seconds)
    return RunSpec(load(spec.scenario, [f"budget.seconds={seconds}"]), spec.algorithm, spec.seed)


@dataclass(frozen=True)
class Total:
    """The price of a whole suite.

    runs: runs that are compared.
    rungs: runs in which options are tried, at most, by rung.
    steps: trained steps of all of them.
    core_seconds: seconds on one core, None if they were not measured.
    peak_mb: the peak memory of this process in MB. It has planned all runs and, if they were timed,
    trained a little of every algorithm.
    """

    runs: int
    rungs: tuple[Tried, ...]
    steps: int
    core_seconds: float | None
    peak_mb: float | None

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Total:
        """Returns the sum over cells."""
        each = [(cell.whole, cell) for cell in cells if not cell.refused]
        timed = all(cell.seconds is not None for _, cell in each)
        return cls(
            sum(cell.compared for cell in cells),
            tuple(
                Tried(sum(one.runs for one in rung), rung[0].share)
                for rung in zip(*(cell.rungs for _, cell in each), strict=True)
            ),
            round(sum(count * cell.steps for count, cell in each)),
            sum(count * (cell.seconds or 0.0) for count, cell in each) if timed else None,
            peak_memory_mb(),
        )

    @property
    def tried(self) -> int:
        """Returns the number of runs in which options are tried, at most."""
        return sum(one.runs for one in self.rungs)
