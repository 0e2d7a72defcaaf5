"""The timing model of the DeFedAvg paper, from its constants."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, Stream
from fedbench.scenarios.load import load
from fedbench.scenarios.schema import Network, Slowdown
from fedbench.scenarios.system import compute, full_gradient_seconds, local_steps, slowdowns, transfer


def test_the_papers_constants() -> None:
    """17.0e6 / 10e9 s a step times U(1, 5); 2.2 MB at 400 Mbit/s is 44 ms; 50 steps take 85 to 425 ms."""
    scenario = load("defedavg-fashion-iid")
    duration = compute(scenario, 0)
    per_job = 50 * np.asarray(duration.a)
    assert duration.per_step
    assert per_job.shape == (100,)
    assert 0.085 <= per_job.min() < 0.1
    assert 0.4 < per_job.max() <= 0.425
    assert transfer(scenario.network, 400.0, 0).a == pytest.approx(0.044)
    assert local_steps(scenario, 0).values == 50


def test_a_clients_slowdown_depends_on_client_and_seed_only() -> None:
    few, many = (slowdowns(Slowdown(low=1, high=5), n, 7) for n in (3, 1000))
    assert np.array_equal(few, many[:3])
    assert many[2] == 1 + 4 * Stream(7, Purpose.speed, 2).uniform(1)[0]
    assert abs(many.mean() - 3) < 0.15


def test_uniform_speeds_have_the_other_mean() -> None:
    """Time factor high / U(low, high): mean (5/4) ln 5 = 2.012 for U(1, 5)."""
    factors = slowdowns(Slowdown(kind="speed", low=1, high=5), 20_000, 0)
    assert factors.mean() == pytest.approx(1.25 * np.log(5), rel=0.02)


def test_payload_pays_for_its_bytes_and_latency_adds() -> None:
    network = Network(upload_megabit_per_second=8, latency_seconds=0.5)
    assert transfer(network, network.upload_megabit_per_second, 3_000_000).a == pytest.approx(3.5)
    assert transfer(network, None, 3_000_000).a == 0.5


def test_epochs_count_the_short_last_batch() -> None:
    scenario = load("digits-demo", ["local={epochs: 2, batch_size: 10}", "clients=3"])
    assert local_steps(scenario, 0, np.array([10.0, 11.0, 5.0])).values.tolist() == [2, 4, 2]  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="needs the shard sizes"):
        local_steps(scenario, 0)


def test_a_full_gradient_waits_for_the_slowest_client() -> None:
    scenario = load("digits-demo", ["clients=2", "compute.slowdown={low: 2, high: 2}"])
    assert full_gradient_seconds(scenario, np.array([100.0, 55.0]), 0, 1.0, 2.0) == pytest.approx(1 + 10 * 0.04 + 2)
