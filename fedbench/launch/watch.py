"""Watchers observe runs while they are computed. They get copies, and cannot change a result."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from fedbench import foreign
from fedbench.engine.evaluate import Metrics, Progress
from fedbench.engine.run import Run
from fedbench.engine.spec import RunSpec
from fedbench.errors import FedbenchError
from fedbench.kernels.scheduler import NANOSECONDS
from fedbench.launch.executors import Tell
from fedbench.results.record import Record, own_curves
from fedbench.results.sections import METRICS

if TYPE_CHECKING:
    from fedbench.launch.records import Records

PLACE = ("seconds", "version")  # where a point lies
REPORT_EVERY = 0.2  # host seconds between two reports of a run


@dataclass(frozen=True)
class WatchedRun:
    """A run that is observed.

    Attributes
    ----------
    index : int
        Its place among the runs of the call.
    runs : int
        The number of runs of the call.
    spec : RunSpec
        Scenario, algorithm and seed.
    reused : bool
        Whether its record was in the store. It is known when the run ends.
    of : str
        The suite's point or the paper's cell that it is of. Empty if there is one for all runs.
    """

    index: int
    runs: int
    spec: RunSpec
    reused: bool = False
    of: str = ""

    @property
    def name(self) -> str:
        """The algorithm with its options, and the seed, such as `fedavg seed 0`, behind what it is
        of, as in `calm: fedavg seed 0`."""
        return f"{self.of}: {self.spec.named}" if self.of else self.spec.named

    @property
    def run_id(self) -> str:
        """16 hexadecimal digits, a hash of everything that can change a result."""
        return self.spec.run_id

    @property
    def settings(self) -> dict[str, str | int]:
        """Returns the names of scenario and algorithm, the seed, the id, and every option of the
        algorithm as text."""
        spec = self.spec
        named: dict[str, str | int] = {
            "scenario": spec.scenario.name,
            "algorithm": spec.selector,
            "seed": spec.seed,
            "run_id": spec.run_id,
        }
        return named | {f"option.{key}": str(value) for key, value in spec.algorithm.options().items()}


@dataclass(frozen=True)
class RunPlan:
    """What is known of a run before its first update. `fedbench.plan` also plays its clock.

    Attributes
    ----------
    clients : int
        The number of clients.
    parameters : int
        The size of the model.
    seconds : float
        The budget in virtual seconds.
    updates : int
        The budget in server updates.
    points : int
        The number of evaluations if the run uses all its seconds.
    trainer, device, trainer_reason : str
        What trains the jobs, where, and why.
    """

    clients: int
    parameters: int
    seconds: float
    updates: int
    points: int
    trainer: str
    device: str
    trainer_reason: str

    @classmethod
    def of(cls, run: Run) -> RunPlan:
        scenario, choice = run.spec.scenario, run.choice
        budget = scenario.budget
        return cls(
            clients=scenario.clients,
            parameters=run.setup.outline.model.dim,
            seconds=budget.seconds,
            updates=budget.updates,
            points=scenario.evaluation.grid.points_until(round(budget.seconds * NANOSECONDS)),
            trainer=choice.name,
            device=choice.device,
            trainer_reason=choice.reason,
        )


@dataclass(frozen=True)
class Evaluation:
    """A point of a run's curve, with the numbers that the record has.

    Attributes
    ----------
    point : int
        Its place on the evaluation grid.
    seconds : float
        Virtual time.
    version : int
        The number of server updates.
    test_accuracy, test_loss, train_loss : float
        The metrics; NaN where a task does not have one.
    others : tuple of (str, float)
        Names and values of those that the scenario's `evaluation.metrics` has.
    """

    point: int
    seconds: float
    version: int
    test_accuracy: float
    test_loss: float
    train_loss: float
    others: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, point: int, row: Mapping[str, float]) -> Evaluation:
        """Returns the point of this row. Metrics are rounded to float32, as a record keeps them."""
        metrics = {name: float(np.float32(row.get(name, np.nan))) for name in METRICS}
        others = tuple((name, float(np.float32(value))) for name, value in row.items() if name not in (*PLACE, *METRICS))
        return cls(point=point, seconds=float(row["seconds"]), version=int(row["version"]), **metrics, others=others)

    @property
    def metrics(self) -> dict[str, float]:
        """All metrics by name, without those that are NaN."""
        found = {name: float(getattr(self, name)) for name in METRICS} | dict(self.others)
        return {name: value for name, value in found.items() if not np.isnan(value)}


def evaluations(record: Record, first: int = 0) -> list[Evaluation]:
    """Returns the points of a record's curves, from the point `first` on."""
    names, curves = (*PLACE, *METRICS, *own_curves(record.spec.scenario)), record.curves
    return [
        Evaluation.of(point, {name: float(curves[name][point]) for name in names})
        for point in range(first, len(curves["seconds"]))
    ]


@dataclass(frozen=True)
class Report:
    """How far a run is: the version, the virtual seconds, and the evaluations since the last
    report."""

    version: int
    seconds: float
    evaluations: tuple[Evaluation, ...]


def reports(tell: Tell) -> Progress:
    """Returns what a run tells of every update, which reports it a few times a second."""
    last, evaluated = 0.0, 0

    def progress(version: int, seconds: float, evaluated_from: Callable[[int], list[Metrics]]) -> None:
        nonlocal last, evaluated
        if time.monotonic() - last >= REPORT_EVERY:
            last = time.monotonic()
            points = tuple(Evaluation.of(place, row) for place, row in enumerate(evaluated_from(evaluated), evaluated))
            evaluated += len(points)
            tell(Report(version, seconds, points))

    return progress


