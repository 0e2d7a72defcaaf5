"""FADAS by hand (problem of by_hand.py), its rates, options and invariances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fadas import FADAS
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.errors import UsageError
from tests.algorithms.by_hand import D0, X0, arrivals, delta_0, many_clients, run, serve, two_clients


def fadas(**options: Any) -> FADAS:
    return FADAS(**({"local_lr": 0.25, "server_lr": 1.0, "buffer_size": 2, "beta1": 0.5, "beta2": 0.75, "eps": 1 / 32} | options))


def test_one_update_of_fresh_arrivals() -> None:
    """D = (Delta_0 + Delta_1) / 2 = (-31/16, -31/16);   m = D/2,   v = vhat = D^2/4, so sqrt(v) = 31/32.

    uncorrected: x1 = x0 + m / (31/32 + 1/32) = x0 - 31/32
    corrected:   x1 = x0 + (m / (1/2)) / ((31/32) / (1/2) + eps) = x0 - (31/16) / (31/16 + 1/16), eps = 1/16
    """
    plain = run(fadas(bias_correction=False), two_clients(), 1)
    assert plain.x[1].tolist() == [3 - 31 / 32, 4 - 31 / 32]
    assert plain.state.m.tolist() == [-31 / 32] * 2
    assert plain.state.v.tolist() == plain.state.vhat.tolist() == [(31 / 32) ** 2] * 2
    corrected = run(fadas(eps=1 / 16), two_clients(), 1)
    assert corrected.x[1].tolist() == [3 - 31 / 32, 4 - 31 / 32]


@pytest.mark.parametrize(("options", "tmax"), [({}, 0), ({"delay_adaptive": True}, 1), ({"delay_adaptive": True}, 4)])
def test_the_default_rate_moves_every_model_as_far(options: dict[str, Any], tmax: int) -> None:
    """The default times sqrt(d) is that of the authors' ResNet-18; a large staleness shrinks it."""
    algorithm, d = FADAS(**options), 7850
    rate = algorithm.rate(tmax, d)
    assert rate * np.sqrt(d) * max(1, tmax) == pytest.approx(1e-4 * np.sqrt(11_173_962), rel=1e-12)
    assert algorithm.rate(tmax, 11_173_962) * max(1, tmax) == pytest.approx(1e-4, rel=1e-12)


def test_the_default_rate_is_used() -> None:
    none, given = (run(FADAS(buffer_size=2, server_lr=rate), two_clients(), 2) for rate in (None, FADAS().rate(0, 2)))
    assert none.x[2].tolist() == given.x[2].tolist() != run(FADAS(buffer_size=2, server_lr=1e-4), two_clients(), 2).x[2].tolist()


@pytest.mark.parametrize(
    ("options", "tmax", "rate"),
    [
        ({}, 9, 0.5),
        ({"delay_adaptive": True}, 0, 0.5),
        ({"delay_adaptive": True}, 2, 0.5),
        ({"delay_adaptive": True}, 4, 0.125),
        ({"delay_adaptive": True, "shrink": "paper_min"}, 2, 0.5),
        ({"delay_adaptive": True, "shrink": "paper_min"}, 4, 0.25),
        ({"delay_adaptive": True, "shrink": "paper_min", "server_lr": 0.125}, 4, 0.125),
        ({"delay_adaptive": True, "delay_threshold": 0}, 1, 0.5),
        ({"delay_adaptive": True, "delay_threshold": 0}, 2, 0.25),
    ],
)
def test_the_largest_staleness_sets_the_rate(options: dict[str, Any], tmax: int, rate: float) -> None:
    """First update, corrected, eps = 2^-40: every coordinate moves by rate * sign(D), whatever the
    smaller staleness."""
    algorithm = fadas(**({"server_lr": 0.5, "delay_threshold": 2, "eps": 2.0**-40} | options))
    assert algorithm.rate(tmax, 2) == rate
    state, tools = serve(algorithm, clients=2, x0=np.zeros(2))
    batch = arrivals([0, 1, 0], version=9, base=[9, 9 - tmax, 9], delta=[[1.0, -2], [3, -2], [2, -2]])
    algorithm.step(state, batch, tools)
    t = 10  # the correction of the tenth update on moments of a first one
    size = (0.5 / (1 - 0.5**t)) / (0.5 / np.sqrt(1 - 0.75**t))
    assert state.x == pytest.approx(np.array([rate, -rate]) * size, rel=1e-10)


