"""ACE by hand (problem of by_hand.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.ace import ACE
from fedbench.types import Info, Stream
from tests.algorithms.by_hand import D0, D1, X0, arrivals, delta_0, run, serve, two_clients


def ace(**options: Any) -> ACE:
    return ACE(**({"local_lr": 0.25, "server_lr": 1.0} | options))


def test_one_arrival_makes_an_update_and_everybody_works() -> None:
    policy = ACE().dispatch(Info(7, np.ones(7)))
    assert policy == Stream(concurrency=7, buffer_size=1, restart="self")


def test_every_arrival_moves_by_the_mean_of_all_caches() -> None:
    """1 s and 2.5 s: Delta_0 of versions 0 and 1, then Delta_1 of version 0: D0/2, E/2, (E + D1)/2,
    E = Delta_0(x1)."""
    trace = run(ace(start="warm"), two_clients(), 3, seconds=(1, 2.5))
    assert trace.consumed() == [(0, 0), (0, 1), (1, 0)]
    x1 = X0 + D0 / 2
    E = delta_0(x1)
    assert [x.tolist() for x in trace.x[1:]] == [x1.tolist(), (x1 + E / 2).tolist(), (x1 + E / 2 + (E + D1) / 2).tolist()]
    assert trace.state.h_i.dense().tolist() == [E.tolist(), D1.tolist()]


def test_the_model_waits_until_everybody_has_reported() -> None:
    """The same arrivals: client 0's are kept, and the third update moves by (D0 + D1)/2, both
    results at x0."""
    trace = run(ace(), two_clients(), 3, seconds=(1, 2.5))
    assert [x.tolist() for x in trace.x[1:]] == [X0.tolist(), X0.tolist(), (X0 + (D0 + D1) / 2).tolist()]


def test_seen_is_the_mean_over_those_that_have_reported() -> None:
    """D0, E = Delta_0(x1), then (E + D1)/2."""
    trace = run(ace(start="seen"), two_clients(), 3, seconds=(1, 2.5))
    x1 = X0 + D0
    E = delta_0(x1)
    assert [x.tolist() for x in trace.x[1:]] == [x1.tolist(), (x1 + E).tolist(), (x1 + E + (E + D1) / 2).tolist()]


@pytest.mark.parametrize("clients", [2, 4])
def test_the_rate_is_one_over_the_clients(clients: int) -> None:
    algorithm = ACE(start="warm")
    state, tools = serve(algorithm, clients=clients, x0=np.zeros(2))
    algorithm.step(state, arrivals([1], delta=[[16.0, -32]]), tools)
    assert state.x.tolist() == [16 / clients**2, -32 / clients**2]


def test_a_buffer_keeps_the_newest_of_a_client() -> None:
    """Client 1 twice in a buffer of three: its second Delta counts, the first does not; server_lr
    1/2."""
    algorithm = ace(buffer_size=3, server_lr=0.5, start="warm")
    state, tools = serve(algorithm, clients=4, x0=np.zeros(2))
    algorithm.step(state, arrivals([1, 0, 1], delta=[[64.0, 64], [8, 0], [0, 16]]), tools)
    assert state.x.tolist() == [1, 2]


@pytest.mark.parametrize(("start", "updates", "warned"), [("wait_all", 2, True), ("wait_all", 3, False), ("warm", 2, False)])
def test_a_model_that_never_moved_is_reported(start: str, updates: int, warned: bool) -> None:
    """Client 1 reports in the third update."""
    algorithm = ace(start=start)
    trace = run(algorithm, two_clients(), updates, seconds=(1, 2.5))
    said = "ace: the model is still x0, since 1 of 2 clients never reported; see start, concurrency"
    assert algorithm.warnings(trace.state) == ([said] if warned else [])
