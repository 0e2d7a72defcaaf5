"""What a suite costs, before anything is trained: runs and trained steps from plans, seconds from a
few short runs on this machine."""

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
"""Shares of the time budget of the two short runs of every algorithm, between which the price of a
step lies."""


@dataclass(frozen=True)
class Cell:
    """One algorithm at one point. `refused`: why it cannot run there, else empty; then nothing else
    is known. Of one run: `steps` that are trained, `updates`, `vectors` of the model's size that
    the server keeps. `seconds`: of one run on this machine; None where it was not asked for.
    `runs`: how many the suite has, and how many are tried for its options."""

    point: str
    selector: str
    refused: str = ""
    steps: int = 0
    updates: int = 0
    vectors: int = 0
    seconds: float | None = None
    runs: int = 0
    tried: int = 0


def priced(
    suite: Suite, points: Sequence[Point], selectors: Sequence[str], *, timed: bool, tell: Callable[[str], None]
) -> Iterator[Cell]:
    """Every algorithm at every point, points outermost. timed: also measure this machine.
    UsageError for missing data."""
    rates: dict[str, Rate] = {}
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
            seconds = rates[selector].seconds(found.trained_steps) if timed else None
            tried = 0 if suite.tuning is None else (suite.tuning.trials + 1) * suite.tuning.seeds.count
            yield Cell(
                point.name,
                selector,
                "",
                found.trained_steps,
                found.updates,
                found.server_vectors,
                seconds,
                suite.seeds.count,
                tried,
            )


def planned(spec: RunSpec) -> tuple[PlanSummary | None, str]:
    """The plan of a run, or why the algorithm cannot run there. An algorithm that selects by the
    model's state has no plan alone; that of FedAvg stands for it. MissingDataError if the data are
    not here."""
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
    """Host seconds of a run as fixed + per_step x trained steps, on one core."""

    fixed: float
    per_step: float

    def seconds(self, steps: int) -> float:
        return self.fixed + self.per_step * steps

    @classmethod
    def measured(cls, spec: RunSpec) -> Rate:
        """Measures two runs that are cut short. A run's data are loaded before the clock starts."""
        taken = []
        Run(_cut(spec, SAMPLES[0])).record()
        for share in SAMPLES:
            begin = time.perf_counter()
            record = Run(_cut(spec, share)).record()
            taken.append((record.meta["ledger"]["trained_steps"], time.perf_counter() - begin))
        (few, short), (many, long) = taken
        per_step = max(0.0, (long - short) / max(1, many - few))
        return cls(max(0.0, short - per_step * few), per_step)


def _cut(spec: RunSpec, share: float) -> RunSpec:
    seconds = max(spec.scenario.evaluation.every_seconds, share * spec.scenario.budget.seconds)
    return RunSpec(load(spec.scenario, [f"budget.seconds={seconds}"]), spec.algorithm, spec.seed)


@dataclass(frozen=True)
class Total:
    """The price of a whole suite: runs to compare and runs to find options, trained steps, core
    seconds (None if not timed), and the peak of this process in MB, which has planned everything
    and, if timed, trained a little of each."""

    runs: int
    tried: int
    steps: int
    core_seconds: float | None
    peak_mb: float | None

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Total:
        """Rows with the options that were found cost as much as those with published ones."""
        runs = sum(cell.runs * (2 if cell.tried else 1) for cell in cells)
        tried = sum(cell.tried for cell in cells)
        each = [(cell.runs * (2 if cell.tried else 1) + cell.tried, cell) for cell in cells if not cell.refused]
        timed = all(cell.seconds is not None for _, cell in each)
        return cls(
            runs,
            tried,
            sum(count * cell.steps for count, cell in each),
            sum(count * (cell.seconds or 0.0) for count, cell in each) if timed else None,
            peak_memory_mb(),
        )