def unchangeable(record: Record) -> Record:
    """Returns the record with curves into which nobody can write."""
    views = {name: column.view() for name, column in record.curves.items()}
    for view in views.values():
        view.flags.writeable = False
    return record.model_copy(update={"curves": MappingProxyType(views)})


class Watcher:
    """Observes runs while they are computed.

    Override what you need: a method that is not overridden does nothing. Methods are called in the
    process that called `run`, also if the runs are in others. Those of one run come in order:
    `on_begin`, `on_plan`, `on_evaluation` for every point of the grid from the first one, and
    `on_end` or `on_failure`. Between them those of other runs may come. A run that is taken from
    the store, or continues from a checkpoint, has all its points too.

    A watcher changes no result. One that raises is not called again: the runs go on to their end,
    and then one error says where it raised.

    Examples
    --------
    >>> import fedbench as fb
    >>> class Best(fb.Watcher):
    ...     best = 0.0
    ...
    ...     def on_evaluation(self, run, evaluation):
    ...         self.best = max(self.best, evaluation.test_accuracy)
    >>> mine = Best()
    >>> records = fb.run("digits-demo", "fedavg", overrides=["budget.seconds=2", "task.model=softmax"], watch=mine)
    >>> mine.best == float(records[0].curves["test_accuracy"].max())
    True
    """

    def on_begin(self, run: WatchedRun) -> None:
        """Is called when the work on a run begins.

        Parameters
        ----------
        run : WatchedRun
            The run.
        """

    def on_plan(self, run: WatchedRun, plan: RunPlan) -> None:
        """Is called before the first update of a run that is computed on this machine.

        Parameters
        ----------
        run : WatchedRun
            The run.
        plan : RunPlan
            Its budget, the size of its model, and what trains it.
        """

    def on_progress(self, run: WatchedRun, version: int, seconds: float) -> None:
        """Is called a few times a second for a run that is computed on this machine.

        Parameters
        ----------
        run : WatchedRun
            The run.
        version : int
            The number of server updates so far.
        seconds : float
            Virtual time.
        """

    def on_evaluation(self, run: WatchedRun, evaluation: Evaluation) -> None:
        """Is called for every point of the evaluation grid. Several models are evaluated together,
        so points may come a few at a time.

        Parameters
        ----------
        run : WatchedRun
            The run.
        evaluation : Evaluation
            Virtual time, version and metrics, to the bit those of the record.
        """

    def on_end(self, run: WatchedRun, record: Record) -> None:
        """Is called for a run that has a record, after the record was stored.

        Parameters
        ----------
        run : WatchedRun
            The run, which is `reused` if the store had the record.
        record : Record
            The record.
        """

    def on_failure(self, run: WatchedRun, why: str) -> None:
        """Is called for a run without a record. It may not have begun.

        Parameters
        ----------
        run : WatchedRun
            The run.
        why : str
            Its error in a line, or that another process computes it.
        """

    def on_close(self) -> None:
        """Is called once, after the last run, also if the runs were interrupted. A watcher that
        raises is closed at once."""


class WatchersFailed(FedbenchError):
    """A watcher raised. `records` has the records of the runs, which went on without it; None on
    the command line, where they are in the store."""

    def __init__(self, told: Sequence[str], records: Records | None) -> None:
        self.records = records
        super().__init__(*told)


class Guarded(Watcher):
    """Passes everything on to several watchers. One that raises is closed, and not called again."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self.watchers = tuple(watchers)
        self.failed: list[str] = []
        self.records: Records | None = None

    def _tell(self, method: str, *given: object) -> None:
        for one in self.watchers:
            try:
                getattr(one, method)(*given)
            except (Exception, SystemExit) as error:
                self.watchers = tuple(other for other in self.watchers if other is not one)
                where = f" of {given[0].name}" if given and isinstance(given[0], WatchedRun) else ""
                line = f"watcher {type(one).__name__} raised in {method}{where}, and the runs went on without it: {_why(error)}"
                self.failed.append(line + ("" if method == "on_close" else _closed(one)))

    def on_begin(self, run: WatchedRun) -> None:
        self._tell("on_begin", run)

    def on_plan(self, run: WatchedRun, plan: RunPlan) -> None:
        self._tell("on_plan", run, plan)

    def on_progress(self, run: WatchedRun, version: int, seconds: float) -> None:
        self._tell("on_progress", run, version, seconds)

    def on_evaluation(self, run: WatchedRun, evaluation: Evaluation) -> None:
        self._tell("on_evaluation", run, evaluation)

    def on_end(self, run: WatchedRun, record: Record) -> None:
        self._tell("on_end", run, record)

    def on_failure(self, run: WatchedRun, why: str) -> None:
        self._tell("on_failure", run, why)

    def on_close(self) -> None:
        self._tell("on_close")


def _closed(watcher: Watcher) -> str:
    """Closes a watcher that has raised. Returns what it raised then, as the end of a line."""
    try:
        watcher.on_close()
    except (Exception, SystemExit) as error:
        return f"; then in on_close: {_why(error)}"
    return ""


def _why(error: BaseException) -> str:
    return " ".join(foreign.told(error)[0].split()) or type(error).__name__


@contextlib.contextmanager
def guarded(watchers: Sequence[Watcher]) -> Iterator[Guarded]:
    """Gives a watcher that passes everything on, and closes the watchers at the end. Raises
    WatchersFailed then if one of them raised; another error becomes the first, with a note."""
    group = Guarded(watchers)
    try:
        yield group
    except BaseException as error:
        group.on_close()
        for line in group.failed:
            error.add_note(line)
        raise
    group.on_close()
    if group.failed:
        raise WatchersFailed(group.failed, group.records)
