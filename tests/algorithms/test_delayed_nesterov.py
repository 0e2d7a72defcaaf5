"""Delayed Nesterov by hand (problem of by_hand.py): when its momentum moves, in what shares it is
added, and who does how many steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.delayed_nesterov import DelayedNesterov
from fedbench.errors import UsageError
from fedbench.types import Info, ServerMemory, Stream
from tests.algorithms.by_hand import D0, D1, X0, Array, arrivals, delta_0, many_clients, run, serve, two_clients


def served(delta: Any, clients: int = 4, **options: Any) -> tuple[list[Array], Any]:
    """The models after one arrival of each of these Delta, from x = 0, and the last state."""
    algorithm, delta = DelayedNesterov(**options), np.array(delta, np.float64)
    state, tools = serve(algorithm, clients=clients, x0=np.zeros(delta.shape[1]))
    x = []
    for version, row in enumerate(delta):
        algorithm.step(state, arrivals([version % clients], version=version, delta=[row]), tools)
        x.append(state.x)
    return x, state


def test_three_updates_by_hand() -> None:
    """M = 2, beta = 1/2, jobs of 1 and 2.5 s. The second update is the first that moves m, to the
    mean of the first two Delta, and adds beta m; the third adds none of it."""
    algorithm = DelayedNesterov(local_lr=0.25, buffer_size=2, server_momentum=0.5, server_lr=1.0)
    trace = run(algorithm, two_clients(), 3, seconds=(1, 2.5))
    x1 = X0 + D0 / 2
    E = delta_0(x1)
    m = (D0 + E) / 2
    x2 = x1 + E / 2 + m / 2
    assert trace.consumed() == [(0, 0), (0, 1), (1, 0)]
    assert [x.tolist() for x in trace.x[1:]] == [x1.tolist(), x2.tolist(), (x2 + D1 / 2).tolist()]
    assert (trace.state.m.tolist(), trace.state.B.tolist()) == (m.tolist(), D1.tolist())


def test_the_momentum_of_two_periods() -> None:
    """M = 2, beta = 1/2, rate 2, c = 1/4, Delta = 8, 16, 32, 64. m is (8 + 16) / 2 = 12, then 12/2
    + (32 + 64) / 2 = 54. An arrival adds 2 (Delta/2 + h/2 m) = Delta + h m: at the first of a
    period h is 1/4, of the old m; at the second 3/4, of the new one."""
    x, state = served([[8.0], [16.0], [32.0], [64.0], [0.0]], buffer_size=2, server_momentum=0.5, server_lr=2, spread=0.25)
    assert np.diff([0, *np.ravel(x)]).tolist() == [8, 16 + 9, 32 + 3, 64 + 40.5, 13.5]
    assert (state.m.tolist(), state.B.tolist()) == ([54], [0])


def test_the_momentum_starts_at_the_period_end_only() -> None:
    """M = 4: the first three arrivals leave m at 0 and are summed in B."""
    x, state = served([[4.0], [8.0], [12.0]], buffer_size=4, server_momentum=0.5, server_lr=1, spread=0.25)
    assert np.ravel(x).tolist() == [1, 3, 6]
    assert (state.m.tolist(), state.B.tolist()) == ([0], [24])
    x, state = served([[4.0], [8.0], [12.0], [16.0]], buffer_size=4, server_momentum=0.5, server_lr=1)
    assert (x[-1].tolist(), state.m.tolist(), state.B.tolist()) == ([10 + 5], [10], [0])


@pytest.mark.parametrize("spread", [0.0, 1 / 16, 1 / 8])
def test_a_period_adds_one_share_of_the_momentum(spread: float) -> None:
    """One Delta = 64 in the first period of eight, none in the second and third: m = 8, 4 and 2.
    All but the last arrival of the third period add c beta 4, and the last (1 - 7 c) beta 2."""
    x, _ = served([[0.0]] * 7 + [[64.0]] + [[0.0]] * 16, buffer_size=8, server_momentum=0.5, server_lr=1, spread=spread)
    steps = np.diff(np.ravel(x))
    assert steps[-8:].tolist() == [2 * spread] * 7 + [1 - 7 * spread]
    assert steps[-8:-1].sum() / 2 + steps[-1] == 1


def test_constant_progress_moves_as_sgd_with_momentum() -> None:
    """m goes to Delta / (1 - beta), so a period of four moves by Delta + beta Delta / (1 - beta) =
    2 Delta for any c."""
    for spread in (0.0, 0.125, 0.25):
        x, _ = served([[1.0, -3.0]] * 400, buffer_size=4, server_momentum=0.5, server_lr=1, spread=spread)
        assert x[-1] - x[-5] == pytest.approx([2, -6], rel=1e-14)


def test_the_period_is_the_number_of_clients() -> None:
    x, state = served([[8.0]] * 4, clients=2, server_momentum=0.5, server_lr=1)
    assert np.ravel(x).tolist() == [4, 4 + 4 + 4, 16, 16 + 4 + 6]
    assert state.m.tolist() == [4 + 8]


def test_staleness_does_not_matter() -> None:
    algorithm, delta = DelayedNesterov(buffer_size=1), [[16.0, -32.0]]
    models = []
    for base in (0, 5):
        state, tools = serve(algorithm, clients=2, x0=np.zeros(2))
        algorithm.step(state, arrivals([1], version=5, base=[base], delta=delta), tools)
        models.append(state.x.tolist())
    assert models[0] == models[1]


def test_every_arrival_is_an_update() -> None:
    info = Info(30, np.ones(30), step_seconds=np.linspace(1, 2, 30), job_seconds=np.full(30, 8.0))
    assert DelayedNesterov().dispatch(info) == Stream(concurrency=30, buffer_size=1, restart="self")
    assert DelayedNesterov().server_memory(info) == ServerMemory(own=3)


def test_slower_clients_do_fewer_steps() -> None:
    """The fastest has 12 steps a job; 2, 2.5 and 20 times as slow: 6, 4 (of 4.8) and 1 (of 0.6).
    How many the others have does not matter."""
    info = Info(4, np.ones(4), step_seconds=np.array([1.0, 0.5, 1.25, 10.0]), job_seconds=np.array([9.0, 6.0, 1.25, 10.0]))
    assert DelayedNesterov(steps_by_speed=True).dispatch(info).steps == pytest.approx([6, 12, 4, 1])
    assert DelayedNesterov().dispatch(info).steps is None


def test_clients_train_for_as_many_steps() -> None:
    """One second a step and two: two steps of client 0, and one of client 1."""
    algorithm = DelayedNesterov(local_lr=0.25, server_lr=1.0, steps_by_speed=True)
    dispatch = algorithm.dispatch(Info(2, np.ones(2), step_seconds=np.array([1.0, 2.0]), job_seconds=np.array([2.0, 4.0])))
    trace = run(algorithm, two_clients(), 2, seconds=(2, 2), dispatch=dispatch)
    assert trace.consumed() == [(0, 0), (1, 0)]
    assert trace.state.B.tolist() == [0, 0]
    assert trace.state.m.tolist() == ((D0 + np.array([-2.0, -0.5])) / 2).tolist()


@pytest.mark.parametrize("clients", [2, 3, 49, 100])
def test_the_largest_share(clients: int) -> None:
    """1/M, in floating point too; of M = N where none is given."""
    info = Info(clients, np.ones(clients))
    DelayedNesterov(spread=1 / clients).dispatch(info)
    with pytest.raises(UsageError, match=rf"delayed_nesterov: spread must be at most 1/buffer_size = {1 / clients:g}, got 0.51"):
        DelayedNesterov(spread=0.51).dispatch(info)
    with pytest.raises(UsageError, match=r"delayed_nesterov: spread must be at most 1/buffer_size = 0.25, got 0.26"):
        DelayedNesterov(spread=0.26, buffer_size=4).dispatch(info)
    DelayedNesterov(spread=1, buffer_size=1).dispatch(info)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"server_momentum": 1}, "server_momentum must be a number >= 0 and < 1, got 1"),
        ({"server_lr": 0}, "server_lr must be a number > 0, got 0"),
        ({"spread": -0.1}, "spread must be a number >= 0 and <= 1, got -0.1"),
        ({"buffer_size": 0}, "buffer_size must be an integer >= 1 or none, got 0"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=f"delayed_nesterov: {words}"):
        DelayedNesterov(**options)


def test_one_client_without_momentum_is_plain_sgd() -> None:
    problem, x = many_clients(1, 3, seed=5), np.array([2.0, -1.0, 0.5])
    algorithm = DelayedNesterov(local_lr=0.1, server_momentum=0.0, server_lr=1.0, buffer_size=1)
    for got in run(algorithm, problem, 10, steps=3, x0=x).x[1:]:
        for _ in range(3):
            x = x - 0.1 * problem.gradient(0, x)
        assert got == pytest.approx(x, rel=1e-13)


def test_the_initial_model_is_not_written() -> None:
    x0 = X0.copy()
    run(DelayedNesterov(local_lr=0.25), two_clients(), 4, x0=x0)
    assert np.array_equal(x0, X0)
