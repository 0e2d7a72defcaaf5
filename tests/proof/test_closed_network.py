"""The closed network against arithmetic by hand and mean value analysis; the claim `closed-network`
has the scheduler beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbench.proof.closed_network import ClosedNetwork, closed_network


def test_two_alike_clients_by_hand() -> None:
    """C tasks at two clients of rate 1 and probability 1/2: C + 1 states, all as likely, so a
    client works for C/(C+1) of the time."""
    for C in (1, 2, 5):
        got = closed_network([1.0, 1.0], [0.5, 0.5], C, [0.0, 0.0])
        assert got.utilisation == pytest.approx([C / (C + 1)] * 2)
        assert got.updates_per_second == pytest.approx(2 * C / (C + 1))
        assert got.tasks == pytest.approx([C / 2] * 2)
        assert got.staleness == pytest.approx([C - 1] * 2)


def mean_values(rates: list[float], routing: list[float], tasks: int, delay: list[float]) -> ClosedNetwork:
    """Mean value analysis [Reiser and Lavenberg 1980]: a task that comes sees the network with one
    task less."""
    mu, r, d = np.array(rates), np.array(routing), np.array(delay)
    queue = total = before = np.zeros(len(mu))
    rate = 0.0
    for c in range(1, tasks + 1):
        response = (1 + queue) / mu
        rate = c / float((r * (response + d)).sum())
        queue, before, total = rate * r * response, total, rate * r * (response + d)
    return ClosedNetwork(rate, tuple(rate * r / mu), tuple(total), tuple(before / r))


@settings(derandomize=True, deadline=None, max_examples=100, database=None)
@given(st.integers(1, 6), st.integers(1, 12), st.randoms(use_true_random=False))
def test_mean_value_analysis(clients: int, tasks: int, random: object) -> None:
    draw = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    r = draw.dirichlet(np.ones(clients)).clip(1e-3)
    inputs = (draw.uniform(0.2, 5, clients).tolist(), (r / r.sum()).tolist(), tasks, draw.uniform(0, 3, clients).tolist())
    got, want = closed_network(*inputs), mean_values(*inputs)
    assert got.updates_per_second == pytest.approx(want.updates_per_second, rel=1e-10)
    for name in ("utilisation", "tasks", "staleness"):
        assert getattr(got, name) == pytest.approx(getattr(want, name), rel=1e-9, abs=1e-12)
    assert sum(a * b for a, b in zip(inputs[1], got.staleness, strict=True)) == pytest.approx(tasks - 1)
