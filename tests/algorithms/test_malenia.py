"""Malenia SGD by hand (problem of by_hand.py): when the buffer closes, and how its results are
weighed."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.algorithms.malenia import Malenia
from fedbench.errors import UsageError
from fedbench.types import Info, Stream
from tests.algorithms.by_hand import D0, D1, X0, arrivals, run, serve, two_clients


def test_every_client_counts_alike_however_many_results_it_gives() -> None:
    """1 s and 3 s, S = 3: shares of 3 and 1 have the harmonic mean 3/2 = S/N, so the update of 3 s
    is of (D0 + D1) / 2."""
    trace = run(Malenia(local_lr=0.25, server_lr=0.5, buffer_size=3), two_clients(), 2, seconds=(1, 3))
    assert trace.seconds == [3, 6]
    assert trace.consumed()[:4] == [(0, 0), (0, 0), (0, 0), (1, 0)]
    assert trace.x[1] == pytest.approx(X0 + (D0 + D1) / 4, abs=1e-15)


def test_by_default_everybody_gives_one() -> None:
    """1 s and 2.5 s: at 2.5 s client 1 is there too. Client 0 has given two results, and its third
    is stale."""
    trace = run(Malenia(local_lr=0.25), two_clients(), 2, seconds=(1, 2.5))
    assert trace.seconds[0] == 2.5
    assert sorted({client for client, _ in trace.consumed()}) == [0, 1]
    assert Malenia().dispatch(Info(7, np.ones(7))) == Stream(
        concurrency=7, buffer_size=7, close="harmonic", restart="self", max_staleness=0
    )


def test_the_mean_of_means() -> None:
    """Different results of one client at one version, and a client that gives one of four."""
    algorithm = Malenia()
    state, tools = serve(algorithm, clients=2, x0=np.zeros(2))
    batch = arrivals([0, 0, 1, 0], delta=[[3.0, 0], [6, 3], [2, 8], [0, 0]])
    algorithm.step(state, batch, tools)
    assert state.x == pytest.approx([(3 + 2) / 2, (1 + 8) / 2])
    assert algorithm.entry_weights(batch, tools.info) == pytest.approx([1 / 6, 1 / 6, 1 / 2, 1 / 6])


def test_a_size_below_one_is_refused() -> None:
    with pytest.raises(UsageError, match=r"malenia: buffer_size must be a number >= 1 or none, got 0\.5"):
        Malenia(buffer_size=0.5)
