"""FedAC by hand (problem of by_hand.py), its weights, its memory, and FedBuff as a limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedac import FedAC, agreement
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.kernels import direction_cosine
from tests.algorithms.by_hand import D0, D1, X0, many_clients, run, two_clients


def fedac(**options: Any) -> FedAC:
    return FedAC(**({"local_lr": 0.25, "server_lr": 1.0, "buffer_size": 2, "beta1": 0.5, "beta2": 0.75, "eps": 1 / 32} | options))


def test_one_update_of_fresh_arrivals() -> None:
    """tau = 0, so r = 1 and D = (Delta_0 + Delta_1) / 2 = (-31/16, -31/16).

    m = D/2 = -31/32,   v = D^2/4 = (31/32)^2,   mh = m/2 + D/2 = -93/64,   sqrt(v) + eps = 31/32 + 1/32 = 1
    x1 = (3 - 93/64, 4 - 93/64);   C = mean of the mean gradients (7/4, 6), (6, 7/4) = (31/8, 31/8)
    """
    trace = run(fedac(), two_clients(), 1)
    assert trace.x[1].tolist() == [3 - 93 / 64, 4 - 93 / 64]
    assert trace.state.m.tolist() == [-31 / 32] * 2
    assert trace.state.v.tolist() == [(31 / 32) ** 2] * 2
    assert trace.state.C.tolist() == [31 / 8] * 2
    assert trace.state.memory.dense().tolist() == [[7 / 4, 6], [6, 7 / 4]]


def test_a_second_job_is_corrected_and_a_stale_one_weighted() -> None:
    """1 s and 2.5 s: client 0 arrives at 1 and 2 s from version 0, client 1 at 2.5 s from version
    0, client 0 at 3 s from version 1.

    Job (0, 1) starts from x0 again with correction C - C_0 = -(7/4, 6), C_0 the first job's mean
    gradient, not yet committed:
        step (2 - 7/4, 8 - 6) -> (47/16, 7/2);  g = (31/16, 7), step (3/16, 1) -> (185/64, 13/4);  Delta = (-7/64, -3/4)
        its mean gradient (63/32, 15/2); dC = (63/32, 15/2) - (7/4, 6) = (7/32, 3/2)
    Update 1, both fresh, r = 1, w = 1/2 with eps huge and beta1 = 0 (server_lr = eps): x1 = x0 + D, D = ((-7/8 - 7/64)/2, -15/8).
        C = 1/2 (7/4, 6) + 1/2 (7/32, 3/2) = (63/64, 15/4)
    Update 2: client 1 has tau = 1, r_1 = max(cos(x1 - x0, Delta_1), 0.1), x1 - x0 = D; client 0 is fresh, r_0 = 1.
    """
    big = 2.0**60
    trace = run(fedac(beta1=0.0, eps=big, server_lr=big), two_clients(), 2, seconds=(1, 2.5))
    assert trace.consumed() == [(0, 0), (0, 0), (1, 0), (0, 1)]
    D = np.array([-63 / 128, -15 / 8])
    assert trace.x[1].tolist() == (X0 + D).tolist()

    # update 2: client 1 has Delta_1 and mean gradient (6, 7/4) uncorrected (C^0 - C_1 = 0)
    cos = float(D[0] * D1[0] + D[1] * D1[1]) / float(np.hypot(*D) * np.hypot(*D1))
    assert 0.1 < cos < 0.9
    correction = np.array([63 / 64, 15 / 4]) - np.array([63 / 32, 15 / 2])
    y, total = X0 + D, np.zeros(2)
    for _ in range(2):
        g = np.array([y[0] - 1, 2 * y[1]])
        y, total = y - 0.25 * (g + correction), total + g
    w = np.array([cos, 1.0]) / (cos + 1)
    assert trace.x[2] == pytest.approx(X0 + D + w[0] * D1 + w[1] * (y - X0 - D), rel=1e-14)
    dC = np.array([[6, 7 / 4], total / 2 - [63 / 32, 15 / 2]])
    assert np.array(trace.state.C) == pytest.approx(np.array([63 / 64, 15 / 4]) + w @ dC, rel=1e-14)
    assert trace.state.memory.dense() == pytest.approx(np.array([total / 2, [6, 7 / 4]]), rel=1e-14)


def test_agreement() -> None:
    base = np.array([1.0, 1.0])
    x = base + np.array([3, 4])
    assert direction_cosine(x, base, np.array([4.0, 3.0])) == pytest.approx(24 / 25, rel=1e-15)
    assert agreement(x, base, np.array([4.0, 3.0]), 1) == pytest.approx(24 / 25, rel=1e-15)
    assert agreement(x, base, np.array([4.0, 3.0]), 0) == 1  # fresh
    assert agreement(base, base, np.array([4.0, 3.0]), 5) == 1  # the server has not moved
    assert agreement(x, base, np.array([-3.0, -4.0]), 1) == 0.1
    assert agreement(x, base, np.array([-4.0, 3.0]), 1) == 0.1
    assert agreement(x, base, np.zeros(2), 1) == 0.1
    assert direction_cosine(x, base, np.array([3e-13, 4e-13])) == 0  # rounding noise has no direction
    assert direction_cosine(x, base, np.array([3e-9, 4e-9])) == pytest.approx(1)


def test_a_huge_eps_is_fedbuff() -> None:
    """eps -> infinity, server_lr = c eps, beta1 = 0, fresh arrivals: x + c D. First update, where C = C_i = 0."""
    problem, x0 = many_clients(5, 3, seed=11), np.ones(3)
    big = 2.0**80
    adaptive = run(fedac(beta1=0.0, eps=big, server_lr=0.75 * big, buffer_size=5), problem, 1, x0=x0)
    buffered = run(FedBuff(local_lr=0.25, server_lr=0.75, buffer_size=5), problem, 1, x0=x0)
    assert adaptive.x[1] == pytest.approx(buffered.x[1], rel=1e-14)
    assert np.abs(adaptive.x[1] - x0).max() > 0.1


def test_scaffold_scale_keeps_c_the_mean_of_the_c_i() -> None:
    """All clients, equal speeds, f = M / N = 1; and with M = 1 of N = 2 the first step is half as long."""
    problem = many_clients(4, 2, seed=12)
    state = run(fedac(buffer_size=4, scaffold_scale=True, server_lr=0.01), problem, 15).state
    assert np.array(state.C) == pytest.approx(state.memory.dense().mean(axis=0), rel=1e-12)
    half = run(fedac(buffer_size=1, scaffold_scale=True), two_clients(), 1, seconds=(1, 2)).state
    assert half.C.tolist() == (-D0).tolist()
    assert run(fedac(buffer_size=1), two_clients(), 1, seconds=(1, 2)).state.C.tolist() == (-2 * D0).tolist()


def test_the_default_rate_moves_every_model_as_far() -> None:
    """The default times sqrt(d) is that of ResNet-18, and it is what a run uses."""
    assert [FedAC().rate(d) * np.sqrt(d) for d in (2, 7850)] == pytest.approx([1e-4 * np.sqrt(11_173_962)] * 2, rel=1e-12)
    none, given, other = (
        run(FedAC(buffer_size=2, server_lr=rate), two_clients(), 2).x[2] for rate in (None, FedAC().rate(2), 1e-4)
    )
    assert none.tolist() == given.tolist() != other.tolist()
