"""ACE by hand (problem of by_hand.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbench.algorithms.ace import ACE
from tests.algorithms.by_hand import D0, D1, X0, arrivals, delta_0, run, serve, two_clients


def ace(**options: Any) -> ACE:
    return ACE(**({"local_lr": 0.25, "server_lr": 1.0, "buffer_size": 1} | options))


def test_every_arrival_moves_by_the_mean_of_all_caches() -> None:
    """1 s and 2.5 s: Delta_0 of versions 0 and 1, then Delta_1 of version 0: D0/2, E/2, (E + D1)/2, E = Delta_0(x1)."""
    trace = run(ace(), two_clients(), 3, seconds=(1, 2.5))
    assert trace.consumed() == [(0, 0), (0, 1), (1, 0)]
    x1 = X0 + D0 / 2
    E = delta_0(x1)
    assert [x.tolist() for x in trace.x[1:]] == [x1.tolist(), (x1 + E / 2).tolist(), (x1 + E / 2 + (E + D1) / 2).tolist()]
    assert trace.state.h_i.dense().tolist() == [E.tolist(), D1.tolist()]


def test_a_buffer_keeps_the_newest_of_a_client() -> None:
    """Client 1 twice in a buffer of three: its second Delta counts, the first does not; server_lr 1/2."""
    algorithm = ace(buffer_size=3, server_lr=0.5)
    assert algorithm.dispatch(serve(algorithm, 4, np.zeros(2))[1].info).buffer_size == 3  # type: ignore[attr-defined]
    state, tools = serve(algorithm, clients=4, x0=np.zeros(2))
    algorithm.step(state, arrivals([1, 0, 1], delta=[[64.0, 64], [8, 0], [0, 16]]), tools)
    assert state.x.tolist() == [1, 2]
