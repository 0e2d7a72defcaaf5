"""Watchers hear all of every run, in order, wherever it is computed, and change nothing of it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedbench as fb
from fedbench.engine.run import Run, RunOptions
from fedbench.errors import UsageError
from fedbench.launch.executors import Hear, Here, Told, Work
from fedbench.launch.failures import RunsFailed
from fedbench.launch.runner import run_specs, specs
from fedbench.launch.watch import Evaluation, RunPlan, WatchedRun, WatchersFailed
from fedbench.results.record import Record
from fedbench.results.store import Store

SMALL = ["clients=6", "budget.seconds=4", "local.steps=1", "task.model=softmax"]
TWO = ["fedavg[cohort_size=2]", "fedbuff[buffer_size=2]"]
METHODS = ("on_begin", "on_plan", "on_progress", "on_evaluation", "on_end", "on_close")


class Heard(fb.Watcher):
    """Keeps what it hears, by run."""

    def __init__(self) -> None:
        self.of: dict[str, list[Any]] = {}
        self.runs: list[WatchedRun] = []
        self.closed = 0

    def _keep(self, run: WatchedRun, what: object) -> None:
        assert not self.closed
        self.of.setdefault(run.name, []).append(what)

    def on_begin(self, run: WatchedRun) -> None:
        self._keep(run, "begin")

    def on_plan(self, run: WatchedRun, plan: RunPlan) -> None:
        self._keep(run, plan)

    def on_evaluation(self, run: WatchedRun, evaluation: Evaluation) -> None:
        self._keep(run, evaluation)

    def on_end(self, run: WatchedRun, record: Record) -> None:
        self.runs.append(run)
        self._keep(run, record)

    def on_failure(self, run: WatchedRun, why: str) -> None:
        self._keep(run, why)

    def on_close(self) -> None:
        self.closed += 1

    def points(self, name: str) -> list[Evaluation]:
        return [one for one in self.of[name] if isinstance(one, Evaluation)]


def check_curve(heard: Heard, record: Record) -> None:
    """The points are those of the record, bit for bit, each once and in order."""
    points = heard.points(f"{record.selector} seed {record.seed}")
    assert [one.point for one in points] == list(range(len(record.curves["seconds"])))
    for name in ("seconds", "version", "test_accuracy", "test_loss", "train_loss"):
        column = record.curves[name]
        np.testing.assert_array_equal(np.array([getattr(one, name) for one in points]).astype(column.dtype), column)


@pytest.fixture
def every_update(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedbench.launch.watch.REPORT_EVERY", 0.0)


@pytest.mark.parametrize("processes", [1, 2])
def test_all_of_a_run_in_order(processes: int, every_update: None) -> None:
    heard = Heard()
    records = fb.run("digits-demo", TWO, seeds=2, overrides=SMALL, processes=processes, watch=heard)
    assert heard.closed == 1
    assert {(run.index, run.runs, run.reused) for run in heard.runs} == {(i, 4, False) for i in range(4)}
    for record in records:
        begin, plan, *points, end = heard.of[f"{record.selector} seed {record.seed}"]
        assert (begin, end.digests) == ("begin", record.digests)
        assert all(isinstance(one, Evaluation) for one in points)
        assert plan == RunPlan(6, 650, 4.0, 1_000_000, 5, "native", "cpu", plan.trainer_reason)
        check_curve(heard, record)


def test_points_come_while_a_run_is_computed(every_update: None) -> None:
    seen: list[tuple[float, int]] = []

    class Live(fb.Watcher):
        points = 0

        def on_evaluation(self, run: WatchedRun, evaluation: Evaluation) -> None:
            self.points += 1

        def on_progress(self, run: WatchedRun, version: int, seconds: float) -> None:
            seen.append((seconds, self.points))

    (record,) = fb.run("digits-demo", "fedbuff[buffer_size=2]", overrides=[*SMALL, "budget.seconds=40"], watch=Live())
    assert 20 <= seen[-1][1] < len(record.curves["seconds"]), "models wait until several are evaluated together"
    assert len({points for _, points in seen}) > 2
    assert all(points <= seconds + 1 for seconds, points in seen)


def test_points_equal_whenever_they_come(every_update: None) -> None:
    """Those that come while the run is computed, and those that come at its end."""
    live, late = Heard(), Heard()
    fb.run("digits-demo", TWO[1], overrides=[*SMALL, "budget.seconds=40"], watch=live)
    run_specs(specs("digits-demo", TWO[1], 1, [*SMALL, "budget.seconds=40"]), watch=[late], executor=Far())
    assert live.points(f"{TWO[1]} seed 0") == late.points(f"{TWO[1]} seed 0")


def test_a_run_of_the_store_has_all_its_points(tmp_path: Path) -> None:
    fb.run("digits-demo", TWO, overrides=SMALL, store=tmp_path)
    heard = Heard()
    records = fb.run("digits-demo", TWO, overrides=SMALL, store=tmp_path, options=RunOptions(resume=True), watch=[heard])
    assert all(run.reused for run in heard.runs)
    for record in records:
        assert not any(isinstance(one, RunPlan) for one in heard.of[f"{record.selector} seed 0"])
        check_curve(heard, record)


def test_a_run_that_continues_has_all_its_points(tmp_path: Path, every_update: None) -> None:
    (spec,) = specs("digits-demo", TWO[1], 1, SMALL)

    def interrupt(version: int, seconds: float, evaluated: object) -> None:
        if seconds > 2.5:
            raise KeyboardInterrupt

    store = Store(tmp_path)
    store.prepare()
    with pytest.raises(KeyboardInterrupt):
        Run(spec, store, RunOptions(checkpoint_seconds=0), interrupt).record()
    heard = Heard()
    (record,) = fb.run("digits-demo", TWO[1], overrides=SMALL, store=tmp_path, options=RunOptions(resume=True), watch=heard)
    check_curve(heard, record)


class Far(Here):
    """An executor whose tasks report nothing on the way, as on a cluster."""

    def run(self, work: Work[Any, Any], tasks: Sequence[Any], hear: Hear[Any]) -> None:
        super().run(work, tasks, lambda event: None if isinstance(event, Told) else hear(event))


def test_a_cluster_brings_all_points() -> None:
    heard = Heard()
    for record in run_specs(specs("digits-demo", TWO, 1, SMALL), watch=[heard], executor=Far()):
        check_curve(heard, record)


class Vandal(fb.Watcher):
    """Writes into all that it gets, and disturbs what others draw."""

    refused = 0

    def on_plan(self, run: WatchedRun, plan: RunPlan) -> None:
        self._disturb(plan, "seconds")
        self._disturb(run, "spec")

    def on_evaluation(self, run: WatchedRun, evaluation: Evaluation) -> None:
        self._disturb(evaluation, "test_accuracy")

    def on_end(self, run: WatchedRun, record: Record) -> None:
        self._disturb(record, "run_id")
        for column in record.curves.values():
            try:
                column[:] = 0
            except ValueError:
                self.refused += 1

    def _disturb(self, thing: object, name: str) -> None:
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        try:
            setattr(thing, name, 0)
        except (AttributeError, ValueError):  # frozen
            self.refused += 1


def test_no_bit_of_a_run_changes(every_update: None) -> None:
    plain = fb.run("digits-demo", TWO, overrides=SMALL)
    vandal = Vandal()
    watched = fb.run("digits-demo", TWO, overrides=SMALL, watch=vandal)
    assert vandal.refused == 2 * (2 + 5 + 1 + 8)
    for one, other in zip(plain, watched, strict=True):
        assert one.digests == other.digests
        for name, column in one.curves.items():
            np.testing.assert_array_equal(column, other.curves[name])


def raising(method: str, error: BaseException) -> fb.Watcher:
    class Odd(Heard):
        calls = 0

    def raises(self: Any, *given: object) -> None:
        self.calls += 1
        raise error

    setattr(Odd, method, raises)
    return Odd()


@pytest.mark.parametrize("method", METHODS)
def test_one_that_raises_ends_in_a_line_and_nothing_is_lost(method: str, every_update: None, tmp_path: Path) -> None:
    odd, heard = raising(method, ValueError("no\nspace")), Heard()
    with pytest.raises(WatchersFailed) as caught:
        fb.run("digits-demo", TWO, overrides=SMALL, store=tmp_path, watch=[odd, heard])
    where = "" if method == "on_close" else " of fedavg[cohort_size=2] seed 0"
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"watcher Odd raised in {method}{where}, and the runs went on without it: ValueError: no")
    assert odd.calls == 1  # type: ignore[attr-defined]
    assert odd.closed == (method != "on_close")  # type: ignore[attr-defined]
    assert caught.value.records is not None
    assert [record.selector for record in caught.value.records] == TWO
    assert len(list(Store(tmp_path))) == 2
    for record in caught.value.records:
        check_curve(heard, record)


def test_one_that_raises_once_more_when_it_is_closed() -> None:
    odd = raising("on_plan", ValueError("no space"))
    odd.on_close = lambda: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    with pytest.raises(WatchersFailed) as caught:
        fb.run("digits-demo", TWO[0], overrides=SMALL, watch=odd)
    first, second = str(caught.value).splitlines()
    assert first.endswith("ValueError: no space")
    assert second.startswith("watcher Odd raised in on_close, and the runs went on without it: ZeroDivisionError")


def test_one_that_ends_the_program_raises() -> None:
    with pytest.raises(WatchersFailed, match=r"raised in on_plan of .*: SystemExit: 3"):
        fb.run("digits-demo", TWO[0], overrides=SMALL, watch=raising("on_plan", SystemExit(3)))


@pytest.mark.parametrize("seeds", [1, 2])
def test_of_a_run_that_fails_it_hears_why(seeds: int) -> None:
    heard = Heard()
    with pytest.raises((RunsFailed, UsageError)) as caught:
        fb.run(
            "digits-demo",
            "fedavg[cohort_size=9]",
            seeds=seeds,
            overrides=SMALL,
            watch=[heard, raising("on_failure", ValueError())],
        )
    begin, why = heard.of["fedavg[cohort_size=9] seed 0"]
    assert begin == "begin"
    assert why.startswith("failed: ")
    assert heard.closed == 1
    assert "raised in on_failure of fedavg[cohort_size=9] seed 0" in caught.value.__notes__[0]


def test_an_interrupt_closes_the_watchers() -> None:
    heard = Heard()
    with pytest.raises(KeyboardInterrupt):
        fb.run("digits-demo", TWO, overrides=SMALL, watch=[heard, raising("on_plan", KeyboardInterrupt())])
    assert heard.closed == 1
