"""Where runs go: here, bounded by -j; to Slurm or to a Ray cluster, or one line that says why
not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedbench.cli import clusters
from fedbench.cli.clusters import Given
from fedbench.cli.main import app
from fedbench.errors import UsageError
from fedbench.launch.executors import Pool
from fedbench.launch.on_ray import OnRay
from fedbench.launch.on_slurm import OnSlurm, Request
from tests.launch import fake_slurm

RUN = ["run", "digits-demo", "-a", "fedavg", "--seeds", "3", "--set", "budget.seconds=1"]


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = fake_slurm.install(tmp_path / "slurm")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.mark.usefixtures("slurm")
@pytest.mark.extra("slurm", "ray")
def test_names_of_executors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OnRay, "check", lambda self: None)
    assert clusters.executor("here", tmp_path, processes=4) is None
    one = clusters.executor("ray:127.0.0.1:6379", tmp_path, Given(at_once=3))
    assert isinstance(one, OnRay)
    assert (one.address, one.at_once) == ("127.0.0.1:6379", 3)
    other = clusters.executor("slurm", tmp_path, Given(partition="short", minutes=5), cpus=2)
    assert isinstance(other, OnSlurm)
    assert (other.folder, other.request) == (tmp_path / ".jobs", Request(partition="short", minutes=5, cpus=2))


@pytest.mark.parametrize(
    ("on", "given", "processes", "said"),
    [
        ("moon", Given(), 1, "--on must be here, slurm, ray or ray:HOST:PORT, got 'moon'"),
        ("slurm:short", Given(), 1, "--on must be here, slurm, ray or ray:HOST:PORT, got 'slurm:short'"),
        ("here", Given(partition="short"), 1, "--partition is for Slurm, and runs go to --on here"),
        ("here", Given(at_once=3), 1, "--at-once is for clusters, and runs go to --on here"),
        ("ray", Given(at_once=3, memory="1G"), 1, "--memory is for Slurm, and runs go to --on ray"),
        ("slurm", Given(), 4, "-j 4 is for processes on this machine; with --on slurm say --at-once 4"),
        ("ray:", Given(), 1, "ray: expected the address HOST:PORT, such as 10.0.0.1:6379, got ''"),
        ("slurm", Given(memory="much"), 1, "slurm: memory: expected a number with K, M, G or T"),
    ],
)
def test_what_does_not_go_together(on: str, given: Given, processes: int, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        clusters.executor(on, tmp_path, given, processes=processes)
    assert said in str(error.value)


@pytest.mark.parametrize("verb", [RUN, ["suite", "run", "smoke"], ["tune", "smoke"]], ids=["run", "suite run", "tune"])
@pytest.mark.parametrize("on", ["slurm", "ray:127.0.0.1:1"])
@pytest.mark.extra("slurm", "ray")
def test_without_a_cluster_nothing_is_started(verb: list[str], on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(subprocess.Popen, "__init__", lambda *_, **__: pytest.fail("a process was started"))
    monkeypatch.setattr(Pool, "run", lambda *_: pytest.fail("processes were started"))
    error = CliRunner().invoke(app, [*verb, "--on", on]).exception
    assert isinstance(error, UsageError)
    assert ("no sbatch" if on == "slurm" else "nobody listens at 127.0.0.1:1") in str(error)
    assert "\n" not in str(error)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_runs_on_slurm(tmp_path: Path, slurm: Path) -> None:
    store = str(tmp_path / "runs")
    more = ["--store", store, "--on", "slurm", "--partition", "short", "--minutes", "5", "--at-once", "2"]
    done = CliRunner().invoke(app, [*RUN, *more])
    assert done.exit_code == 0, done.stderr
    assert "slurm: 3 runs in 1 job to partition short, at most 2 at a time, each up to 5 minutes on 1 processor" in done.stderr
    assert f"3 records in {store}" in done.stderr
    assert fake_slurm.most_at_once(slurm) == 1
