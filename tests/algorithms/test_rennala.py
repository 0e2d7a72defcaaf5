"""Rennala SGD by hand (problem of by_hand.py): whose results at the newest model are averaged."""

from __future__ import annotations

import numpy as np

from fedbench.algorithms.rennala import Rennala
from fedbench.types import Info, Stream
from tests.algorithms.by_hand import D0, D1, X0, arrivals, delta_0, run, serve, two_clients


def test_one_client_may_give_several_and_stale_results_are_ignored() -> None:
    """1 s and 2.5 s, S = 2: client 0 alone makes the updates of 2 and 4 s. Client 1 is stale at 2.5
    s, goes on from version 1, and at 5 s it is stale again."""
    trace = run(Rennala(local_lr=0.25, buffer_size=2), two_clients(), 3, seconds=(1, 2.5))
    x1 = X0 + D0
    assert trace.consumed() == [(0, 0), (0, 0), (0, 1), (0, 1), (0, 2), (0, 2)]
    assert trace.seconds == [2, 4, 6]
    assert trace.x[1].tolist() == x1.tolist()  # the mean of two equal results
    assert trace.x[2].tolist() == (x1 + delta_0(x1)).tolist()


def test_results_of_both_clients() -> None:
    """S = 3: at 1, 2 and 2.5 s; the mean is over results, so client 0 counts twice."""
    trace = run(Rennala(local_lr=0.25, server_lr=0.5, buffer_size=3), two_clients(), 1, seconds=(1, 2.5))
    assert trace.seconds == [2.5]
    assert np.allclose(trace.x[1], X0 + (2 * D0 + D1) / 6)


def test_stops_let_a_slow_client_start_with_the_newest_model() -> None:
    """S = 3, 1 s and 1.75 s: the update of 2 s comes while client 1 computes at version 0. Ignored,
    that result is in its way."""
    ignoring, stopping = (
        run(Rennala(local_lr=0.25, buffer_size=3, stop_stale=stops), two_clients(), 2, seconds=(1, 1.75))
        for stops in (False, True)
    )
    assert ignoring.seconds == [2, 5]  # 3, 4 and 5 s, all of client 0
    assert stopping.seconds == [2, 4]  # 3 s, 3.75 s of client 1, and 4 s


def test_dispatch() -> None:
    assert Rennala().dispatch(Info(7, np.ones(7))) == Stream(concurrency=7, buffer_size=10, restart="self", max_staleness=0)


def test_the_mean_is_over_the_results() -> None:
    algorithm = Rennala(buffer_size=4)
    state, tools = serve(algorithm, clients=9, x0=np.zeros(2))
    algorithm.step(state, arrivals([3, 1, 3, 3], delta=[[8.0, 0], [0, -4], [4, 4], [0, 0]]), tools)
    assert state.x.tolist() == [3, 0]
