"""ACED by hand: whose results are in the mean, and how old they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbench.algorithms.aced import ACED
from fedbench.errors import UsageError
from fedbench.types import Info, Stream
from tests.algorithms.by_hand import D0, D1, X0, arrivals, delta_0, run, serve, two_clients

# (client, base) of the arrivals at versions 0, 1, .. and what they send
SENT = [(0, 0, [8.0, 0.0]), (1, 0, [0.0, 4.0]), (2, 0, [2.0, 2.0]), (0, 2, [6.0, 6.0])]


def steps(**options: Any) -> tuple[list[list[float]], Any]:
    """The models after the arrivals of SENT, from (0, 0), and the last state."""
    algorithm = ACED(server_lr=1.0, **options)
    state, tools = serve(algorithm, clients=3, x0=np.zeros(2))
    models = []
    for version, (client, base, delta) in enumerate(SENT):
        algorithm.step(state, arrivals([client], version=version, base=[base], delta=[delta]), tools)
        models.append(state.x.tolist())
    return models, state


def test_one_arrival_makes_an_update_and_everybody_works() -> None:
    assert ACED().dispatch(Info(7, np.ones(7))) == Stream(concurrency=7, buffer_size=1, restart="self")


def test_what_is_too_old_is_not_in_the_mean() -> None:
    """Threshold 1. Ages at versions 0 to 3: {0}; {1, 1}; {2, 2, 2}, nobody, the arrived client
    included; {1, 3, 3}, client 0."""
    models, state = steps(start="seen", delay_threshold=1)
    assert models == [[8, 0], [12, 2], [12, 2], [18, 8]]
    assert state.h_i.dense().tolist() == [[6, 6], [0, 4], [2, 2]]
    assert state.base_i.tolist() == [2, 0, 0]


def test_an_age_that_equals_the_threshold_counts() -> None:
    """Threshold 2: all three count at version 2, and client 0 alone at version 3."""
    models = steps(start="seen", delay_threshold=2)[0]
    assert np.array(models) == pytest.approx(np.array([[8, 0], [12, 2], [12 + 10 / 3, 4], [18 + 10 / 3, 10]]), rel=1e-15)


@pytest.mark.parametrize("start", ["wait_all", "seen"])
def test_a_threshold_of_zero_counts_fresh_results_alone(start: str) -> None:
    moved = [8, 0] if start == "seen" else [0, 0]
    assert steps(start=start, delay_threshold=0)[0] == [moved] * 4


def test_the_model_waits_until_everybody_has_reported() -> None:
    models = steps(delay_threshold=2)[0]
    assert np.array(models) == pytest.approx(np.array([[0, 0], [0, 0], [10 / 3, 2], [28 / 3, 8]]), rel=1e-15)


def test_the_threshold_is_the_number_of_clients() -> None:
    """Two clients of 1 s and 2.5 s: client 1's first result is 2 versions old as it arrives, and 3
    and 4 after it."""
    trace = run(ACED(local_lr=0.25, server_lr=1.0, start="seen"), two_clients(), 4, seconds=(1, 2.5))
    assert trace.consumed() == [(0, 0), (0, 1), (1, 0), (0, 2)]
    x1 = X0 + D0
    x2 = x1 + delta_0(x1)
    x3 = x2 + (delta_0(x1) + D1) / 2
    assert [x.tolist() for x in trace.x[1:]] == [x.tolist() for x in (x1, x2, x3, x3 + delta_0(x2))]


@settings(derandomize=True, deadline=None, max_examples=60, database=None)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), min_size=1, max_size=3), max_size=25), st.integers(0, 5)
)
def test_the_kept_sum_is_the_sum_over_those_that_count(updates: list[list[tuple[int, int]]], tau: int) -> None:
    """Updates of (client, age); every delta is another whole number, and so every sum is exact."""
    algorithm = ACED(server_lr=1.0, start="seen", delay_threshold=tau)
    state, tools = serve(algorithm, clients=4, x0=np.zeros(1))
    newest: dict[int, tuple[float, int]] = {}
    number = 0
    for version, entries in enumerate(updates):
        before, deltas = state.x.copy(), []
        for client, age in entries:
            number += 1
            deltas.append([float(number)])
            newest[client] = (float(number), max(0, version - age))
        base = [max(0, version - age) for _, age in entries]
        algorithm.step(state, arrivals([c for c, _ in entries], version=version, base=base, delta=deltas), tools)
        fresh = [delta for delta, base in newest.values() if version - base <= tau]
        assert state.x[0] == before[0] + (sum(fresh) / len(fresh) if fresh else 0)


@pytest.mark.parametrize("clients", [2, 4])
def test_the_rate_is_one_over_the_clients(clients: int) -> None:
    algorithm = ACED(start="seen")
    state, tools = serve(algorithm, clients=clients, x0=np.zeros(2))
    algorithm.step(state, arrivals([1], delta=[[16.0, -32]]), tools)
    assert state.x.tolist() == [16 / clients, -32 / clients]


def test_a_model_that_never_moved_is_reported_under_its_name() -> None:
    algorithm = ACED()
    said = "aced: the model is still x0, since 1 of 2 clients never reported; see start, concurrency"
    assert algorithm.warnings(run(algorithm, two_clients(), 2, seconds=(1, 2.5)).state) == [said]


def test_zeros_do_not_count() -> None:
    with pytest.raises(UsageError, match="aced: start must be one of 'wait_all', 'seen', got 'warm'"):
        ACED.make({"start": "warm"})
