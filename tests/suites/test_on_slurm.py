"""Runs as jobs of submitit, one of which is cancelled, equal runs here. On Slurm itself where it is installed, else on submitit's local
executor: real processes with the same files, signals and results."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.results.store import Store
from fedbench.suites import campaign
from fedbench.suites.executors import Begun, Done, WorkerDied
from fedbench.suites.on_slurm import OnSlurm
from fedbench.suites.suite import load, published

SMOKE = load("smoke")
CLUSTER = "slurm" if shutil.which("sbatch") else "local"


def specs() -> list[RunSpec]:
    return [spec for _, _, spec in published(SMOKE, SMOKE.points[:1], SMOKE.selectors())]


def results(store: Store) -> dict[str, str]:
    return {record.run_id: record.meta["digests"]["result"] for record in store}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_array_with_a_job_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first job is cancelled when it has begun; it is handed in again, and nothing is lost or doubled."""
    submitted: list[Any] = []
    before = OnSlurm._executor

    def watched(self: OnSlurm) -> Any:
        executor = before(self)
        hand_in = executor.map_array

        def map_array(*arguments: Any) -> Any:
            jobs = hand_in(*arguments)
            submitted.append(jobs)
            if len(submitted) == 1:
                threading.Thread(target=cancel, args=(jobs[0],)).start()
            return jobs

        executor.map_array = map_array
        return executor

    def cancel(job: Any) -> None:
        while job.state in ("PENDING", "UNKNOWN"):
            time.sleep(0.1)
        time.sleep(1.0)
        job.cancel(check=False)

    monkeypatch.setattr(OnSlurm, "_executor", watched)
    executor = OnSlurm(tmp_path / "jobs", cluster=CLUSTER, group=6)
    tally = campaign.compute(specs(), Store(tmp_path / "slurm"), executor=executor)
    assert (tally.wanted, tally.there, tally.failed) == (12, 12, ())
    assert len(submitted) == 2, "the cancelled job was not handed in again"
    assert len(submitted[1]) == 1
    campaign.compute(specs(), Store(tmp_path / "here"))
    assert results(Store(tmp_path / "slurm")) == results(Store(tmp_path / "here"))


def dies(task: int, tell: Any) -> int:
    if task == 1:
        raise SystemExit(3)
    if task == 2:
        raise ValueError("mine")
    return task * 10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_what_becomes_of_tasks(tmp_path: Path) -> None:
    """A job that dies takes its own tasks with it, when all attempts are over; an error of the work is its task's alone."""
    heard: list[Any] = []
    OnSlurm(tmp_path, cluster="local", group=1, retries=1).run(dies, [0, 1, 2, 3], heard.append)
    assert [event.task for event in heard if isinstance(event, Begun)] == [0, 1, 2, 3]
    done = {event.task: event for event in heard if isinstance(event, Done)}
    assert (done[0].result, done[3].result) == (0, 30)
    assert isinstance(done[1].error, WorkerDied)
    assert "ended without results" in str(done[1].error)
    assert isinstance(done[2].error, ValueError)


def test_without_submitit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(UsageError, match=r"submitit is not installed; pip install 'fedbench-suite\[slurm\]'"):
        OnSlurm(tmp_path).run(print, [1], print)
