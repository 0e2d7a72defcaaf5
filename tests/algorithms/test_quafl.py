"""QuAFL by hand (problem of by_hand.py), its switches, and what the averaging keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.quafl import QuAFL
from fedbench.types import Poll
from tests.algorithms.by_hand import D0, D1, X0, arrivals, delta_0, run, serve, two_clients

POLLS = Poll(period_seconds=2.0, max_steps=2, selections=((0,), (1,), (0,)))


def quafl(**options: Any) -> QuAFL:
    return QuAFL(**({"local_lr": 0.125, "cohort_size": 1} | options))


@pytest.mark.parametrize("options", [{}, {"local_lr": 0.25, "lr_compensation": False}])
def test_clients_go_on_from_their_own_models(options: dict[str, Any]) -> None:
    """s = 1, so the rate 1/8 is doubled. Polls at 2, 4, 6 s take two steps of client 0, 1, 0.

    x1 = X_0 = x0 + D0/2;   x2 = X_1 = (x1 + x0 + D1)/2;   client 0 starts again from its X_0, not from x2: x3 = (x2 + Y_0)/2
    """
    trace = run(quafl(**options), two_clients(), 3, dispatch=POLLS)
    assert trace.seconds == [2.0, 4.0, 6.0]
    x1 = X0 + D0 / 2
    x2 = (x1 + X0 + D1) / 2
    x3 = (x2 + x1 + delta_0(x1)) / 2
    assert [x.tolist() for x in trace.x[1:]] == [x1.tolist(), x2.tolist(), x3.tolist()]
    assert trace.state is not None
    assert trace.state.memory.dense().tolist() == [x3.tolist(), x2.tolist()]


def test_both_averagings_use_the_server_model_before_them() -> None:
    """s = 2, no compensation, one poll: x1 = (x0 + Y_0 + Y_1)/3, X_i = (x0 + 2 Y_i)/3; switched off: mean Y, and x0."""
    poll = Poll(period_seconds=2.0, max_steps=2, selections=((0, 1),))
    Y = np.array([X0 + D0, X0 + D1])
    options = {"local_lr": 0.25, "cohort_size": 2, "lr_compensation": False}
    on = run(quafl(**options), two_clients(), 1, dispatch=poll)
    assert on.x[1] == pytest.approx((X0 + Y.sum(axis=0)) / 3, rel=1e-15)
    assert on.state.memory.dense() == pytest.approx((X0 + 2 * Y) / 3, rel=1e-15)
    off = run(quafl(**options, server_averaging=False, client_averaging=False), two_clients(), 1, dispatch=poll)
    assert off.x[1].tolist() == Y.mean(axis=0).tolist()
    assert off.state.memory.dense().tolist() == [X0.tolist(), X0.tolist()]


@pytest.mark.parametrize(("period", "y"), [(0.5, X0), (1.0, [5 / 2, 2]), (1.5, [5 / 2, 2]), (9.0, X0 + D0)])
def test_a_poll_takes_the_steps_done_by_then(period: float, y: Any) -> None:
    poll = Poll(period_seconds=period, max_steps=2, selections=((0,),))
    trace = run(quafl(), two_clients(), 1, dispatch=poll)
    assert trace.x[1].tolist() == ((X0 + np.array(y)) / 2).tolist()


def test_the_averaging_keeps_the_sum_of_all_models() -> None:
    """x + sum X_i over server and all clients is the same before and after, the polled ones' Y_i
    for their X_i."""
    algorithm, models = quafl(cohort_size=2), np.random.default_rng(1).standard_normal((6, 3))
    state, tools = serve(algorithm, clients=5, x0=models[5])
    for i in range(5):
        state.memory[i] = models[i]
    for clients in ([0, 1], [4, 2], [1, 3]):
        algorithm.step(state, arrivals(clients, y=[state.memory[i] for i in clients]), tools)
        assert state.x + state.memory.dense().sum(axis=0) == pytest.approx(models.sum(axis=0), rel=1e-14)


def test_without_steps_all_models_meet_at_their_mean() -> None:
    algorithm, models = quafl(cohort_size=4), np.random.default_rng(2).standard_normal((5, 2))
    state, tools = serve(algorithm, clients=4, x0=models[4])
    for i in range(4):
        state.memory[i] = models[i]
    for _ in range(200):
        algorithm.step(state, arrivals(range(4), y=state.memory.dense()), tools)
    assert state.memory.dense() == pytest.approx(np.tile(models.mean(axis=0), (4, 1)), rel=1e-12)
