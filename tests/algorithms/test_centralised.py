"""Centralised SGD by hand (client 0 of by_hand.py), and the scenario that it makes of another."""

from __future__ import annotations

import numpy as np

from fedbench.algorithms.centralised import Centralised
from fedbench.scenarios.load import load
from fedbench.scenarios.pooled import pooled
from fedbench.types import Info
from tests.algorithms.by_hand import quadratic, run, two_clients


def test_one_update_is_the_steps_of_its_worker() -> None:
    """(3, 4) -> (5/2, 2) -> (17/8, 1)."""
    both = two_clients()
    worker = quadratic(both.A[:1], both.c[:1], [1])
    assert run(Centralised(local_lr=0.25), worker, 1).x[1].tolist() == [17 / 8, 1]


def test_what_is_pooled_and_what_stays() -> None:
    flaky = load("digits-flaky")
    one = pooled(flaky)
    changed = {key for key, value in one.resolved().items() if value != flaky.resolved()[key]}
    assert changed <= {"clients", "partition", "compute", "network", "availability", "dropout", "rounds"}
    assert {"clients", "compute", "availability"} <= changed
    assert (one.clients, one.partition.kind, one.availability.kind, one.dropout) == (1, "iid", "always", 0)
    assert one.compute.step_seconds == flaky.compute.step_seconds
    assert (one.compute.slowdown.low, one.compute.slowdown.high) == (1, 1)
    assert one.network.download_megabit_per_second is None
    assert load(one).resolved() == one.resolved()


def test_a_drawn_time_per_job_stays() -> None:
    per_job = "compute={kind: per_job, time: {distribution: exponential, mean_seconds: 2}}"
    scenario = load("digits-demo", [per_job])
    assert pooled(scenario).compute == scenario.compute


def test_it_sends_nothing() -> None:
    algorithm = Centralised()
    assert algorithm.pooled
    assert algorithm.traffic(Info(1, np.ones(1))) == (0, 0, 0)
