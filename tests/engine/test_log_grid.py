"""Whole runs on a logarithmic grid of evaluation: the same points for all algorithms and trainers,
and everything that holds on an even grid holds on it."""

from __future__ import annotations

import json
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
from fedbench.engine import plan as planning
from fedbench.engine.plan import plan
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.verify import verify
from fedbench.errors import RecordError
from fedbench.kernels import build_info
from fedbench.results.record import Record
from fedbench.results.store import Store, read
from fedbench.scenarios.grid import in_seconds
from fedbench.scenarios.load import load
from tests.cli.commands import fedbench

LOG = "evaluation={kind: log, first_seconds: 0.5, ratio: 1.05}"
SMALL = ["clients=6", "local.steps=3", "task.model=softmax", "partition={kind: iid}", "budget.seconds=12", LOG]
STOP = ["budget.stop_at_target=true", "targets=[{value: 0.7}, {value: 0.6}]"]
ALGORITHMS = [
    "fedavg[cohort_size=2]",
    "fedbuff[buffer_size=2]",
    "quafl[cohort_size=2]",
    "defedavg_iid[cohort_size=3,server_lr=1]",
]
SECONDS = 12_000_000_000


def spec(algorithm: str, *overrides: str) -> RunSpec:
    return RunSpec(load("digits-demo", [*SMALL, *overrides]), registry.algorithm(algorithm), 0)


def run(algorithm: str, *overrides: str, **options: Any) -> Record:
    return Run(spec(algorithm, *overrides), options=RunOptions(**options)).record()


def assert_same(a: Record, b: Record) -> None:
    for name in ("inputs", "plan", "model", "selections"):
        assert a.digests.as_dict()[name] == b.digests.as_dict()[name], name
    assert a.ledger == b.ledger
    assert a.final == b.final
    assert all(np.array_equal(a.curves[name], b.curves[name]) for name in a.curves)


def test_all_algorithms_have_the_points_of_the_scenario(tmp_path: Path) -> None:
    """Those up to the end, 0 among them; and a store reads the records."""
    grid = load("digits-demo", [LOG]).evaluation.grid
    wanted = in_seconds(grid.times_ns(grid.points_until(SECONDS)))
    assert (wanted[0], wanted[1], len(wanted)) == (0, 0.5, 67)
    for algorithm in ALGORITHMS:
        record = run(algorithm)
        assert np.array_equal(record.curves["seconds"], wanted), algorithm
        assert record.final.seconds == 12
        assert read(Store(tmp_path).write(record)).run_id == record.run_id
        assert verify(record).verdict == "identical"


def test_a_point_takes_what_an_even_grid_has_there() -> None:
    """An even grid of milliseconds has points just before and behind each of the logarithmic
    one."""
    log, even = run("fedbuff[buffer_size=2]"), run("fedbuff[buffer_size=2]", "evaluation={every_seconds: 0.001}")
    before = np.searchsorted(even.curves["seconds"], log.curves["seconds"], "right") - 1
    after = np.searchsorted(even.curves["seconds"], log.curves["seconds"], "left")
    for name in ("version", "steps", "gradient_evaluations", "bytes"):
        assert (even.curves[name][before] <= log.curves[name]).all(), name
        assert (log.curves[name] <= even.curves[name][after]).all(), name
    same = even.curves["version"][before] == log.curves["version"]
    assert same.sum() > 50
    assert np.array_equal(even.curves["test_accuracy"][before][same], log.curves["test_accuracy"][same])
    assert log.digests.model == even.digests.model
    assert log.ledger == even.ledger


