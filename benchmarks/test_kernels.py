"""Timed with `pytest benchmarks --benchmark-enable`; every case asserts that what it timed is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench import kernels as k
from fedbench.kernels.scheduler import Duration, LocalSteps, Scheduler, Timing
from fedbench.types import Stream


def plan_a_million() -> tuple[int, float]:
    """100,000 clients, 10,000 working, buffer 100, 10,000 updates: (jobs consumed, mean staleness after the warm-up)."""
    slow = 0.0017 * (1 + 4 * np.random.default_rng(0).random(100_000))
    timing = Timing(
        clients=100_000,
        compute=Duration(a=slow, per_step=True),
        download=Duration(a=0.044),
        upload=Duration(a=0.044),
        steps=LocalSteps(values=50),
        max_updates=10_000,
    )
    chunk = Scheduler(timing, Stream(concurrency=10_000, buffer_size=100)).next()
    staleness = np.repeat(np.arange(10_000), np.diff(chunk.offsets)) - chunk.base[chunk.entries]
    return len(chunk.entries), float(staleness[100_000:].mean())


def test_plan_stream_1m(benchmark: Any) -> None:
    jobs, staleness = benchmark.pedantic(plan_a_million, rounds=3 if benchmark.enabled else 1)
    assert jobs == 1_000_000
    assert staleness == pytest.approx(99.99, rel=0.01)


def test_sum_of_ten(benchmark: Any) -> None:
    """Ten deltas of 1.1 million floats with the squared norm, in one pass."""
    rng = np.random.default_rng(0)
    deltas, weights = rng.standard_normal((10, 1_100_000), np.float32), np.full(10, 0.1)
    total = benchmark(k.weighted_sum, weights, deltas)
    assert np.allclose(total, deltas.astype(np.float64).mean(axis=0), rtol=1e-5, atol=1e-6)
