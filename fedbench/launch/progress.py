"""Watchers show the progress of runs: as bars on a terminal, as one changing text in a notebook, or
as lines in a log."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from fedbench.engine.spec import RunSpec
from fedbench.results.record import Record
from fedbench.results.sections import Hit

LINE_EVERY = 5.0  # host seconds between two lines of a run under way
NOTEBOOK_EVERY = 0.2  # host seconds between two texts of a notebook


class Watcher(Protocol):
    """Is told how runs go. `run` is an index into the specifications."""

    def expected(self, runs: int) -> None:
        """Is called once, before the first run starts, with the number of runs."""

    def started(self, run: int, spec: RunSpec) -> None:
        """Is called when the work on a run begins."""

    def progress(self, run: int, version: int, seconds: float, accuracy: float | None) -> None:
        """Is called now and then with the version, the virtual seconds and the test accuracy."""

    def ended(self, run: int, record: Record, *, reused: bool) -> None:
        """Is called for a run that has a record, which is `reused` if the store had it."""

    def left_out(self, run: int, spec: RunSpec, why: str) -> None:
        """Is called for a run without a record: it failed, or another process computes it. It may
        not have started."""


class Silence:
    """A watcher that shows nothing."""

    def expected(self, runs: int) -> None: ...

    def started(self, run: int, spec: RunSpec) -> None: ...

    def progress(self, run: int, version: int, seconds: float, accuracy: float | None) -> None: ...

    def ended(self, run: int, record: Record, *, reused: bool) -> None: ...

    def left_out(self, run: int, spec: RunSpec, why: str) -> None: ...


class _Counting:
    """Counts the runs that have ended, and has the line that tells of each, such as `17 of 69:
    fedavg seed 0: finished, ..`. The others show it in `_end`."""

    in_full = True
    """Whether the line of a run has its times to the targets, its costs, and how long it took."""

    def __init__(self) -> None:
        self.runs = self.done = 0
        self.specs: dict[int, RunSpec] = {}

    def expected(self, runs: int) -> None:
        self.runs = runs

    def ended(self, run: int, record: Record, *, reused: bool) -> None:
        self._end(run, self._counted(_line(record, reused=reused, in_full=self.in_full)))

    def left_out(self, run: int, spec: RunSpec, why: str) -> None:
        self._end(run, self._counted(f"{spec.named}: {why}"))

    def _end(self, run: int, line: str) -> None:
        raise NotImplementedError

    def _counted(self, text: str) -> str:
        self.done += 1
        return f"{self.done} of {self.runs}: {text}"

    def under_way(self, run: int, version: int, seconds: float, accuracy: float | None) -> str:
        """Returns the line of a run that is under way."""
        spec = self.specs[run]
        budget = f"{seconds:.1f} of {spec.scenario.budget.seconds:g} virtual s"
        return f"{spec.named}: {budget}, version {version}{_percent(accuracy)}"


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

    def expected(self, runs: int) -> None:
        super().expected(runs)
        if runs > 1:
            self.all = self.bars.add_task(f"0 of {runs} runs", total=runs, note="")

    def started(self, run: int, spec: RunSpec) -> None:
        self.specs[run] = spec
        self.tasks[run] = self.bars.add_task(spec.named, total=1.0, note="")

    def progress(self, run: int, version: int, seconds: float, accuracy: float | None) -> None:
        budget = self.specs[run].scenario.budget
        done = max(seconds / budget.seconds, version / budget.updates)
        self.bars.update(self.tasks[run], completed=done, note=f"{seconds:.1f} virtual s{_percent(accuracy)}")

    def _end(self, run: int, line: str) -> None:
        if run in self.tasks:
            self.bars.remove_task(self.tasks.pop(run))
        if self.lines:
            self.bars.console.print(Text(line))
        if self.all is not None:
            self.bars.update(self.all, completed=self.done, description=f"{self.done} of {self.runs} runs")


class Lines(_Counting):
    """Prints lines, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console = console
        self._last: dict[int, float] = {}

    def started(self, run: int, spec: RunSpec) -> None:
        self.specs[run], self._last[run] = spec, time.monotonic()

    def progress(self, run: int, version: int, seconds: float, accuracy: float | None) -> None:
        if time.monotonic() - self._last[run] >= LINE_EVERY:
            self._last[run] = time.monotonic()
            self._print(self.under_way(run, version, seconds, accuracy))

    def _end(self, run: int, line: str) -> None:
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

    def started(self, run: int, spec: RunSpec) -> None:
        self.specs[run], self._open[run] = spec, spec.named

    def progress(self, run: int, version: int, seconds: float, accuracy: float | None) -> None:
        self._open[run] = self.under_way(run, version, seconds, accuracy)
        if time.monotonic() - self._shown >= NOTEBOOK_EVERY:
            self._show()

    def ended(self, run: int, record: Record, *, reused: bool) -> None:
        self._warned += [f"{record.selector} seed {record.seed}: warning: {one}" for one in record.warnings]
        super().ended(run, record, reused=reused)

    def left_out(self, run: int, spec: RunSpec, why: str) -> None:
        self._warned.append(f"{spec.named}: {why}")
        super().left_out(run, spec, why)

    def _end(self, run: int, line: str) -> None:
        self._open.pop(run, None)
        self._show()

    def _show(self) -> None:
        self._shown = time.monotonic()
        self._place.update(_plain("\n".join([f"{self.done} of {self.runs} runs", *self._open.values(), *self._warned])), raw=True)


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
        yield Silence()
    elif in_notebook():
        yield Notebook()
    elif console.is_terminal:
        with _bars(console) as bars:
            yield Bars(bars, lines=lines)
    else:
        yield Lines(console) if show and lines else Silence()


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


def _percent(accuracy: float | None) -> str:
    return "" if accuracy is None else f", accuracy {accuracy:.3f}"


def _line(record: Record, *, reused: bool, in_full: bool = True) -> str:
    final, ledger = record.final, record.ledger
    accuracy = "-" if final.test_accuracy is None else f"{final.test_accuracy:.4f}"
    line = f"{record.selector} seed {record.seed}: {record.state}, accuracy {accuracy}"
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
