"""FedAdam and FedAMSGrad by hand (problem of by_hand.py), against the recursion, and their
limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedadam import FedAdam
from fedbench.algorithms.fedavg import FedAvg
from fedbench.errors import UsageError
from tests.algorithms.by_hand import X0, many_clients, run, two_clients


def fedadam(**options: Any) -> FedAdam:
    return FedAdam(**({"local_lr": 0.25, "sampling": "all", "server_lr": 1.0} | options))


def test_one_update() -> None:
    """D = (-31/16, -31/16); beta1 = 1/2: m = -31/32; beta2 = 3/4: v = 1/4 (31/16)^2 = (31/32)^2; eps = 1/32: sqrt(v) + eps = 1."""
    trace = run(fedadam(beta1=0.5, beta2=0.75, eps=1 / 32), two_clients(), 1)
    assert trace.state.m.tolist() == [-31 / 32, -31 / 32]
    assert trace.state.v.tolist() == [961 / 1024, 961 / 1024]
    assert trace.x[1].tolist() == (X0 - 31 / 32).tolist()
    assert "vhat" not in trace.state


def test_start_of_the_second_moment() -> None:
    """init_moment eps2, eps = 2, beta2 = 3/4: v = 3/4 4 + 961/1024; vhat starts at 4 and stays, so sqrt(vhat) + eps = 4."""
    trace = run(fedadam(beta1=0.5, beta2=0.75, eps=2.0, init_moment="eps2", amsgrad=True), two_clients(), 1)
    assert trace.state.v.tolist() == [3 + 961 / 1024] * 2
    assert trace.state.vhat.tolist() == [4, 4]
    assert trace.x[1].tolist() == (X0 - 31 / 128).tolist()


def test_bias_correction_moves_every_coordinate_by_the_rate_at_first() -> None:
    trace = run(fedadam(bias_correction=True, eps=0.0, server_lr=0.5), two_clients(), 1)
    assert trace.x[1] == pytest.approx(X0 - 0.5, rel=1e-15)


@pytest.mark.parametrize("bias_correction", [False, True])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_recursion(amsgrad: bool, bias_correction: bool) -> None:
    problem, x = many_clients(4, 3, seed=15), np.array([2.0, -1.0, 0.5])
    trace = run(fedadam(amsgrad=amsgrad, bias_correction=bias_correction, server_lr=0.1), problem, 15, x0=x)
    m, v, vhat = np.zeros((3, 3))
    fell = False
    for t, got in enumerate(trace.x[1:], 1):
        D = run(FedAvg(local_lr=0.25, sampling="all"), problem, 1, x0=x).x[1] - x
        m, v = 0.9 * m + 0.1 * D, 0.99 * v + 0.01 * D**2
        vhat = np.maximum(vhat, v)
        fell |= bool((v < vhat).any())
        a, b = (1 - 0.9**t, np.sqrt(1 - 0.99**t)) if bias_correction else (1, 1)
        x = x + 0.1 * (m / a) / (np.sqrt(vhat if amsgrad else v) / b + 1e-3)
        assert got == pytest.approx(x, rel=1e-12)
    assert fell


def test_large_eps_is_fedavg_with_server_momentum() -> None:
    problem, x, m = many_clients(4, 3, seed=16), np.array([2.0, -1.0, 0.5]), np.zeros(3)
    for got in run(fedadam(eps=1e9, server_lr=5e8, beta1=0.5), problem, 10, x0=x).x[1:]:
        m = 0.5 * m + 0.5 * (run(FedAvg(local_lr=0.25, sampling="all"), problem, 1, x0=x).x[1] - x)
        x = x + 0.5 * m
        assert got == pytest.approx(x, rel=1e-7)


def test_the_initial_model_is_not_written() -> None:
    x0 = X0.copy()
    run(fedadam(), two_clients(), 2, x0=x0)
    assert np.array_equal(x0, X0)


def test_beta_one_is_refused() -> None:
    with pytest.raises(UsageError, match="fedadam: beta1 must be a number >= 0 and < 1, got 1"):
        fedadam(beta1=1)
