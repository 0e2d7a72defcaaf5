"""FedaGrac by hand (problem of by_hand.py), its variants, its bias, and the upload that a server
could save.

K = (2, 4), p = (1/4, 3/4), lambda = 1. Kbar = 7/2: client 0 is slow, client 1 fast. nu_0 = (2, 8), nu_1 = (8, 2), nu = (13/2, 7/2);
corrections nu - nu_0 = (9/2, -9/2), nu - nu_1 = (-3/2, 3/2). Both first step by nu to (11/8, 25/8), then
    client 0: g = (3/8, 25/4)        -> (5/32, 43/16)
    client 1: g = (19/4, 9/8)        -> (9/16, 79/32);   g = (25/8, 15/32) -> (5/32, 253/128);   g = (37/16, -3/128) -> (-3/64, 823/512)
gbar_0 = (19/16, 57/8), gbar_1 = (291/64, 457/512); gfirst_i is nu_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedagrac import FedaGrac
from fedbench.errors import UsageError
from fedbench.types import Batch, Info, Rounds, State
from tests.algorithms.by_hand import X0, many_clients, quadratic, run, two_clients

Y0, Y1 = np.array([5 / 32, 43 / 16]), np.array([-3 / 64, 823 / 512])
MEAN0, MEAN1 = np.array([19 / 16, 57 / 8]), np.array([291 / 64, 457 / 512])
FIRST0, FIRST1 = np.array([2.0, 8.0]), np.array([8.0, 2.0])


def fedagrac(**options: Any) -> FedaGrac:
    return FedaGrac(**({"local_lr": 0.25, "calibration_rate": 1.0, "sampling": "all"} | options))


@pytest.mark.parametrize(
    ("options", "transit"),
    [
        ({}, (MEAN0, FIRST1)),
        ({"variant": "avg"}, (MEAN0, MEAN1)),
        ({"variant": "first"}, (FIRST0, FIRST1)),
        ({"variant": "reverse"}, (FIRST0, MEAN1)),
        ({"fast_above": 1.5}, (FIRST0, FIRST1)),
        ({"fast_above": 4}, (MEAN0, MEAN1)),  # a tie is slow
    ],
)
def test_one_round(options: dict[str, Any], transit: tuple[Any, Any]) -> None:
    trace = run(fedagrac(**options), two_clients(), 1, steps=(2, 4))
    assert trace.x[1].tolist() == (Y0 / 4 + 3 * Y1 / 4).tolist() == [1 / 256, 3845 / 2048]
    assert trace.state.nu.tolist() == (transit[0] / 4 + 3 * transit[1] / 4).tolist()
    assert trace.state.memory.dense().tolist() == [MEAN0.tolist(), MEAN1.tolist()]


def test_local_reference_of_equation_4() -> None:
    """Fast clients keep gfirst_i."""
    state = run(fedagrac(local_ref="eq4"), two_clients(), 1, steps=(2, 4)).state
    assert state.memory.dense().tolist() == [MEAN0.tolist(), FIRST1.tolist()]
    assert state.nu.tolist() == [403 / 64, 105 / 32]


def test_start_at_zero_and_server_rate() -> None:
    """No corrections in the first round: FedAvg's, here half of it."""
    trace = run(fedagrac(init_reference="zero", server_lr=0.5), two_clients(), 1)
    assert trace.x[1].tolist() == [(3 + 17 / 32) / 2, (4 + 83 / 32) / 2]
    assert trace.state.memory.dense().tolist() == [[7 / 4, 6], [6, 7 / 4]]


def test_partial_participation() -> None:
    """Client 1 alone has w = 1 and K = Kbar, so it is slow; client 0 keeps its nu_i."""
    trace = run(fedagrac(), two_clients(), 1, steps=(2, 4), dispatch=Rounds(select="scripted", selections=((1,),)))
    assert trace.x[1].tolist() == Y1.tolist()
    assert trace.state.nu.tolist() == MEAN1.tolist()
    assert trace.state.memory.dense().tolist() == [FIRST0.tolist(), MEAN1.tolist()]


def test_kbar_is_weighted() -> None:
    """F_i = 1/2 |x|^2, K = (1, 2, 4), p = (6, 1, 1) / 8: Kbar = 3/2, while the plain mean is 7/3. Clients 1 and 2 are fast, and the
    first gradient of all is x0."""
    problem = quadratic([np.eye(2)] * 3, np.zeros((3, 2)), [6, 1, 1])
    assert run(fedagrac(), problem, 1, steps=(1, 2, 4)).state.nu.tolist() == X0.tolist()


def test_equal_steps_are_a_tie_whatever_the_weights() -> None:
    """sum p_i K falls below K in floating point for these weights; nobody is fast nevertheless."""
    raw, steps = many_clients(3, 2, seed=20), 3
    problem = quadratic(raw.A, raw.c, [7, 1, 2])
    assert (problem.weights * steps).sum() < steps
    plain, average = (run(fedagrac(variant=v), problem, 4, steps=steps) for v in ("default", "avg"))
    assert np.array_equal(plain.x, average.x)


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (0.3, {0: 0.3, 500: 0.3}),
        ("increase", {0: 0.1, 49: 0.1, 50: 0.5, 149: 0.5, 150: 1.0, 999: 1.0}),
        ([[0, 0], [2, 0.25]], {0: 0.0, 1: 0.0, 2: 0.25, 9: 0.25}),
    ],
)
def test_schedule(rate: Any, expected: dict[int, float]) -> None:
    assert {t: fedagrac(calibration_rate=rate).calibration(t) for t in expected} == expected