@pytest.mark.parametrize("algorithm", ["fedbuff[buffer_size=2]", "scaffold[cohort_size=2]"])
def test_chunks_waves_workers_and_instruction_sets_change_nothing(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = run(algorithm)
    for isa in build_info()["instruction_sets"]:
        assert_same(run(algorithm, isa=isa), wanted)
    assert_same(run(algorithm, workers=2, wave_size=1), wanted)
    monkeypatch.setattr(planning, "CHUNK_JOBS", 3)
    assert_same(run(algorithm, wave_bytes=1), wanted)


@pytest.mark.extra("torch")
def test_two_trainers_have_the_same_grid_and_plan() -> None:
    native, torch = run("fedbuff[buffer_size=2]"), run("fedbuff[buffer_size=2]", trainer="torch")
    assert (native.provenance.trainer, torch.provenance.trainer) == ("native", "torch")
    assert native.digests.plan == torch.digests.plan
    for name in ("seconds", "version", "steps", "gradient_evaluations", "bytes"):
        assert np.array_equal(native.curves[name], torch.curves[name]), name
    assert np.abs(native.curves["test_accuracy"] - torch.curves["test_accuracy"]).max() < 0.02


@pytest.mark.parametrize("hold", [1, 3])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_run_that_stops_is_the_run_of_a_budget_that_ends_there(algorithm: str, hold: int, tmp_path: Path) -> None:
    record = run(algorithm, *STOP, "budget.seconds=30", f"budget.hold_points={hold}")
    assert record.outcome.ended_by == "target"
    met = record.curves["test_accuracy"] >= np.float32(0.7)
    assert met[-hold:].all()
    assert not any(met[i : i + hold].all() for i in range(len(met) - hold))
    end = record.final.seconds
    assert record.curves["seconds"][-1] == end < 30
    assert_same(run(algorithm, STOP[1], f"budget.seconds={end!r}"), record)
    assert verify(read(Store(tmp_path).write(record))).verdict == "identical"


def test_points_that_are_not_those_of_the_grid_are_refused(tmp_path: Path) -> None:
    record = run("fedavg[cohort_size=2]")
    record.curves["seconds"] = record.curves["seconds"].copy()
    record.curves["seconds"][5] += 1e-9
    with pytest.raises(RecordError, match=r"curves\.seconds|digests\.result"):
        read(Store(tmp_path).write(record))


@pytest.mark.parametrize("algorithm", ["fedbuff[buffer_size=2]", "scaffold[cohort_size=2]"])
def test_interrupted_anywhere_and_resumed(algorithm: str, tmp_path: Path) -> None:
    held = [*STOP, "budget.hold_points=3"]
    wanted = run(algorithm, *held)
    versions = wanted.final.version
    for stop_at in sorted({1, versions // 2, versions - 1, versions}):

        def progress(version: int, seconds: float, evaluated: object, stop_at: int = stop_at) -> None:
            if version == stop_at:
                raise KeyboardInterrupt

        store = Store(tmp_path / str(stop_at))
        with pytest.raises(KeyboardInterrupt):
            Run(spec(algorithm, *held), store, progress=progress).record()
        assert_same(Run(spec(algorithm, *held), store, RunOptions(resume=True)).record(), wanted)


KILLED = """
import sys
from fedbench import registry
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.results.store import Store
from fedbench.scenarios.load import load
spec = RunSpec(load("digits-demo", sys.argv[3].split(";")), registry.algorithm(sys.argv[2]), 0)
Run(spec, Store(sys.argv[1]), RunOptions(checkpoint_seconds=0)).record()
"""


def test_killed_half_way_and_resumed(tmp_path: Path) -> None:
    """A real SIGKILL, as soon as there is a checkpoint."""
    overrides = [*SMALL, "local.steps=1", "budget.seconds=40"]
    selector, store, limit = "scaffold[cohort_size=3]", Store(tmp_path), time.monotonic() + 300
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), selector, ";".join(overrides)])
    while not list(tmp_path.glob("*/*/*.partial/checkpoint.bin")) and time.monotonic() < limit:
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert list(store) == []
    one = RunSpec(load("digits-demo", overrides), registry.algorithm(selector), 0)
    assert_same(Run(one, store, RunOptions(resume=True)).record(), Run(one).record())


def test_a_plan_does_not_depend_on_the_grid(tmp_path: Path) -> None:
    """`fedbench plan` knows it, and no number of the plan is another one."""
    log, even = plan(spec("fedbuff")).as_dict(), plan(spec("fedbuff", "evaluation={every_seconds: 1}")).as_dict()
    for name in ("wall_s", "peak_mb"):
        del log[name], even[name]
    assert log == even
    result = fedbench("plan", "digits-demo", "-a", "fedbuff", "--set", LOG, "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["outcome"] == "finished"
