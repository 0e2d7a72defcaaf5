"""Estimates what a suite costs before it is run. Runs and trained steps come from plans, seconds
from a few short runs on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from fedbench import registry
from fedbench.engine.plan import PlanSummary, check_everybody, may_lack_somebody, plan
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


def tried(suite: Suite, space: Space, point: Point, selector: str) -> tuple[Tried, ...]:
    """Returns the runs in which options of an algorithm are tried at a point, by rung. Behind the
    rungs of a halving are the runs with larger rates of all trials of the last one, the most that
    can be needed. Raises UsageError if there is nothing to try."""
    part, cls = tuning_of(suite), type(suite.algorithm(selector))
    rates = len(space.rates(cls))
    if not isinstance(part, Halving):
        return (Tried((part.trials + 1) * part.seeds.count, 1.0),)
    rungs, more, draws, lent = part.rungs_at(point.name), len(suite.published(selector)), True, suite.is_elsewhere(point)
    if lent and part.anchors is not None:
        more, draws = 0, space.only(cls, part.anchors.elsewhere.options) is not None
    *_, last = counts = [rung.trials * draws + (1 + more if lent or rung is rungs[-1] else 0) for rung in rungs]
    steeper = rates + (rates > 1)
    found = [Tried(count * rung.seeds, rung.budget_share) for count, rung in zip(counts, rungs, strict=True)]
    return (*found, Tried((last - 1) * steeper * rungs[-1].seeds, 1.0))


@dataclass(frozen=True)
class Cell:
    """The price of one algorithm at one point.

    refused: why it cannot run there. If it is not empty, nothing else is known.
    steps, updates: the trained steps and the updates of one run.
    vectors: how many vectors of the model's size the server keeps.
    seconds: of one run on this machine, None if they were not asked for.
    runs: the number of seeds.
    rungs: the runs in which options are tried, by rung; none in a suite that does not tune.
    elsewhere: whether it begins from the options of an anchor.
    draws: how often options are tried, if it is among the leaders there.
    rows: how many rows of it are compared: with default options, with tuned ones, or both.
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
    elsewhere: bool = False
    draws: int = 1
    rows: int = 1

    @property
    def tried(self) -> int:
        """Returns the number of runs in which options are tried, at most."""
        return sum(one.runs for one in self.rungs)

    @property
    def whole(self) -> float:
        """Returns to how many runs of the whole budget all runs come, at most, with the first draw.
        What stops at its targets costs less."""
        return self.compared + self.searched

    @property
    def searched(self) -> float:
        """Returns to how many runs of the whole budget those come in which options are tried, once,
        at most."""
        return sum(one.runs * one.share for one in self.rungs)

    @property
    def compared(self) -> int:
        """Returns the number of runs that are compared. A row with tuned options costs as much as
        one with default options."""
        return self.runs * self.rows


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
    draws = suite.anchors and suite.anchors.draws
    for point in points:
        for selector in selectors:
            spec = RunSpec(suite.scenario_at(point), suite.algorithm(selector, at=point), suite.seeds.first)
            found, refused = planned(spec, suite.seeds.numbers)
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
                runs=len(suite.seeds_at(point.name)),
                rungs=() if space is None else tried(suite, space, point, selector),
                elsewhere=suite.is_elsewhere(point),
                rows=2 if space is not None and suite.rows == "all" else 1,
                draws=draws.count if draws and point.name in draws.points and not spec.algorithm.reference else 1,
            )


def planned(spec: RunSpec, seeds: Iterable[int] = ()) -> tuple[PlanSummary | None, str]:
    """Returns the plan of a run, or the reason why the algorithm cannot run there, with this seed
    or with another one of `seeds`: one that needs everybody may have them with some seeds only. An
    algorithm that selects clients by the state of the model has no plan of its own, so that of
    FedAvg stands for it. Raises MissingDataError if the data are not on this machine."""
    try:
        setup = Setup(spec)
        for seed in [spec.seed, *(seeds if may_lack_somebody(setup) else ())]:
            check_everybody(setup if seed == spec.seed else Setup(replace(spec, seed=seed)))
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
    def measured(cls, spec: RunSpec, clock: Callable[[], float] = time.perf_counter) -> Rate:
        """Measures two runs that are cut short. One run before them loads the data."""
        taken = []
        Run(_cut(spec, SAMPLES[0])).record()
        for share in SAMPLES:
            begin = clock()
            record = Run(_cut(spec, share)).record()
            taken.append((record.ledger.trained_steps, clock() - begin))
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
    elsewhere: the same at points that begin from the options of an anchor.
    drawn: runs in which options are tried again, at most, in draws after the first.
    steps: trained steps of all of them.
    core_seconds: seconds on one core, None if they were not measured.
    tuning_seconds: those of them in which options are tried.
    peak_mb: the peak memory of this process in MB. It has planned all runs and, if they were timed,
    trained a little of every algorithm.
    """

    runs: int
    rungs: tuple[Tried, ...]
    elsewhere: tuple[Tried, ...]
    drawn: int
    steps: int
    core_seconds: float | None
    tuning_seconds: float | None
    peak_mb: float | None

    @classmethod
    def of(cls, cells: Sequence[Cell], leaders: int = 0) -> Total:
        """Returns the sum over cells. Of those with several draws the dearest `leaders` of a point
        count as such."""
        each = [cell for cell in cells if not cell.refused]
        again = _drawn_again(each, leaders)
        timed = all(cell.seconds is not None for cell in each)
        tuning = sum(cell.searched * (cell.seconds or 0.0) for cell in each)
        tuning += sum((cell.draws - 1) * cell.searched * (cell.seconds or 0.0) for cell in again)
        compared = sum(cell.compared * (cell.seconds or 0.0) for cell in each)
        steps = sum(cell.whole * cell.steps for cell in each) + sum((one.draws - 1) * one.searched * one.steps for one in again)
        return cls(
            sum(cell.compared for cell in each),
            _by_rung([cell for cell in each if not cell.elsewhere]),
            _by_rung([cell for cell in each if cell.elsewhere]),
            sum((cell.draws - 1) * cell.tried for cell in again),
            round(steps),
            tuning + compared if timed else None,
            tuning if timed else None,
            peak_memory_mb(),
        )

    @property
    def tried(self) -> int:
        """Returns the number of runs in which options are tried, at most."""
        return sum(one.runs for one in (*self.rungs, *self.elsewhere)) + self.drawn


def _by_rung(cells: Sequence[Cell]) -> tuple[Tried, ...]:
    rungs = zip(*(cell.rungs for cell in cells), strict=True)
    return tuple(Tried(sum(one.runs for one in rung), rung[0].share) for rung in rungs)


def _drawn_again(cells: Sequence[Cell], leaders: int) -> list[Cell]:
    several: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.draws > 1:
            several.setdefault(cell.point, []).append(cell)
    return [
        cell
        for one in several.values()
        for cell in sorted(one, key=lambda cell: -cell.searched * (cell.seconds or cell.steps))[:leaders]
    ]
