"""Fits the models of a suite's costs, each in a process whose linear algebra has one thread: with
more, last digits differ from machine to machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fedbench.analysis.map.draws import DRAWS, REPLICATES, Draws, drawn
from fedbench.analysis.map.factors import Columns, Factor
from fedbench.analysis.map.fit import fit
from fedbench.launch.executors import Done, Event, Failed, Pool, Tell
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import factors
from fedbench.suites.mapped.columns import Entered, entered

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""What libraries of linear algebra read when they are loaded."""


@dataclass(frozen=True)
class Task:
    """One model to be fitted and drawn, as `analysis.map.fit` has it."""

    columns: Columns
    points: Columns
    factors: Sequence[Factor]
    interactions: Sequence[tuple[str, str]]
    possible: Columns
    replicates: int = REPLICATES
    draws: int = DRAWS

    def done(self) -> Draws:
        found = fit(self.columns, self.points, self.factors, self.interactions, self.possible)
        return drawn(found, replicates=self.replicates, draws=self.draws)


@dataclass(frozen=True)
class Fitted:
    """The models of a suite, by axis: with all interactions of its design, and with main effects
    and squares alone."""

    entered: Entered
    whole: Mapping[str, Draws]
    main: Mapping[str, Draws]


def tasks(results: Results, found: Entered, *, interact: bool, replicates: int = REPLICATES, draws: int = DRAWS) -> list[Task]:
    """Returns the models of all axes, with or without interactions."""
    design, points = results.suite.designed(), factors.points(results.suite, "design")
    possible = factors.table(design, factors.possible(design))
    pairs = design.pairs() if interact else []
    return [
        Task(found.at(axis, points), points, factors.factors(design), pairs, possible, replicates, draws)
        for axis in found.by_axis
    ]


def both(results: Results, *, processes: int = 1, replicates: int = REPLICATES, draws: int = DRAWS) -> Fitted:
    """Returns what the runs of a suite say of costs, by axis (`analysis.board.BOARD_AXES`), by
    models with interactions and by models without.

    Args:
        results: those of a suite with a design.
        processes: how many models are fitted at a time.
        replicates, draws: see `analysis.map.draws.drawn`.

    Raises:
        UsageError: for what `columns.entered` and `analysis.map.fit.fit` refuse.
    """
    found = entered(results)
    each = [tasks(results, found, interact=with_them, replicates=replicates, draws=draws) for with_them in (True, False)]
    several, axes = computed([*each[0], *each[1]], processes), list(found.by_axis)
    whole, main = several[: len(axes)], several[len(axes) :]
    return Fitted(found, dict(zip(axes, whole, strict=True)), dict(zip(axes, main, strict=True)))


def computed(several: Sequence[Task], processes: int) -> list[Draws]:
    """Returns the draws of all tasks, in order. Raises what the first that fails raised."""
    ended: dict[int, Draws | Exception] = {}

    def hear(event: Event[Draws]) -> None:
        if isinstance(event, Done):
            ended[event.task] = event.result
        elif isinstance(event, Failed):
            ended[event.task] = event.error

    with _one_thread():
        Pool(processes).run(_work, several, hear)
    found = []
    for number in range(len(several)):
        one = ended[number]
        if isinstance(one, Exception):
            raise one
        found.append(one)
    return found


def _work(task: Task, _: Tell) -> Draws:
    return task.done()


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Processes that start meanwhile have linear algebra of one thread."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
