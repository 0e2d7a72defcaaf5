"""FedAdagrad by hand (problem of by_hand.py), its second moment, and its recursion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedadagrad import FedAdagrad
from fedbench.algorithms.fedavg import FedAvg
from fedbench.errors import UsageError
from fedbench.types import Info, Rounds
from tests.algorithms.by_hand import X0, arrivals, many_clients, run, serve, two_clients


def fedadagrad(**options: Any) -> FedAdagrad:
    return FedAdagrad(**({"local_lr": 0.25, "sampling": "all", "server_lr": 1.0} | options))


def test_one_update_from_eps_squared() -> None:
    """D = (-31/16, -31/16), eps = 480/16: v = 30^2 + D^2 = (481/16)^2, sqrt(v) + eps = 961/16.

    beta1 = 0, the default: m = D;   server_lr = 31: step -961/16 / (961/16) = -1
    """
    trace = run(fedadagrad(eps=30.0, server_lr=31.0), two_clients(), 1)
    assert trace.state.m.tolist() == [-31 / 16] * 2
    assert trace.state.v.tolist() == [(481 / 16) ** 2] * 2
    assert trace.x[1].tolist() == (X0 - 1).tolist()


def test_the_second_moment_adds_up_and_forgets_nothing() -> None:
    """D = 3, 4 and 0 are means of two: v = 9, 25, 25.

    beta1 = 1/2: m = 3/2, 11/4, 11/8;   eps = 0: steps m / 3, m / 5, m / 5
    """
    algorithm = fedadagrad(beta1=0.5, eps=0.0)
    state, tools = serve(algorithm, clients=2, x0=np.zeros(1))
    x = 0.0
    for version, (D, v, m) in enumerate([(3.0, 9, 3 / 2), (4.0, 25, 11 / 4), (0.0, 25, 11 / 8)]):
        algorithm.step(state, arrivals([0, 1], version=version, delta=[[D - 1], [D + 1]]), tools)
        x += m / np.sqrt(v)
        assert (state.v.tolist(), state.m.tolist(), state.x.tolist()) == ([v], [m], [x])


@pytest.mark.parametrize("init_moment", ["zero", "eps2"])
@pytest.mark.parametrize("beta1", [0.0, 0.9])
def test_recursion(beta1: float, init_moment: Any) -> None:
    problem, x = many_clients(4, 3, seed=15), np.array([2.0, -1.0, 0.5])
    trace = run(fedadagrad(beta1=beta1, eps=0.125, init_moment=init_moment, server_lr=0.5), problem, 15, x0=x)
    m, v = np.zeros(3), np.full(3, 0.125**2 if init_moment == "eps2" else 0.0)
    for got in trace.x[1:]:
        D = run(FedAvg(local_lr=0.25, sampling="all"), problem, 1, x0=x).x[1] - x
        m, v = beta1 * m + (1 - beta1) * D, v + D**2
        x = x + 0.5 * m / (np.sqrt(v) + 0.125)
        assert got == pytest.approx(x, rel=1e-11)


def test_the_defaults_are_those_of_the_paper() -> None:
    """The second moment starts at eps^2, the first one has no memory, and nothing corrects a
    bias."""
    algorithm = FedAdagrad()
    state, _ = serve(algorithm, clients=1, x0=np.ones(2, np.float32))
    assert state.v.tolist() == [np.float32(1e-6)] * 2
    assert state.v.dtype == np.float32
    assert (algorithm.beta1, algorithm.eps, algorithm.server_lr) == (0.0, 1e-3, 0.01)
    assert not {"beta2", "bias_correction"} & set(algorithm.options())


def test_rounds_and_memory() -> None:
    info = Info(30, np.ones(30))
    assert FedAdagrad(cohort_size=3).dispatch(info) == Rounds(select="without_replacement", cohort_size=3)
    assert fedadagrad().dispatch(info).select == "all"
    assert FedAdagrad().server_memory(info) == (3, 0, 0, 0)


def test_the_initial_model_is_not_written() -> None:
    x0 = X0.copy()
    run(fedadagrad(), two_clients(), 2, x0=x0)
    assert np.array_equal(x0, X0)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"beta1": 1}, "fedadagrad: beta1 must be a number >= 0 and < 1, got 1"),
        ({"eps": -1}, "fedadagrad: eps must be .*, got -1"),
        ({"server_lr": 0}, "fedadagrad: server_lr must be .*, got 0"),
        ({"init_moment": "one"}, "fedadagrad: init_moment must be .*, got 'one'"),
    ],
)
def test_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fedadagrad(**option)
