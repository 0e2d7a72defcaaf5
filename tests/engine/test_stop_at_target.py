"""A run that stops at its target is the run of a budget that ends there: plan, ledger, curves and
model; however it is computed. With `hold_points` it ends where the highest target was met at so
many grid points in a row."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.analysis.reaching import reach
from fedbench.engine import plan as planning
from fedbench.engine.evaluate import METRICS
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.verify import verify
from fedbench.errors import UsageError
from fedbench.results.record import Record
from fedbench.results.store import Store, read
from fedbench.scenarios.load import load
from tests.conftest import alter

from .largest_updates import LargestUpdates

SMALL = ["clients=6", "local.steps=3", "task.model=softmax", "partition={kind: iid}", "budget.seconds=30"]
STOP = "budget.stop_at_target=true"
TARGET = "targets=[{value: 0.7}, {value: 0.6}]"
RAGGED = [STOP, "partition={kind: two_class}", "evaluation.every_seconds=0.5"]
"""A target is met and missed again before it is held."""
ALGORITHMS: list[Any] = [
    "fedavg[cohort_size=2]", "fedbuff[buffer_size=2]", "scaffold[cohort_size=2]", "quafl[cohort_size=2]",
    "defedavg_iid[cohort_size=3,server_lr=1]", "defedavg_niid[cohort_size=3,server_lr=1]", "fedecho[buffer_size=2,distill_steps=2]",
    LargestUpdates(cohort_size=2),
]  # fmt: skip


def spec(algorithm: Any, *overrides: str, scenario: str = "digits-demo") -> RunSpec:
    return RunSpec(load(scenario, [*SMALL, TARGET, *overrides]), registry.algorithm(algorithm), 0)


def run(algorithm: Any, *overrides: str, scenario: str = "digits-demo", **options: Any) -> Record:
    return Run(spec(algorithm, *overrides, scenario=scenario), options=RunOptions(**options)).record()


def _of_parts(record: Record) -> dict[str, str]:
    """All digests but that over everything, the reason of the end included."""
    return {name: digest for name, digest in record.digests.as_dict().items() if name != "result"}


def assert_same(a: Record, b: Record) -> None:
    assert _of_parts(a) == _of_parts(b)
    assert a.ledger == b.ledger
    assert a.final == b.final
    assert a.outcome == b.outcome
    assert all(np.array_equal(a.curves[name], b.curves[name]) for name in a.curves)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("scenario", ["digits-demo", "digits-flaky"])
def test_it_is_the_run_of_a_budget_that_ends_there(algorithm: Any, scenario: str) -> None:
    record = run(algorithm, STOP, scenario=scenario)
    assert record.outcome.as_dict() == {"state": "finished", "ended_by": "target", "message": ""}
    end = record.final.seconds
    accuracy = record.curves["test_accuracy"]
    assert 0 < end < 30
    assert record.curves["seconds"][-1] == end == record.ledger.end_seconds
    assert accuracy[-1] >= np.float32(0.7)
    assert (accuracy[:-1] < np.float32(0.7)).all()
    assert record.time_to_target[0].seconds == end
    short = run(algorithm, f"budget.seconds={end:g}", scenario=scenario)
    alter(short, "outcome.ended_by", "target")
    assert_same(record, short)
    if isinstance(algorithm, str):
        assert verify(record).verdict == "identical"
    whole = run(algorithm, scenario=scenario)
    assert len(whole.curves["seconds"]) == 31
    for name, column in record.curves.items():
        if name in ("seconds", "version", *METRICS) or "quafl" not in str(
            algorithm
        ):  # a poll's open jobs count what they have done
            assert np.array_equal(column, whole.curves[name][: len(column)]), name


@pytest.mark.parametrize("algorithm", ["fedbuff[buffer_size=2]", "scaffold[cohort_size=2]", LargestUpdates(cohort_size=2)])
def test_chunks_waves_and_workers_change_nothing(algorithm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = run(algorithm, STOP)
    assert_same(run(algorithm, STOP, workers=2, wave_size=1), wanted)
    monkeypatch.setattr(planning, "CHUNK_JOBS", 3)
    assert_same(run(algorithm, STOP, wave_bytes=1), wanted)


def test_all_targets_have_to_be_reached() -> None:
    """Each by then, not all at the end; and one that nobody reaches lets the budget end the run."""
    ends = [run("fedavg[cohort_size=2]", STOP, f"targets=[{t}]").final.seconds for t in ("{value: 0.6}", "{value: 0.7}")]
    assert ends[0] < ends[1] == run("fedavg[cohort_size=2]", STOP).final.seconds
    never = run("fedavg[cohort_size=2]", STOP, "targets=[{value: 0.6}, {value: 1}]", "budget.seconds=10")
    assert (never.outcome.ended_by, never.final.seconds) == ("time", 10)


def test_the_last_version_may_reach_it_after_the_last_update() -> None:
    """One update; its model counts at the next grid point, long before the budget's end. And the
    initial model may be enough."""
    record = run(
        "fedavg[cohort_size=6,local_lr=1]", STOP, "targets=[{value: 0.3}]", "local.steps=40", "evaluation.every_seconds=0.25"
    )
    once = run("fedavg[cohort_size=6,local_lr=1]", STOP, "targets=[{value: 0.3}]", "local.steps=40", "evaluation.every_seconds=0.25",
               "budget.updates=1")  # fmt: skip
    assert record.final.version == once.final.version == 1
    assert once.outcome.ended_by == "updates"  # a plan ends with its last update, and the grid with the plan
    start = run("fedavg[cohort_size=2]", STOP, "targets=[{value: 0.01}]")
    assert (start.final.seconds, start.final.version) == (0, 0)
    assert start.ledger.updates == start.ledger.trained_steps == 0


def test_without_a_target_there_is_nothing_to_stop_at() -> None:
    with pytest.raises(UsageError, match=r"digits-demo: budget.stop_at_target: true needs at least one of targets, got none"):
        load("digits-demo", [STOP, "targets=[]"])


@pytest.mark.parametrize("algorithm", ["fedbuff[buffer_size=2]", "fedavg[cohort_size=2]"])
@pytest.mark.parametrize("hold_points", [2, 3])
def test_it_ends_where_the_highest_target_was_held(algorithm: str, hold_points: int, tmp_path: Path) -> None:
    """The first hit stays what it was, the record is one that a store reads, and it is the run of a
    budget that ends there."""
    record, first = run(algorithm, *RAGGED, f"budget.hold_points={hold_points}"), run(algorithm, *RAGGED)
    met = record.curves["test_accuracy"] >= np.float32(0.7)
    windows = [bool(met[max(0, i - hold_points + 1) : i + 1].all()) and i + 1 >= hold_points for i in range(len(met))]
    assert windows.index(True) == len(met) - 1
    assert record.outcome.as_dict() == {"state": "finished", "ended_by": "target", "message": ""}
    assert [t.seconds for t in record.time_to_target] == [t.seconds for t in first.time_to_target]
    assert record.time_to_target[0].seconds < record.final.seconds
    assert record.run_id != first.run_id
    short = run(algorithm, *RAGGED[1:], f"budget.seconds={record.final.seconds:g}")
    alter(short, "outcome.ended_by", "target")
    assert_same(record, short)
    assert_same(read(Store(tmp_path).write(record)), record)
    assert verify(record).verdict == "identical"


@pytest.mark.parametrize("algorithm", ["fedbuff[buffer_size=2]", "fedavg[cohort_size=2]", "fedavg[cohort_size=6]"])
def test_it_ends_where_the_target_is_held_by_the_rules(algorithm: str, tmp_path: Path) -> None:
    """What is said of the targets is the same as of the run that goes on, and it goes on where it
    was interrupted."""
    record, whole = run(algorithm, *RAGGED, "budget.hold=window"), run(algorithm, *RAGGED[1:])
    targets = record.spec.scenario.targets
    found = reach(record, targets)
    assert [one is not None and one.is_held for one in found] == [True, True]
    assert found == reach(whole, targets)
    assert record.outcome.ended_by == "target"
    assert record.final.seconds < whole.final.seconds
    assert_same(read(Store(tmp_path / "whole").write(record)), record)
    assert verify(record).verdict == "identical"
    stop_at = record.final.version - 1

    def progress(version: int, seconds: float, evaluated: object) -> None:
        if version == stop_at:
            raise KeyboardInterrupt

    one, store = spec(algorithm, *RAGGED, "budget.hold=window"), Store(tmp_path / "cut")
    with pytest.raises(KeyboardInterrupt):
        Run(one, store, progress=progress).record()
    assert_same(Run(one, store, RunOptions(resume=True)).record(), record)


def test_a_target_that_is_never_held_lets_the_budget_end_the_run(tmp_path: Path) -> None:
    record = run("fedavg[cohort_size=2]", *RAGGED, "budget.hold_points=1000")
    assert (record.outcome.ended_by, record.final.seconds) == ("time", 30)
    assert record.time_to_target[0].seconds is not None
    assert read(Store(tmp_path).write(record)).run_id == record.run_id


def test_a_hold_of_one_point_is_none() -> None:
    """The same run to its id."""
    one, plain = (run("fedbuff[buffer_size=2]", *RAGGED, *more) for more in (["budget.hold_points=1"], []))
    assert one.run_id == plain.run_id
    assert one.digests == plain.digests


def test_a_hold_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    """Before and behind every grid point of the last ones, which hold the target."""
    algorithm, held = "fedbuff[buffer_size=2]", [*RAGGED, "budget.hold_points=5"]
    wanted = run(algorithm, *held)
    versions = wanted.curves["version"]
    assert (np.diff(versions[-6:]) > 1).all()
    for stop_at in range(int(versions[-6]), int(versions[-1]) + 1):

        def progress(version: int, seconds: float, evaluated: object, stop_at: int = stop_at) -> None:
            if version == stop_at:
                raise KeyboardInterrupt

        store = Store(tmp_path / str(stop_at))
        with pytest.raises(KeyboardInterrupt):
            Run(spec(algorithm, *held), store, progress=progress).record()
        assert_same(Run(spec(algorithm, *held), store, RunOptions(resume=True)).record(), wanted)


@pytest.mark.parametrize("algorithm", ["fedbuff[buffer_size=2]", "scaffold[cohort_size=2]"])
def test_interrupted_anywhere_and_resumed(algorithm: str, tmp_path: Path) -> None:
    wanted = run(algorithm, STOP)
    versions = wanted.final.version
    for stop_at in sorted({1, versions // 2, versions - 1, versions}):

        def progress(version: int, seconds: float, evaluated: object, stop_at: int = stop_at) -> None:
            if version == stop_at:
                raise KeyboardInterrupt

        store = Store(tmp_path / str(stop_at))
        with pytest.raises(KeyboardInterrupt):
            Run(spec(algorithm, STOP), store, progress=progress).record()
        assert_same(Run(spec(algorithm, STOP), store, RunOptions(resume=True)).record(), wanted)


KILLED = """
import sys
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench import registry
from fedbench.results.store import Store
from fedbench.scenarios.load import load
spec = RunSpec(load("digits-demo", sys.argv[3].split(";")), registry.algorithm(sys.argv[2]), 0)
Run(spec, Store(sys.argv[1]), RunOptions(checkpoint_seconds=0)).record()
"""


@pytest.mark.parametrize("hold_points", [1, 4])
def test_killed_half_way_and_resumed(hold_points: int, tmp_path: Path) -> None:
    """A real SIGKILL, as soon as there is a checkpoint."""
    overrides = [
        *SMALL,
        STOP,
        f"budget.hold_points={hold_points}",
        "targets=[{value: 0.85}]",
        "local.steps=1",
        "evaluation.every_seconds=0.1",
    ]
    selector, store, limit = "scaffold[cohort_size=3]", Store(tmp_path), time.monotonic() + 300
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), selector, ";".join(overrides)])
    while not list(tmp_path.glob("*/*/*.partial/checkpoint.bin")) and time.monotonic() < limit:
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert list(store) == []
    one = RunSpec(load("digits-demo", overrides), registry.algorithm(selector), 0)
    resumed = Run(one, store, RunOptions(resume=True)).record()
    assert resumed.outcome.ended_by == "target"
    assert_same(resumed, Run(one).record())
