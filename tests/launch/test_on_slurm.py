"""Runs as jobs of submitit, of which one is cancelled and one requeued, equal runs here. On a
stand-in for Slurm's commands, which has real processes, files, signals and results; and on Slurm
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
from fedbench.launch.executors import Begun, Done, Failed, WorkerDied
from fedbench.launch.on_slurm import OnSlurm, Request
from fedbench.results.store import Store
from fedbench.suites import campaign
from fedbench.suites.suite import load
from tests.launch import fake_slurm

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


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a stand-in for Slurm's commands, which come first on the path."""
    folder = fake_slurm.install(tmp_path / "slurm")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def specs() -> list[RunSpec]:
    """Long enough that a job is not over before it is disturbed and killed."""
    point = SMOKE.points[0].model_copy(update={"set": {"budget.seconds": 800}})
    return [spec for selector in SMOKE.selectors() for spec in SMOKE.runs(point, selector)]


def results(store: Store) -> dict[str, str]:
    return {record.run_id: record.digests.result for record in store}


def disturbed(
    store: Path, monkeypatch: pytest.MonkeyPatch, executor: OnSlurm, disturb: Callable[[Any], None]
) -> tuple[Any, list[Any]]:
    """Runs whose first job is disturbed a second after it has begun; what became of them, and the
    jobs of every handing in."""
    submitted: list[Any] = []
    hand_in = OnSlurm._jobs

    def watched(self: OnSlurm, *arguments: Any) -> Any:
        jobs = hand_in(self, *arguments)
        submitted.append(jobs)
        if len(submitted) == 1:
            threading.Thread(target=wait_and_disturb, args=(jobs[0],)).start()
        return jobs

    def wait_and_disturb(job: Any) -> None:
        while not job.paths.stderr.exists():
            time.sleep(0.1)
        time.sleep(1.0)
        disturb(job)

    monkeypatch.setattr(OnSlurm, "_jobs", watched)
    return campaign.compute(specs(), Store(store), executor=executor), submitted


def check(tally: Any, tmp_path: Path) -> None:
    assert (tally.wanted, tally.there, tally.failed) == (12, 12, ())
    campaign.compute(specs(), Store(tmp_path / "here"))
    assert results(Store(tmp_path / "there")) == results(Store(tmp_path / "here"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("cluster")
def test_a_cancelled_job_is_handed_in_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = OnSlurm(tmp_path / "jobs", group=6)
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
    executor = OnSlurm(tmp_path / "jobs", group=6)
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
def test_what_becomes_of_tasks(tmp_path: Path, cluster: Path) -> None:
    """A job that dies takes its own tasks with it, when all attempts are over; an error of the work
    is its task's alone. No more jobs run at a time than were asked for."""
    heard: list[Any] = []
    told: list[str] = []
    OnSlurm(tmp_path / "jobs", Request(at_once=2), group=1, retries=1, tell=told.append).run(dies, [0, 1, 2, 3], heard.append)
    assert [event.task for event in heard if isinstance(event, Begun)] == [0, 1, 2, 3]
    done = {event.task: event for event in heard if isinstance(event, Done | Failed)}
    assert (done[0].result, done[3].result) == (0, 30)
    assert isinstance(done[1].error, WorkerDied)
    assert "ended without results" in str(done[1].error)
    assert isinstance(done[2].error, ValueError)
    assert fake_slurm.most_at_once(cluster) == 2
    to = "to the cluster's default partition, at most 2 at a time, each up to 60 minutes on 1 processor"
    assert told == [f"slurm: 4 runs in 4 jobs {to}", f"slurm: 1 run in 1 job {to}"]


def double(task: int, tell: Any) -> int:
    return 2 * task


@pytest.mark.filterwarnings("ignore")
@pytest.mark.extra("slurm")
def test_what_is_asked_of_slurm(tmp_path: Path, cluster: Path) -> None:
    heard: list[Any] = []
    request = Request(partition="short", account="lab", minutes=7, memory="4G", at_once=1, cpus=2)
    OnSlurm(tmp_path / "jobs", request, group=2).run(double, [1, 2, 3], heard.append)
    assert [event.result for event in heard if isinstance(event, Done)] == [2, 4, 6]
    assert fake_slurm.most_at_once(cluster) == 1
    (script,) = fake_slurm.scripts(cluster)
    for line in ("array=0-1%1", "partition=short", "account=lab", "time=7", "mem=4G", "cpus-per-task=2"):
        assert f"#SBATCH --{line}\n" in script


@pytest.mark.filterwarnings("ignore")
@pytest.mark.extra("slurm")
def test_jobs_that_slurm_refuses(tmp_path: Path, cluster: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (cluster / "sbatch").write_text("#!/bin/sh\necho 'sbatch: error: invalid partition specified: fast' >&2\nexit 1\n")
    with pytest.raises(
        UsageError, match=r"slurm: sbatch refused 3 jobs to partition fast, .*: invalid partition specified: fast$"
    ):
        OnSlurm(tmp_path / "jobs", Request(partition="fast"), group=1).run(double, [1, 2, 3], print)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"minutes": 0}, "minutes must be at least 1, got 0"),
        ({"at_once": -1}, "at_once must be at least 1, got -1"),
        ({"memory": "four"}, "memory: expected a number with K, M, G or T, such as 4G, got 'four'"),
        ({"partition": "a b"}, "partition: expected a name that the cluster has, got 'a b'"),
        ({"account": ""}, "account: expected a name that the cluster has, got ''"),
    ],
)
def test_what_slurm_would_not_take(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Request(**wrong)


@pytest.mark.extra("slurm")
def test_without_slurm_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Submitit itself would start a process for every job on this machine."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(subprocess.Popen, "__init__", lambda *_, **__: pytest.fail("a process was started"))
    with pytest.raises(UsageError, match="slurm: no sbatch and no srun and no squeue and no scancel on this machine; log in"):
        OnSlurm(tmp_path / "jobs").run(double, [1], print)
    assert list(tmp_path.iterdir()) == []


def test_without_submitit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(UsageError, match=r'--on slurm needs submitit, which is not installed; .*pip install .*\[slurm\]"'):
        OnSlurm(tmp_path).run(print, [1], print)
