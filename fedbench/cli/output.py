"""What all verbs share: where text goes, how errors look, and the progress of runs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from fedbench.engine.spec import RunSpec
from fedbench.errors import FedbenchError
from fedbench.results.record import Record

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

PLAIN_EVERY = 5.0  # host seconds between two plain lines of a run


def show_error(error: FedbenchError) -> None:
    """One screen: what is wrong, and what to do about it."""
    if err.is_terminal:
        err.print(Panel(str(error), title="error", title_align="left", border_style="red", expand=False))
    else:
        err.print(f"error: {error}", markup=False, soft_wrap=True)


def print_json(row: Mapping[str, Any]) -> None:
    """One object on one line."""
    out.print(json.dumps(row, allow_nan=False), markup=False, soft_wrap=True)


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Texts are shown as they stand: brackets are no markup."""
    table = Table(title=Text(title, style="table.title"), title_justify="left", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(Text(column), overflow="fold", no_wrap=index == 0)
    for row in rows:
        table.add_row(*map(Text, row))
    out.print(table)


class RichWatcher:
    """A bar per run under way: virtual time, accuracy, time left. Used on a terminal."""

    def __init__(self, progress: Progress) -> None:
        self.bars = progress
        self.tasks: dict[int, TaskID] = {}

    def started(self, run: int, spec: RunSpec) -> None:
        budget = spec.scenario.budget
        self.tasks[run] = self.bars.add_task(f"{spec.selector} seed {spec.seed}", total=1.0, note="", budget=budget)

    def progress(self, run: int, version: int, seconds: float, accuracy: float | None) -> None:
        budget = self.bars.tasks[self.bars.task_ids.index(self.tasks[run])].fields["budget"]
        done = max(seconds / budget.seconds, version / budget.updates)
        self.bars.update(self.tasks[run], completed=done, note=f"{seconds:.1f} virtual s  {_percent(accuracy)}")

    def ended(self, run: int, record: Record, *, reused: bool) -> None:
        self.bars.remove_task(self.tasks[run]) if run in self.tasks else None
        self.bars.console.print(_line(record, reused=reused))


class PlainWatcher:
    """Lines for logs and pipes."""

    def __init__(self) -> None:
        self._last: dict[int, float] = {}
        self._specs: dict[int, RunSpec] = {}

    def started(self, run: int, spec: RunSpec) -> None:
        self._specs[run], self._last[run] = spec, time.monotonic()

    def progress(self, run: int, version: int, seconds: float, accuracy: float | None) -> None:
        if time.monotonic() - self._last[run] >= PLAIN_EVERY:
            self._last[run] = time.monotonic()
            spec = self._specs[run]
            err.print(
                f"{spec.selector} seed {spec.seed}: {seconds:.1f} of {spec.scenario.budget.seconds:g} virtual s, "
                f"version {version}, {_percent(accuracy)}",
                markup=False,
                soft_wrap=True,
            )

    def ended(self, run: int, record: Record, *, reused: bool) -> None:
        err.print(_line(record, reused=reused), markup=False, soft_wrap=True)


def bars() -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
        console=err,
        transient=True,
    )


def _percent(accuracy: float | None) -> str:
    return "" if accuracy is None else f"accuracy {accuracy:.3f}"


def _line(record: Record, *, reused: bool) -> str:
    final, ledger = record.meta["final"], record.meta["ledger"]
    hits = "".join(f", {hit['value']:g} {_reached(hit)}" for hit in record.meta["time_to_target"])
    accuracy = "-" if final["test_accuracy"] is None else f"{final['test_accuracy']:.4f}"
    how = "in the store" if reused else f"{record.meta['provenance']['wall_seconds']:.1f} s"
    return (
        f"{record.selector} seed {record.seed}: {record.state}, accuracy {accuracy}{hits}, {ledger['updates']} updates, "
        f"{ledger['trained_steps']} steps trained, {ledger['avoided_steps']} avoided ({how})"
    )


def _reached(hit: Mapping[str, Any]) -> str:
    return f"not reached in {hit['censored_at']:g} s" if hit["seconds"] is None else f"reached at {hit['seconds']:g} s"
