"""Rescaled ASGD by hand (problem of by_hand.py), the weights of arrivals, and where it ends."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedbuff import FedBuff
from fedbench.algorithms.rescaled_asgd import RescaledASGD
from fedbench.errors import UsageError
from fedbench.types import Info, Stream
from tests.algorithms.by_hand import D0, D1, X0, Array, arrivals, delta_0, many_clients, run, serve, two_clients

T = np.array([1.0, 2.0, 4.0, 4.0])  # sum 1/T = 2, so H = 4/2 = 2 and T/H = 1/2, 1, 2, 2
STEP_SECONDS = np.array([1.0, 1.0, 1.0, 0.5])  # clients whose jobs have 1, 2, 4 and 8 steps


def moved(client: int, *, p: float = 0.25, staleness: int = 0, **options: Any) -> list[float]:
    """Where the server is after one arrival of Delta = (16, -32) at x = 0, of four clients whose
    jobs take T."""
    algorithm = RescaledASGD(**options)
    state, tools = serve(algorithm, clients=4, x0=np.zeros(2), step_seconds=STEP_SECONDS, job_seconds=T)
    batch = arrivals([client], version=9, base=[9 - staleness], delta=[[16.0, -32.0]])
    algorithm.step(state, dataclasses.replace(batch, p=np.array([p])), tools)
    found: list[float] = state.x.tolist()
    return found


def test_four_updates_by_hand() -> None:
    """Jobs of 1 and 3 s: H = 2 / (4/3) = 3/2, so the weights are 2/3 and 2. At rate 3/4 client 0
    moves by half of its Delta at 1 and 2 s, and client 1 by 3/2 of its own, which it began at x0.
    At 3 s client 0 comes first."""
    trace = run(RescaledASGD(local_lr=0.25, server_lr=0.75), two_clients(), 4, seconds=(1, 3))
    x1 = X0 + D0 / 2
    x2 = x1 + delta_0(x1) / 2
    x3 = x2 + delta_0(x2) / 2
    assert trace.consumed() == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert trace.seconds == [1, 2, 3, 3]
    assert np.stack(trace.x) == pytest.approx(np.stack([X0, x1, x2, x3, x3 + 3 / 2 * D1]), rel=1e-14)


@pytest.mark.parametrize(("client", "weight"), list(enumerate([1 / 2, 1, 2, 2])))
def test_slow_clients_count_more(client: int, weight: float) -> None:
    """By the seconds of their jobs, over the harmonic mean; those of a step do not matter."""
    assert moved(client, server_lr=0.5) == [8 * weight, -16 * weight]


@pytest.mark.parametrize(("client", "weight"), list(enumerate([1 / 2, 1, 2, 2])))
def test_weights_of_the_objective(client: int, weight: float) -> None:
    """N p_i = 2 for p_i = 1/2, and 1/2 for p_i = 1/8; with uniform weights p does not matter."""
    for p, factor in ((1 / 2, 2), (1 / 8, 1 / 2), (1 / 4, 1)):
        assert moved(client, p=p, server_lr=0.5, weights="p") == [8 * weight * factor, -16 * weight * factor]
        assert moved(client, p=p, server_lr=0.5) == [8 * weight, -16 * weight]


def test_the_mean_weight_of_an_update_is_one() -> None:
    """Client i makes 1/T_i of all sum 1/T updates a second, of random times and p."""
    random = np.random.default_rng(3)
    seconds, p = random.lognormal(size=7), random.dirichlet(np.ones(7))
    for weights in ("uniform", "p"):
        algorithm = RescaledASGD(server_lr=1, weights=weights)  # type: ignore[arg-type]
        w = np.zeros(7)
        for client in range(7):
            state, tools = serve(algorithm, clients=7, x0=np.zeros(1), job_seconds=seconds)
            algorithm.step(state, dataclasses.replace(arrivals([client], delta=[[1.0]]), p=p[[client]]), tools)
            w[client] = state.x[0]
        assert (w / seconds).sum() / (1 / seconds).sum() == pytest.approx(1, rel=1e-14)
        assert w / seconds == pytest.approx((np.full(7, 1 / 7) if weights == "uniform" else p) * 7 * (w / seconds).mean())


@pytest.mark.parametrize("clients", [2, 4])
def test_the_rate_is_one_over_the_clients(clients: int) -> None:
    algorithm = RescaledASGD()
    state, tools = serve(algorithm, clients=clients, x0=np.zeros(2), job_seconds=np.full(clients, 0.5))
    algorithm.step(state, arrivals([1], delta=[[16.0, -32.0]]), tools)
    assert state.x.tolist() == [16 / clients, -32 / clients]


def test_staleness_does_not_matter() -> None:
    assert moved(2, staleness=8) == moved(2)


def test_the_unit_of_time_does_not_matter() -> None:
    """Of thousandths, or of hours: a power of two changes no bit."""
    seconds, x0 = np.array([1.0, 3.25, 0.5, 2.0]), np.array([1.0, 2.0, -1.0])
    here, bits, close = (
        run(RescaledASGD(local_lr=0.1), many_clients(4, 3, seed=4), 20, seconds=unit * seconds, x0=x0) for unit in (1, 1024, 3.6)
    )
    assert [x.tobytes() for x in here.x] == [x.tobytes() for x in bits.x]
    assert np.stack(close.x) == pytest.approx(np.stack(here.x), rel=1e-13)


def test_every_arrival_is_an_update() -> None:
    info = Info(30, np.ones(30), step_seconds=np.ones(30), job_seconds=np.linspace(1, 2, 30))
    assert RescaledASGD().dispatch(info) == Stream(concurrency=30, buffer_size=1, restart="self")


@pytest.mark.parametrize("weights", ["uniform", "p"])
def test_it_ends_at_the_optimum_where_plain_asgd_ends_by_speed(weights: Any) -> None:
    """One step a job, fixed times from 1 to 9 s, a small rate: the speed-weighted optimum, at which
    FedBuff with buffers of one ends, has the weights 1/T_i."""
    problem, seconds, rate = many_clients(4, 3, seed=2), np.array([1.0, 2.1, 4.3, 8.9]), 0.004

    def optimum(weights: Array) -> Array:
        A, c = problem.A, problem.c
        return np.linalg.solve(np.einsum("i,ijk->jk", weights, A), np.einsum("i,ijk,ik->j", weights, A, c))

    def end(algorithm: Any) -> Array:
        return run(algorithm, problem, 4000, seconds=seconds, steps=1, x0=np.ones(3)).x[-1]

    wanted, by_speed = optimum(np.ones(4) if weights == "uniform" else problem.p()), optimum(1 / seconds)
    apart = np.linalg.norm(wanted - by_speed)
    assert apart > 0.3
    assert np.linalg.norm(end(RescaledASGD(local_lr=rate, server_lr=1.0, weights=weights)) - wanted) < 0.05 * apart
    assert np.linalg.norm(end(FedBuff(local_lr=rate, buffer_size=1, restart="self")) - by_speed) < 0.05 * apart


def test_the_initial_model_is_not_written() -> None:
    x0 = X0.copy()
    run(RescaledASGD(local_lr=0.25), two_clients(), 3, seconds=(1, 3), x0=x0)
    assert np.array_equal(x0, X0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"server_lr": 0}, "server_lr must be a number > 0 or none, got 0"),
        ({"weights": "examples"}, "weights must be one of 'uniform', 'p', got 'examples'"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=f"rescaled_asgd: {words}"):
        RescaledASGD(**options)
