"""Computes one run in the process of a worker, with or without the store of its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from filelock import Timeout

from fedbench import foreign
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.launch.executors import Tell
from fedbench.launch.watch import RunPlan, reports
from fedbench.results import kept_model, kept_parts
from fedbench.results.record import Record
from fedbench.results.store import Store


@dataclass(frozen=True)
class Task:
    """One run, and the store of its record. With `wait` it waits for another process that computes
    the run, and takes its record."""

    index: int
    spec: RunSpec
    store: str | Path | None
    options: RunOptions
    wait: bool = False


@dataclass(frozen=True)
class Finished:
    """The record of a run, which is `reused` if it was in the store, and the files `beside` it. It
    is None if another process computes the run."""

    record: Record | None
    reused: bool = False
    beside: Mapping[str, bytes] = field(default_factory=dict)


def compute(task: Task, tell: Tell) -> Finished:
    """Computes one run. If it has a store, it holds the lock of the run, so that no two processes
    write one record. When resuming, a record in the store is taken instead."""
    spec = task.spec
    if task.store is None:
        return _finished(task, None, tell)
    store = Store(task.store)
    place = (spec.scenario.name, spec.algorithm.name, spec.run_id)
    try:
        with store.lock_of(spec.run_id).acquire(timeout=-1 if task.wait else 0):
            store.mend(store.folder(*place))
            stored = store.find(*place) if task.options.resume or task.wait else None
            if stored is not None and has_what_is_kept(store.folder(*place), stored, task.options):
                return Finished(stored, reused=True)
            return _finished(task, store, tell)
    except Timeout:
        return Finished(None)


def has_what_is_kept(folder: Path, record: Record, options: RunOptions) -> bool:
    """Returns whether the files that a run is to keep lie beside its record, which may have been
    made without them."""
    if options.keep_model and not (folder / kept_model.FILE).exists():
        return False
    return not options.keeps_clients or kept_parts.has(folder, options.keep_clients_at, record.final.seconds)


def _finished(task: Task, store: Store | None, tell: Tell) -> Finished:
    """Computes a run. Without a store, what belongs beside its record comes back with it. Raises
    PluginError if the algorithm tries to end the program."""
    try:
        run = Run(task.spec, store, task.options, reports(tell))
        run.planned = lambda run: tell(RunPlan.of(run))
        return Finished(run.record(), beside=run.beside if store is None else {})
    except SystemExit as error:
        raise foreign.ended(error) from None
