"""Watchers show the progress of runs: as bars on a terminal, as one changing text in a notebook, or
as lines in a log."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from fedbench.launch.watch import Evaluation, RunPlan, WatchedRun, Watcher
from fedbench.results.record import Record
from fedbench.results.sections import Hit

LINE_EVERY = 5.0  # host seconds between two lines of a run under way
JUDGED = ("test_accuracy", "test_loss")
NOTEBOOK_EVERY = 0.2  # host seconds between two texts of a notebook


class _Counting(Watcher):
    """Counts the runs that have ended, and has the line that tells of each, such as `17 of 69:
    fedavg seed 0: finished, ..`. The others show it in `_end`."""

    in_full = True
    """Whether the line of a run has its times to the targets, its costs, and how long it took."""

    def __init__(self) -> None:
        self.done: set[int] = set()  # one that another process computes ends twice
        self.plans: dict[int, RunPlan] = {}
        self.last = defaultdict[int, str](str)  # the last accuracy or, if a task has none, loss of a run

    def on_plan(self, run: WatchedRun, plan: RunPlan) -> None:
        self.plans[run.index] = plan

    def on_evaluation(self, run: WatchedRun, evaluation: Evaluation) -> None:
        name = next((name for name in JUDGED if name in evaluation.metrics), None)
        if name is not None:
            self.last[run.index] = f", {name.removeprefix('test_')} {getattr(evaluation, name):.3f}"

    def on_end(self, run: WatchedRun, record: Record) -> None:
        self._end(run, self._counted(run, f"{run.name}: {_ended(record, reused=run.reused, in_full=self.in_full)}"))

    def on_failure(self, run: WatchedRun, why: str) -> None:
        self._end(run, self._counted(run, f"{run.name}: {why}"))

    def _end(self, run: WatchedRun, line: str) -> None:
        raise NotImplementedError

    def _counted(self, run: WatchedRun, text: str) -> str:
        self.done.add(run.index)
        return f"{len(self.done)} of {run.runs}: {text}"

    def _under_way(self, run: WatchedRun, version: int, seconds: float) -> str:
        """Returns the line of a run that is under way."""
        budget = f"{seconds:.1f} of {self.plans[run.index].seconds:g} virtual s"
        return f"{run.name}: {budget}, version {version}{self.last[run.index]}"


class Bars(_Counting):
    """Shows a bar for all runs, and one for each run under way with its virtual time, accuracy and
    time left. It is used on a terminal."""

    in_full = False

    def __init__(self, bars: Progress, *, lines: bool = True) -> None:
        """Without `lines` nothing is printed of a run that has ended."""
        super().__init__()
        self.bars, self.lines = bars, lines
        self.tasks: dict[int, TaskID] = {}
        self.all: TaskID | None = None

    def on_begin(self, run: WatchedRun) -> None:
        if run.runs > 1 and self.all is None:
            self.all = self.bars.add_task(f"0 of {run.runs} runs", total=run.runs, note="")
        self.tasks[run.index] = self.bars.add_task(run.name, total=1.0, note="")

    def on_progress(self, run: WatchedRun, version: int, seconds: float) -> None:
        plan = self.plans[run.index]
        done = max(seconds / plan.seconds, version / plan.updates)
        self.bars.update(self.tasks[run.index], completed=done, note=f"{seconds:.1f} virtual s{self.last[run.index]}")

    def _end(self, run: WatchedRun, line: str) -> None:
        if run.index in self.tasks:
            self.bars.remove_task(self.tasks.pop(run.index))
        if self.lines:
            self.bars.console.print(Text(line))
        if self.all is not None:
            self.bars.update(self.all, completed=len(self.done), description=f"{len(self.done)} of {run.runs} runs")


class Lines(_Counting):
    """Prints lines, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console = console
        self._last: dict[int, float] = {}

    def on_begin(self, run: WatchedRun) -> None:
        self._last[run.index] = time.monotonic()

    def on_progress(self, run: WatchedRun, version: int, seconds: float) -> None:
        if time.monotonic() - self._last[run.index] >= LINE_EVERY:
            self._last[run.index] = time.monotonic()
            self._print(self._under_way(run, version, seconds))

    def _end(self, run: WatchedRun, line: str) -> None:
        self._print(line)

    def _print(self, text: str) -> None:
        self.console.print(Text(text), soft_wrap=True)


