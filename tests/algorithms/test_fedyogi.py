"""FedYogi by hand (problem of by_hand.py), its second moment, and its recursion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedbench.algorithms.fedavg import FedAvg
from fedbench.algorithms.fedyogi import FedYogi
from fedbench.errors import UsageError
from fedbench.types import Info, Rounds
from tests.algorithms.by_hand import X0, arrivals, many_clients, run, serve, two_clients


def fedyogi(**options: Any) -> FedYogi:
    return FedYogi(**({"local_lr": 0.25, "sampling": "all", "server_lr": 1.0} | options))


def test_one_update_from_eps_squared() -> None:
    """D = (-31/16, -31/16), eps = 481/32, so v starts at (481/32)^2 > D^2 and falls by a quarter of
    D^2 = (31/32)^2 4 to (480/32)^2 = 225.

    beta1 = 1/2: m = -31/32;   server_lr = 31: step 31 m / (15 + 481/32) = -961/32 / (961/32) = -1
    """
    trace = run(fedyogi(beta1=0.5, beta2=0.75, eps=481 / 32, server_lr=31.0), two_clients(), 1)
    assert trace.state.m.tolist() == [-31 / 32] * 2
    assert trace.state.v.tolist() == [225, 225]
    assert trace.x[1].tolist() == (X0 - 1).tolist()


def test_one_update_from_zero() -> None:
    """beta2 = 3/4: v = D^2 / 4 = (31/32)^2;   eps = 1/32: sqrt(v) + eps = 1."""
    trace = run(fedyogi(beta1=0.5, beta2=0.75, eps=1 / 32, init_moment="zero"), two_clients(), 1)
    assert trace.state.v.tolist() == [961 / 1024] * 2
    assert trace.x[1].tolist() == (X0 - 31 / 32).tolist()


def test_the_second_moment_goes_up_and_down_by_the_same_and_stays_at_the_square() -> None:
    """beta2 = 1/4, D = 2 is the mean of 1 and 3, so the step is 3 towards D^2 = 4: 1 + 3, 4, 28 - 3.

    beta1 = 0: m = D;   eps = 0: x = D / sqrt(v) = 1, 1, 2/5
    """
    algorithm = fedyogi(beta1=0.0, beta2=0.25, eps=0.0)
    state, tools = serve(algorithm, clients=2, x0=np.zeros(3))
    state.v = np.array([1.0, 4.0, 28.0])
    algorithm.step(state, arrivals([1, 0], delta=[[1.0] * 3, [3.0] * 3]), tools)
    assert state.v.tolist() == [4, 4, 25]
    assert state.m.tolist() == [2, 2, 2]
    assert state.x.tolist() == [1, 1, 2 / 5]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(arrays(np.float64, (2, 4), elements=st.floats(0, 1e3)), st.floats(0, 0.999))
def test_the_second_moment_moves_towards_the_square_by_a_share_of_it_at_most(dtype: Any, values: Any, beta2: float) -> None:
    """Yogi's promise: |v' - v| <= (1 - beta2) D^2, however large v is."""
    v, D = values.astype(dtype)
    algorithm = fedyogi(beta2=beta2)
    state, tools = serve(algorithm, clients=1, x0=np.zeros(4, dtype))
    state.v = v.copy()
    algorithm.step(state, arrivals([0], delta=-D[None]), tools)
    moved, square = np.asarray(state.v, np.float64) - v, np.asarray(D, np.float64) ** 2
    rounding = 4 * np.finfo(dtype).eps * (v + square) + 1e-40
    assert (abs(moved) <= (1 - beta2) * square + rounding).all()
    assert ((moved * (square - v) >= 0) | (abs(square - v) <= rounding)).all()
    assert (state.v >= 0).all()


@pytest.mark.parametrize("init_moment", ["zero", "eps2"])
def test_recursion(init_moment: Any) -> None:
    problem, x = many_clients(4, 3, seed=15), np.array([2.0, -1.0, 0.5])
    options = {"beta2": 0.75, "eps": 0.125}
    trace = run(fedyogi(init_moment=init_moment, server_lr=0.25, **options), problem, 25, x0=x)
    m, v = np.zeros(3), np.full(3, 0.125**2 if init_moment == "eps2" else 0.0)
    signs = set()
    for got in trace.x[1:]:
        D = run(FedAvg(local_lr=0.25, sampling="all"), problem, 1, x0=x).x[1] - x
        signs |= set(np.sign(v - D**2))
        m, v = 0.9 * m + 0.1 * D, v - 0.25 * D**2 * np.sign(v - D**2)
        x = x + 0.25 * m / (np.sqrt(v) + 0.125)
        assert got == pytest.approx(x, rel=1e-11)
    assert signs >= {-1.0, 1.0}


def test_the_defaults_are_those_of_the_box() -> None:
    """The second moment starts at eps^2, and nothing corrects a bias."""
    algorithm = FedYogi()
    state, _ = serve(algorithm, clients=1, x0=np.ones(2, np.float32))
    assert state.v.tolist() == [np.float32(1e-6)] * 2
    assert state.v.dtype == np.float32
    assert (algorithm.beta1, algorithm.beta2, algorithm.eps, algorithm.server_lr) == (0.9, 0.99, 1e-3, 0.01)
    assert "bias_correction" not in algorithm.options()


def test_rounds_and_memory() -> None:
    info = Info(30, np.ones(30))
    assert FedYogi(cohort_size=3).dispatch(info) == Rounds(select="without_replacement", cohort_size=3)
    assert fedyogi().dispatch(info).select == "all"
    assert FedYogi().server_memory(info) == (3, 0, 0, 0)


def test_the_initial_model_is_not_written() -> None:
    x0 = X0.copy()
    run(fedyogi(), two_clients(), 2, x0=x0)
    assert np.array_equal(x0, X0)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"beta1": 1}, "fedyogi: beta1 must be a number >= 0 and < 1, got 1"),
        ({"beta2": 1}, "fedyogi: beta2 must be a number >= 0 and < 1, got 1"),
        ({"eps": -1}, "fedyogi: eps must be .*, got -1"),
        ({"server_lr": 0}, "fedyogi: server_lr must be .*, got 0"),
        ({"init_moment": "one"}, "fedyogi: init_moment must be .*, got 'one'"),
    ],
)
def test_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fedyogi(**option)