def test_the_first_step_is_a_sign() -> None:
    """Bias corrected, eps = 0: x moves by exactly server_lr * sign(D), and c * Delta moves it as
    far as Delta."""
    for scale in (1.0, 1024.0):
        algorithm = fadas(eps=0, server_lr=0.25)
        state, tools = serve(algorithm, clients=2, x0=np.zeros(2))
        algorithm.step(state, arrivals([0, 1], delta=scale * np.array([[1.0, -2], [3, -2]])), tools)
        assert state.x.tolist() == [0.25, -0.25]


@pytest.mark.parametrize("amsgrad", [True, False])
def test_the_maximum_of_v_never_falls(amsgrad: bool) -> None:
    """A large D, then small ones: v falls, vhat stays; the step divides by vhat, or by v with
    amsgrad False."""
    algorithm = fadas(amsgrad=amsgrad, bias_correction=False, beta1=0.0)
    state, tools = serve(algorithm, clients=1, x0=np.zeros(1))
    steps, roots = [], []
    for version, delta in enumerate((31 / 16, 1 / 16, 1 / 16)):
        before = float(state.x[0])
        algorithm.step(state, arrivals([0], version=version, delta=[[delta]]), tools)
        steps.append(float(state.x[0]) - before)
        roots.append(float(np.sqrt(state.vhat[0] if amsgrad else state.v[0])))
        assert state.vhat[0] == (31 / 32) ** 2
    assert state.v[0] < 0.75**2 * (31 / 32) ** 2 + 1 / 256
    assert steps == pytest.approx(
        [d / (root + 1 / 32) for d, root in zip((31 / 16, 1 / 16, 1 / 16), roots, strict=True)], rel=1e-14
    )


def test_progress_from_the_current_model() -> None:
    """repo_delta_base adds x^base - x: client 0 arrives twice from version 0 (M = 1), the second
    time with D0 - (x1 - x0)."""
    big = 2.0**60
    options = {"beta1": 0.0, "eps": big, "server_lr": big / 2, "bias_correction": False, "buffer_size": 1}
    trace = run(fadas(**options, repo_delta_base=True), two_clients(), 3, seconds=(1, 2.5))
    assert trace.consumed() == [(0, 0), (0, 1), (1, 0)]
    x1 = X0 + D0 / 2
    x2 = x1 + delta_0(x1) / 2
    assert trace.x[2].tolist() == x2.tolist()  # from the current version nothing is added
    assert trace.x[3].tolist() == (x2 + (np.array([-3, -7 / 8]) + X0 - x2) / 2).tolist()


def test_a_huge_eps_is_fedbuff() -> None:
    """eps -> infinity, server_lr = c eps, beta1 = 0: x + c D, stale arrivals included."""
    problem, big = many_clients(5, 2, seed=11), 2.0**80
    options = {"updates": 9, "seconds": (1, 2, 3, 4, 5)}
    adaptive = run(fadas(beta1=0.0, eps=big, server_lr=0.75 * big, bias_correction=False), problem, **options)
    buffered = run(FedBuff(local_lr=0.25, server_lr=0.75, buffer_size=2), problem, **options)
    assert adaptive.x[-1] == pytest.approx(buffered.x[-1], rel=1e-13)


def test_refusals() -> None:
    with pytest.raises(UsageError, match="fadas: shrink must be one of 'code', 'paper_min', got 'afl'"):
        fadas(shrink="afl")
    with pytest.raises(UsageError, match="fadas: beta2 must be a number >= 0"):
        fadas(beta2=1.0)