class Notebook(_Counting):
    """Shows a text under the cell of a notebook, which changes in place. It has the number of runs
    that have ended, the runs under way, and warnings."""

    def __init__(self) -> None:
        from IPython.display import display

        super().__init__()
        self._open: dict[int, str] = {}
        self._warned: list[str] = []
        self._shown = 0.0
        show: Any = display  # which IPython does not annotate
        self._place = show(_plain(""), raw=True, display_id=True)

    def on_begin(self, run: WatchedRun) -> None:
        self._open[run.index] = run.name

    def on_progress(self, run: WatchedRun, version: int, seconds: float) -> None:
        self._open[run.index] = self._under_way(run, version, seconds)
        if time.monotonic() - self._shown >= NOTEBOOK_EVERY:
            self._show(run)

    def on_end(self, run: WatchedRun, record: Record) -> None:
        self._warned += [f"{run.name}: warning: {one}" for one in record.warnings]
        super().on_end(run, record)

    def on_failure(self, run: WatchedRun, why: str) -> None:
        self._warned.append(f"{run.name}: {why}")
        super().on_failure(run, why)

    def _end(self, run: WatchedRun, line: str) -> None:
        self._open.pop(run.index, None)
        self._show(run)

    def _show(self, run: WatchedRun) -> None:
        self._shown = time.monotonic()
        text = "\n".join([f"{len(self.done)} of {run.runs} runs", *self._open.values(), *self._warned])
        self._place.update(_plain(text), raw=True)


@contextlib.contextmanager
def watching(show: bool | None = None, *, lines: bool = True) -> Iterator[Watcher]:
    """Gives the watcher that fits the place in which the program runs. It writes to stderr, or
    under the cell of a notebook.

    If `show` is None, there are bars on a terminal, a text in a notebook, and nothing elsewhere. If
    it is True, there are lines elsewhere. If it is False, nothing is shown. Without `lines`, runs
    have none of their own.
    """
    console = Console(stderr=True, highlight=False)
    if show is False:
        yield Watcher()
    elif in_notebook():
        yield Notebook()
    elif console.is_terminal:
        with _bars(console) as bars:
            yield Bars(bars, lines=lines)
    else:
        yield Lines(console) if show and lines else Watcher()


def in_notebook() -> bool:
    """Returns whether the kernel of a notebook runs this program. IPython on a terminal has no
    kernel."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def _bars(console: Console) -> Progress:
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn())
    note = TextColumn("{task.fields[note]}", markup=False)
    return Progress(*columns, note, TimeRemainingColumn(), console=console, transient=True)


def _plain(text: str) -> dict[str, str]:
    return {"text/plain": text}


def _ended(record: Record, *, reused: bool, in_full: bool = True) -> str:
    """Returns how a run ended."""
    final, ledger = record.final, record.ledger
    name = record.spec.scenario.judged_by
    value: float | None = getattr(final, name)
    line = f"{record.state}, {name.removeprefix('test_')} {'-' if value is None else f'{value:.4f}'}"
    if in_full:
        line += "".join(f", {hit.value:g} {_reached(hit)}" for hit in record.time_to_target)
        line += f", {ledger.updates} updates, {ledger.trained_steps} steps trained, {ledger.avoided_steps} avoided"
    if reused:
        line += " (in the store)"
    elif in_full and record.provenance.wall_seconds is not None:
        line += f" ({record.provenance.wall_seconds:.1f} s)"
    return line + "".join(f"; warning: {one}" for one in record.warnings)


def _reached(hit: Hit) -> str:
    return f"not reached in {hit.censored_at:g} s" if hit.seconds is None else f"reached at {hit.seconds:g} s"
