"""AREA by hand (problem of by_hand.py): the model is the mean of what clients sent last."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.algorithms.area import AREA
from fedbench.errors import UsageError
from fedbench.types import Info, Stream
from tests.algorithms.by_hand import D0, D1, X0, delta_0, many_clients, run, two_clients

SPEEDS = (1.0, 3.25, 0.5, 2.0, 1.75)


def test_residuals_against_what_a_client_sent_last() -> None:
    """1 s and 2.5 s: client 0 of versions 0 and 1, then client 1 of version 0."""
    trace = run(AREA(local_lr=0.25), two_clients(), 3, seconds=(1, 2.5))
    assert trace.consumed() == [(0, 0), (0, 1), (1, 0)]
    x1 = X0 + D0 / 2
    y_0, y_1 = x1 + delta_0(x1), X0 + D1
    assert [x.tolist() for x in trace.x[1:]] == [x1.tolist(), ((y_0 + X0) / 2).tolist(), ((y_0 + y_1) / 2).tolist()]
    assert trace.state.memory.dense().tolist() == [y_0.tolist(), y_1.tolist()]


def test_two_arrivals_of_a_client_in_a_buffer_telescope() -> None:
    """Three arrivals make the update: client 0 twice with the same end, which counts once."""
    trace = run(AREA(local_lr=0.25, buffer_size=3), two_clients(), 1, seconds=(1, 2.5))
    assert [client for client, _ in trace.consumed()] == [0, 0, 1]
    assert trace.x[1].tolist() == (X0 + (D0 + D1) / 2).tolist()


@pytest.mark.parametrize("buffer_size", [1, 2, 4])
@pytest.mark.parametrize("updates", [1, 2, 7, 40])
def test_the_model_is_the_mean_of_the_end_models(buffer_size: int, updates: int) -> None:
    trace = run(AREA(buffer_size=buffer_size), many_clients(5, 3, seed=4), updates, seconds=SPEEDS, x0=np.ones(3))
    assert trace.x[-1] == pytest.approx(trace.state.memory.dense().mean(axis=0), abs=1e-14)


def test_everybody_works_all_the_time() -> None:
    assert AREA().dispatch(Info(7, np.ones(7))) == Stream(concurrency=7, buffer_size=1, restart="self")
    assert AREA(buffer_size=3).dispatch(Info(7, np.ones(7))).buffer_size == 3


def test_there_is_no_server_rate() -> None:
    with pytest.raises(UsageError, match="algorithm area: unknown option 'server_lr'"):
        AREA.make({"server_lr": 0.5})
