"""Runs on a Ray cluster of two nodes that share no files, with a worker killed, equal runs here."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.launch import on_ray
from fedbench.launch.on_ray import OnRay
from fedbench.results.store import Store
from fedbench.suites import campaign
from fedbench.suites.suite import load

SMOKE = load("smoke")


def specs() -> list[RunSpec]:
    return [spec for point in SMOKE.points for selector in SMOKE.selectors() for spec in SMOKE.runs(point, selector)]


def results(store: Store) -> dict[str, str]:
    return {record.run_id: record.digests.result for record in store}


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Two nodes of one processor each, on this machine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray
        from ray.cluster_utils import Cluster

        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        made.add_node(num_cpus=1)
        made.wait_for_nodes()
        try:
            yield made
        finally:
            ray.shutdown()
            made.shutdown()


def workers() -> list[int]:
    """Processes that work at a task of ours."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"ray::attempt" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_of_two_nodes_with_a_worker_killed(tmp_path: Path, cluster: Any) -> None:
    killed: list[int] = []
    over = threading.Event()

    def wait(*_: object) -> socket.socket:
        over.wait(60)
        return socket.socket()

    def kill() -> None:
        while not over.is_set() and not killed:
            for process in workers()[:1]:
                time.sleep(0.3)
                os.kill(process, signal.SIGKILL)
                killed.append(process)
            time.sleep(0.05)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        tally = campaign.compute(specs(), Store(tmp_path / "ray"), executor=OnRay(cluster.address))
    finally:
        over.set()
        killer.join()
    assert killed, "no worker was found"
    assert (tally.wanted, tally.there, tally.failed) == (24, 24, ())
    campaign.compute(specs(), Store(tmp_path / "here"))
    assert results(Store(tmp_path / "ray")) == results(Store(tmp_path / "here"))


def listening(answers: bool) -> socket.socket:
    """A socket at a free port of this machine, which takes connections and says nothing, or takes
    none."""
    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    if answers:
        made.listen()
    return made


@pytest.mark.extra("ray")
@pytest.mark.parametrize(
    ("answers", "said"), [(False, r"nobody listens at .* \(Connection refused\)"), (True, "does not answer")]
)
def test_where_no_cluster_is(
    answers: bool, said: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One line, and soon: Ray itself tries for minutes and prints warnings. A stranger may listen
    at the port, too."""
    monkeypatch.setattr(on_ray, "ANSWER_SECONDS", 1.0)
    with listening(answers) as made, pytest.raises(UsageError, match=said):
        OnRay(f"127.0.0.1:{made.getsockname()[1]}").run(print, [1], print)
    assert capfd.readouterr() == ("", "")


@pytest.mark.extra("ray")
def test_a_name_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def wait(*_: object) -> socket.socket:
        over.wait(60)
        return socket.socket()

    monkeypatch.setattr(on_ray, "CONNECT_SECONDS", 0.01)
    monkeypatch.setattr(socket, "create_connection", wait)
    with pytest.raises(UsageError, match=r"nobody listens at head\.example:6379 \(no answer\)"):
        OnRay("head.example:6379").check()
    over.set()


@pytest.mark.parametrize("address", ["", "moon", "local", "auto", "127.0.0.1", "127.0.0.1:port", "http://moon:80/x"])
def test_addresses_of_another_form(address: str) -> None:
    with pytest.raises(UsageError, match="ray: expected the address HOST:PORT"):
        OnRay(address)


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r'--on ray needs ray, which is not installed; .*pip install .*\[ray\]"'):
        OnRay().run(print, [1], print)
