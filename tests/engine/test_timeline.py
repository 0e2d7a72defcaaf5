"""A window of a plan: what clients do, and what becomes of it."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbench import registry
from fedbench.engine.plan import plan
from fedbench.engine.spec import RunSpec
from fedbench.engine.timeline import ClientTimeline, client_timeline
from fedbench.errors import UsageError
from fedbench.scenarios.load import load


def timeline(selector: str, scenario: str = "digits-demo", *sets: str, end: float = 5.0, clients: int = 100) -> ClientTimeline:
    return client_timeline(RunSpec(load(scenario, sets), registry.algorithm(selector), 0), end_seconds=end, clients=clients)


def test_it_is_the_plan() -> None:
    """Over the whole budget, all used jobs are those that the plan's ledger counts."""
    spec = RunSpec(load("digits-demo", ["budget.seconds=5"]), registry.algorithm("fedbuff[buffer_size=5]"), 0)
    summary, found = plan(spec), client_timeline(spec, end_seconds=5.0, clients=100)
    assert len(found.updates) == summary.updates
    used = [job for job in found.jobs if job.fate == "used"]
    assert len(used) == summary.jobs_consumed
    assert np.mean([job.staleness for job in used if job.staleness is not None]) == pytest.approx(summary.staleness_mean)
    assert sum(job.upload - job.train for job in used if job.upload and job.train) > 0
    json.dumps(asdict(found), allow_nan=False)


def test_clients_are_from_the_fastest_to_the_slowest() -> None:
    everybody = timeline("fedbuff")
    assert sorted(everybody.clients) == list(range(everybody.of_clients))
    lengths = {
        client: [j.upload - j.train for j in everybody.jobs if j.client == client and j.train and j.upload]
        for client in everybody.clients
    }
    means = [float(np.mean(lengths[client])) for client in everybody.clients if lengths[client]]
    assert means[0] < means[-1]
    three = timeline("fedbuff", clients=3)
    assert three.clients == (everybody.clients[0], everybody.clients[10], everybody.clients[-1])
    assert {job.client for job in three.jobs} <= set(three.clients)


@pytest.mark.parametrize("selector", ["fedavg", "fedbuff", "defedavg_iid", "favano", "mifa"])
def test_a_clients_times_are_in_order_and_within_the_window(selector: str) -> None:
    found = timeline(selector, "digits-flaky", "budget.seconds=10", end=6.0)
    assert found.end_seconds == 6.0
    for job in found.jobs:
        known = [time for time in (job.begin, job.train, job.upload, job.arrive) if time is not None]
        assert known == sorted(known)
        assert 0 <= known[0] < 6.0
        assert known[-1] <= job.end <= 6.0
        assert (job.staleness is None) == (job.fate != "used")
    assert all(0 <= time <= 6.0 for time in found.updates)


def test_what_is_lost_is_lost_while_its_client_leaves() -> None:
    found = timeline("fedavg", "digits-flaky", "dropout=0", "budget.seconds=40", end=40.0)
    lost = [job for job in found.jobs if job.fate == "lost"]
    assert lost
    leaves = {(one.client, one.begin) for one in found.absences}
    assert all((job.client, job.end) in leaves for job in lost)
    assert all(one.begin < one.end <= 40.0 for one in found.absences)


def test_a_job_that_is_used_after_the_window_is_used() -> None:
    whole = timeline("fedavg", end=100.0)
    end = whole.updates[0] / 2
    early = timeline("fedavg", end=end)
    assert early.updates == ()
    assert {job.fate for job in early.jobs} == {"used"}
    assert all(job.end <= end for job in early.jobs)


@settings(max_examples=10)
@given(st.floats(0.01, 30), st.integers(1, 40))
def test_any_window(end: float, clients: int) -> None:
    found = timeline("fedbuff", end=end, clients=clients)
    assert len(found.clients) == min(clients, found.of_clients) == len(set(found.clients))
    assert found.end_seconds <= end + 1e-9


@pytest.mark.parametrize(("end", "clients"), [(0.0, 3), (-1.0, 3), (1.0, 0), (float("nan"), 3)])
def test_no_window(end: float, clients: int) -> None:
    with pytest.raises(UsageError, match="timeline: end_seconds and clients must be > 0, got"):
        timeline("fedavg", end=end, clients=clients)
