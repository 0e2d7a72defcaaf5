"""Runs as jobs of submitit, of which one is cancelled and one requeued, equal runs here. On
submitit's local executor, which has real processes, files, signals and results; and on Slurm
itself, started here, where root has installed Debian's slurmctld, slurmd and munge."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.launch.executors import Begun, Done, WorkerDied
from fedbench.launch.on_slurm import OnSlurm
from fedbench.results.store import Store
from fedbench.suites import campaign
from fedbench.suites.suite import load

SMOKE = load("smoke")
SLURM = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=1
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
CAN_START_SLURM = os.geteuid() == 0 and all(map(shutil.which, ("slurmctld", "slurmd", "munged", "sbatch")))


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cluster of one node, this machine, in a folder of its own whose name is short enough for a
    socket."""
    host = socket.gethostname().partition(".")[0]
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    (folder / "slurm.conf").write_text(SLURM.format(host=host, folder=folder))
    monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
    files = {
        "key-file": "munge.key",
        "socket": "munge.socket",
        "pid-file": "munge.pid",
        "log-file": "munge.log",
        "seed-file": "munge.seed",
    }
    subprocess.run(["munged", "--force", *(f"--{option}={folder / name}" for option, name in files.items())], check=True)
    try:
        subprocess.run(["slurmctld", "-c"], check=True, capture_output=True)
        subprocess.run(["slurmd", "-N", host], check=True, capture_output=True)
        for _ in range(100):
            if "idle" in subprocess.run(["sinfo", "-h", "-o", "%t"], capture_output=True, text=True, check=False).stdout:
                break
            time.sleep(0.2)
        else:
            pytest.fail(f"slurm did not start: {(folder / 'slurmctld.log').read_text()[-2000:]}")
        yield
    finally:
        subprocess.run(["scontrol", "shutdown"], capture_output=True, check=False)
        os.kill(int((folder / "munge.pid").read_text()), signal.SIGTERM)
        time.sleep(1)
        shutil.rmtree(folder, ignore_errors=True)


def specs() -> list[RunSpec]:
    """Long enough that a job is not over before it is disturbed and killed."""
    point = SMOKE.points[0].model_copy(update={"set": {"budget.seconds": 500}})
    return [spec for selector in SMOKE.selectors() for spec in SMOKE.runs(point, selector)]


def results(store: Store) -> dict[str, str]:
    return {record.run_id: record.meta["digests"]["result"] for record in store}


def disturbed(
    store: Path, monkeypatch: pytest.MonkeyPatch, executor: OnSlurm, disturb: Callable[[Any], None]
) -> tuple[Any, list[Any]]:
    """Runs whose first job is disturbed a second after it has begun; what became of them, and the
    jobs of every handing in."""
    submitted: list[Any] = []
    before = OnSlurm._executor

    def watched(self: OnSlurm) -> Any:
        made = before(self)
        hand_in = made.map_array

        def map_array(*arguments: Any) -> Any:
            jobs = hand_in(*arguments)
            submitted.append(jobs)
            if len(submitted) == 1:
                threading.Thread(target=wait_and_disturb, args=(jobs[0],)).start()
            return jobs

        made.map_array = map_array
        return made

    def wait_and_disturb(job: Any) -> None:
        while not job.paths.stderr.exists():
            time.sleep(0.1)
        time.sleep(1.0)
        disturb(job)

    monkeypatch.setattr(OnSlurm, "_executor", watched)
    return campaign.compute(specs(), Store(store), executor=executor), submitted


def check(tally: Any, tmp_path: Path) -> None:
    assert (tally.wanted, tally.there, tally.failed) == (12, 12, ())
    campaign.compute(specs(), Store(tmp_path / "here"))
    assert results(Store(tmp_path / "there")) == results(Store(tmp_path / "here"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cancelled_job_is_handed_in_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = OnSlurm(tmp_path / "jobs", cluster="local", group=6)
    tally, submitted = disturbed(tmp_path / "there", monkeypatch, executor, lambda job: job.cancel(check=False))
    assert [len(jobs) for jobs in submitted] == [2, 1]
    check(tally, tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not CAN_START_SLURM, reason="needs root, and Debian's slurmctld, slurmd, munge and slurm-client")
@pytest.mark.parametrize(
    ("verb", "handed_in"), [(["scontrol", "requeue"], [2]), (["scancel"], [2, 1])], ids=["requeue", "cancel"]
)
@pytest.mark.usefixtures("slurm")
def test_on_slurm_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: list[str], handed_in: list[int]) -> None:
    """A job that Slurm requeues goes on by itself; one that is cancelled is handed in again. The
    cluster has no accounting."""
    executor = OnSlurm(tmp_path / "jobs", cluster="slurm", group=6)
    tally, submitted = disturbed(
        tmp_path / "there", monkeypatch, executor, lambda job: subprocess.run([*verb, str(job.job_id)], check=True)
    )
    assert [len(jobs) for jobs in submitted] == handed_in
    check(tally, tmp_path)


def dies(task: int, tell: Any) -> int:
    if task == 1:
        raise SystemExit(3)
    if task == 2:
        raise ValueError("mine")
    return task * 10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_what_becomes_of_tasks(tmp_path: Path) -> None:
    """A job that dies takes its own tasks with it, when all attempts are over; an error of the work
    is its task's alone."""
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