def test_a_schedule_counts_rounds() -> None:
    """lambda = 0 in round 0, then 1."""
    late = run(fedagrac(calibration_rate=[[0, 0], [1, 1]]), two_clients(), 2, steps=(2, 4))
    free, bound = (run(fedagrac(calibration_rate=rate), two_clients(), 2, steps=(2, 4)) for rate in (0, 1))
    assert late.x[1].tolist() == free.x[1].tolist() != bound.x[1].tolist()
    assert late.x[2].tolist() != free.x[2].tolist()


@pytest.mark.parametrize("rate", [0.05, 0.5])
def test_a_small_lambda_removes_that_share_of_the_bias(rate: float) -> None:
    """Equal Hessians, small local_lr: (1 - lambda) c_K + lambda cbar, c_K = sum p_i K_i c_i / Kbar,
    cbar = sum p_i c_i."""
    c, steps = np.array([[4.0, 0.0], [0.0, -4.0], [-2.0, 2.0]]), np.array([1, 2, 6])
    problem = quadratic([np.eye(2)] * 3, c, [1, 2, 1])
    p = problem.weights
    c_K, cbar = (p * steps) @ c / (p * steps).sum(), p @ c
    trace = run(
        fedagrac(calibration_rate=rate, local_lr=1e-3), problem, 200, steps=steps.tolist(), x0=(1 - rate) * c_K + rate * cbar
    )
    assert np.abs(c_K - cbar).max() > 1
    assert np.abs(trace.x[-1] - trace.x[0]).max() < 0.01


def test_corrections_of_avg_cancel() -> None:
    """sum p_i (nu - nu_i) = 0 after every full round; the default's do not."""
    problem = many_clients(5, 3, seed=21)
    for variant, cancels in (("avg", True), ("default", False)):
        state = run(fedagrac(variant=variant), problem, 5, steps=(1, 2, 5, 3, 2), x0=np.ones(3)).state
        rest = state.nu - problem.weights @ state.memory.dense()
        assert (np.abs(rest).max() < 1e-14) == cancels


def test_a_server_that_stores_the_references_needs_no_upload_of_slow_clients() -> None:
    """gbar_i = (x - y_i) / (local_lr K_i) - lambda (nu - nu_i) with nu_i before this round; only
    the fast upload gfirst_i."""

    @dataclass(frozen=True, kw_only=True)
    class Reconstructs(FedaGrac):
        def step(self, state: State, batch: Batch, tools: Any) -> None:
            copies = server["nu_i"] if server else [state.memory.default] * 4
            nu = server.get("nu", state.nu)
            if not server:  # both sides begin with the gradients at x0
                copies = list(tools.gradients(range(4), state.x))
            K, rate = batch.steps, self.calibration(batch.version)
            gbar = [-batch.delta[i] / (self.local_lr * K[i]) - rate * (nu - copies[c]) for i, c in enumerate(batch.clients)]
            Kbar = (batch.p * K).sum()
            transit = [batch.gfirst[i] if K[i] > Kbar else gbar[i] for i in range(4)]
            server["nu_i"] = [g for _, g in sorted(zip(batch.clients.tolist(), gbar, strict=True), key=lambda pair: pair[0])]
            server["nu"] = sum(p * v for p, v in zip(batch.p, transit, strict=True))
            super().step(state, batch, tools)
            assert server["nu"] == pytest.approx(state.nu, rel=1e-10, abs=1e-12)
            assert np.stack(server["nu_i"]) == pytest.approx(state.memory.dense(), rel=1e-10, abs=1e-12)

    server: dict[str, Any] = {}
    problem = many_clients(4, 3, seed=22)
    run(Reconstructs(local_lr=0.1, sampling="all", calibration_rate=0.7), problem, 8, steps=(1, 2, 5, 3), x0=np.ones(3))
    assert server


def test_what_it_declares() -> None:
    info = Info(2, np.ones(2))
    assert fedagrac().traffic(info) == (2, 2, 2)
    assert fedagrac().dispatch(info) == Rounds(select="all", cohort_size=10, prelude=True)
    assert not fedagrac(init_reference="zero").dispatch(info).prelude


def test_weight_decay_is_part_of_the_initial_references() -> None:
    """As of all later ones, the mean of g + weight_decay y; client 0 still has its first."""
    state = run(fedagrac(weight_decay=0.5), two_clients(), 1, dispatch=Rounds(select="scripted", selections=((1,),))).state
    assert state.memory[0].tolist() == (FIRST0 + X0 / 2).tolist()


@pytest.mark.parametrize(
    "schedule", [[], [[1, 0.1]], [[0, 0.1], [0, 0.2]], [[0, -0.1]], [[0, "a"]], [[0, 0.1, 3]], [[0, np.inf]]]
)
def test_bad_schedules(schedule: Any) -> None:
    with pytest.raises(
        UsageError, match=r"fedagrac: calibration_rate must be \[\[first round, value\], ..\], rounds ascending from 0"
    ):
        fedagrac(calibration_rate=schedule)


def test_refusals() -> None:
    with pytest.raises(
        UsageError, match=r"fedagrac: calibration_rate must be .* or a list of \[an integer, a number\], got \[0, 1\]"
    ):
        fedagrac(calibration_rate=[0, 1])
    with pytest.raises(UsageError, match="local_ref eq4 is defined for the default variant only, got variant 'avg'"):
        fedagrac(local_ref="eq4", variant="avg")
    with pytest.raises(UsageError, match="calibration_rate must be a number >= 0 or one of 'increase' or"):
        fedagrac(calibration_rate="decrease")
