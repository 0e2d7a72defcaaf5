"""Runs on a Ray cluster of two nodes that share no files, with a worker killed, equal runs here."""

from __future__ import annotations

import os
import signal
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
from fedbench.launch.on_ray import OnRay
from fedbench.results.store import Store
from fedbench.suites import campaign
from fedbench.suites.suite import load

SMOKE = load("smoke")


def specs() -> list[RunSpec]:
    return [spec for point in SMOKE.points for selector in SMOKE.selectors() for spec in SMOKE.runs(point, selector)]


def results(store: Store) -> dict[str, str]:
    return {record.run_id: record.meta["digests"]["result"] for record in store}


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


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"ray is not installed; pip install 'fedbench-suite\[ray\]'"):
        OnRay().run(print, [1], print)
