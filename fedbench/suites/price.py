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
from fedbench.suites.suite import Point, Suite

SAMPLES = (0.05, 0.25)
"""The shares of the time budget of the two short runs of every algorithm. The price of a step is
the difference in seconds between the two over the difference in steps."""


@dataclass(frozen=True)
class Cell:
    """The price of one algorithm at one point.

    refused: why it cannot run there. If it is not empty, nothing else is known.
    steps, updates: the trained steps and the updates of one run.
    vectors: how many vectors of the model's size the server keeps.
    seconds: of one run on this machine, None if they were not asked for.
    runs: the number of seeds.
    tried: the number of runs in which options are tried, 0 in a suite that does not tune.
    """

    point: str
    selector: str
    refused: str = ""
    steps: int = 0
    updates: int = 0
    vectors: int = 0
    seconds: float | None = None
    runs: int = 0
    tried: int = 0

    @property
    def compared(self) -> int:
        """Returns the number of runs that are compared. A row with tuned options costs as much as
        one with default options."""
        return self.runs * (2 if self.tried else 1)


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
    tried = 0 if suite.tuning is None else (suite.tuning.trials + 1) * suite.tuning.seeds.count
    for point in points:
        for selector in selectors:
            spec = RunSpec(suite.scenario_at(point), suite.algorithm(selector), suite.seeds.first)
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
                tried=tried,
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
    tried: runs in which options are tried.
    steps: trained steps of all of them.
    core_seconds: seconds on one core, None if they were not measured.
    peak_mb: the peak memory of this process in MB. It has planned all runs and, if they were timed,
    trained a little of every algorithm.
    """

    runs: int
    tried: int
    steps: int
    core_seconds: float | None
    peak_mb: float | None

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Total:
        """Returns the sum over cells."""
        each = [(cell.compared + cell.tried, cell) for cell in cells if not cell.refused]
        timed = all(cell.seconds is not None for _, cell in each)
        return cls(
            sum(cell.compared for cell in cells),
            sum(cell.tried for cell in cells),
            sum(count * cell.steps for count, cell in each),
            sum(count * (cell.seconds or 0.0) for count, cell in each) if timed else None,
            peak_memory_mb(),
        )
