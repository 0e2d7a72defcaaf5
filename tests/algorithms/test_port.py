"""PORT by hand, against its equations on the engine's own schedule, and its options."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.port import Port
from fedbench.errors import UsageError
from fedbench.proof.problems import Quadratic
from fedbench.types import Batch, Info, Stream
from tests.algorithms.by_hand import D0, D1, X0, Array, arrivals, many_clients, run, serve, two_clients

ALONG, AGAINST, ACROSS = [3.0, 4.0], [-3.0, -4.0], [-4.0, 3.0]  # of a movement (3, 4)


def port(**options: Any) -> Port:
    return Port(**({"local_lr": 0.25, "buffer_size": 2} | options))


def served(algorithm: Port, batch: Batch, movement: Any = ALONG) -> Any:
    """The state after a server that moved by `movement` in its last step has consumed the batch at
    x = 0."""
    state, tools = serve(algorithm, clients=8, x0=np.zeros(2))
    if algorithm.span == "one":
        state.x_prev = -np.array(movement)
    algorithm.step(state, batch, tools)
    return state


def late(delta: Any, staleness: list[int], n: Any = None, **more: Any) -> Batch:
    batch = arrivals(range(len(delta)), version=9, base=9 - np.array(staleness), delta=delta, **more)
    return batch if n is None else dataclasses.replace(batch, n=np.array(n, np.float64))


def test_fresh_arrivals_are_weighted_by_examples() -> None:
    """n = 1 and 3, so x1 = x0 + 1/4 Delta_0 + 3/4 Delta_1; server_lr = 1/2 moves half as far."""
    for rate in (1.0, 0.5):
        assert run(port(server_lr=rate), two_clients(), 1).x[1].tolist() == (X0 + rate * (D0 + 3 * D1) / 4).tolist()


def test_weights_by_hand() -> None:
    """b = 1, movement (3, 4), six arrivals of one example:

    tau = 0, against: likeness counts from tau = 2 on    1 + 1         = 2
    tau = 1, against                                     1 + 1/2       = 3/2
    tau = 3, along                                       1 + 1/4       = 5/4
    tau = 3, across: cos = 0 is half way                 1/2 + 1/4     = 3/4
    tau = 3, against: cos = -1 is nothing                0 + 1/4       = 1/4
    tau = 3, Delta = 0                                   1/2 + 1/4     = 3/4        sum 13/2
    """
    delta = [AGAINST, AGAINST, ALONG, ACROSS, AGAINST, [0.0, 0.0]]
    state = served(port(staleness_bound=1.0), late(delta, [0, 1, 3, 3, 3, 3]))
    r = np.array([2, 3 / 2, 5 / 4, 3 / 4, 1 / 4, 3 / 4])
    assert state.x == pytest.approx(r @ np.array(delta) / 6.5, rel=1e-15)
    assert state.x_prev.tolist() == [0, 0]


def test_examples_weigh_the_whole_and_both_parts_have_weights() -> None:
    """n = 1, 3 and 4; b = 2; 2 for likeness and 3 for freshness.

    tau = 2, along     1 (2 + 3/2)     = 7/2
    tau = 6, against   3 (0 + 3/4)     = 9/4
    tau = 2, across    4 (1 + 3/2)     = 10        sum 63/4
    """
    algorithm = port(staleness_bound=2.0, similarity_weight=2.0, staleness_weight=3.0)
    state = served(algorithm, late([ALONG, AGAINST, ACROSS], [2, 6, 2], n=[1, 3, 4]))
    want = np.array([14, 9, 40]) @ np.array([ALONG, AGAINST, ACROSS]) / 63
    assert state.x == pytest.approx(want, rel=1e-15)


def test_without_likeness_and_with_a_large_bound_it_is_the_mean_by_examples() -> None:
    state = served(port(similarity_weight=0.0, staleness_bound=2.0**60), late([ALONG, AGAINST, ACROSS], [0, 3, 9], n=[1, 3, 4]))
    assert state.x == pytest.approx((np.array([1, 3, 4]) @ np.array([ALONG, AGAINST, ACROSS])) / 8, rel=1e-15)


def test_a_server_that_has_not_moved_is_across_everything() -> None:
    """The likeness of both is 1/2, so b = 1 decides: 1/2 + 1/4 and 1/2 + 1/8."""
    state = served(port(staleness_bound=1.0), late([ALONG, ACROSS], [3, 7]), movement=[0.0, 0.0])
    assert state.x == pytest.approx((6 * np.array(ALONG) + 5 * np.array(ACROSS)) / 11, rel=1e-15)


def test_all_weights_zero_leave_the_model_and_count_as_a_step() -> None:
    """Against the movement, without a weight for freshness: x stays, and the last step is then
    none."""
    algorithm = port(staleness_weight=0.0)
    state = served(algorithm, late([AGAINST, AGAINST], [2, 5]))
    assert state.x.tolist() == state.x_prev.tolist() == [0, 0]
    _, tools = serve(algorithm, clients=8, x0=np.zeros(2))
    algorithm.step(state, late([AGAINST, ALONG], [2, 1], n=[1, 1]), tools)
    assert state.x == pytest.approx((np.array(AGAINST) / 2 + ALONG) / 1.5, rel=1e-15)


def test_the_movement_since_the_base() -> None:
    """span = staleness: x - x^base is (3, 4) for one and (-4, 3) for the other; b = 1: 1 + 1/4 and
    1/2 + 1/4."""
    bases = -np.array([ALONG, ACROSS])
    state = served(port(span="staleness", staleness_bound=1.0), late([ALONG, ALONG], [3, 3], n=[1, 3], base_x=bases))
    assert state.x.tolist() == ALONG
    assert "x_prev" not in state
    other = served(port(span="staleness", staleness_bound=1.0), late([ALONG, AGAINST], [3, 3], base_x=bases))
    assert other.x == pytest.approx((5 * np.array(ALONG) + 3 * np.array(AGAINST)) / 8, rel=1e-15)


def delta(problem: Quadratic, client: int, start: Array, steps: int) -> Array:
    y = start
    for _ in range(steps):
        y = y - 0.25 * problem.gradient(client, y)
    return y - start


@pytest.mark.parametrize("span", ["one", "staleness"])
def test_equations(span: Any) -> None:
    """On the plan of five clients of different speeds, from numpy alone."""
    problem, steps = many_clients(5, 3, seed=21), (1, 4, 2, 3, 2)
    options: dict[str, Any] = {"buffer_size": 3, "staleness_bound": 2.5, "similarity_weight": 1.5, "server_lr": 0.75}
    trace = run(port(span=span, **options), problem, 25, steps=steps, seconds=(1.0, 3.25, 0.5, 2.0, 9.75), x0=np.ones(3))
    x, consumed, n, likenesses = [np.ones(3)], iter(trace.consumed()), problem.n(), []
    for version in range(25):
        jobs = [next(consumed) for _ in range(3)]
        deltas = [delta(problem, client, x[base], steps[client]) for client, base in jobs]
        r = []
        for (client, base), progress in zip(jobs, deltas, strict=True):
            tau, likeness = version - base, 1.0
            if tau > 1:
                moved = x[version] - x[version - 1 if span == "one" else base]
                likeness = float(moved @ progress / np.linalg.norm(moved) / np.linalg.norm(progress))
                likenesses.append(likeness)
            r.append(n[client] * (1.5 * (likeness + 1) / 2 + 2.5 / (tau + 2.5)))
        x.append(x[-1] + 0.75 * (np.array(r) / sum(r)) @ np.array(deltas))
    assert np.stack(trace.x) == pytest.approx(np.stack(x), rel=1e-11)
    assert len(likenesses) > 5
    assert max(likenesses) - min(likenesses) > 0.5


def test_dispatch_and_memory() -> None:
    info = Info(30, np.ones(30))
    assert Port().dispatch(info) == Stream(concurrency=30, buffer_size=10, restart="resample")
    assert Port().server_memory(info) == (2, 0, 0, 0)
    assert Port(span="staleness").server_memory(info) == (1, 0, 1, 0)
    assert Port().traffic(info) == (1, 1, 1)


@pytest.mark.parametrize("span", ["one", "staleness"])
def test_the_initial_model_is_not_written(span: Any) -> None:
    x0 = X0.copy()
    run(port(span=span), two_clients(), 3, seconds=(1, 2.5), x0=x0)
    assert np.array_equal(x0, X0)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"staleness_bound": 0}, "port: staleness_bound must be .*, got 0"),
        ({"similarity_weight": -1}, "port: similarity_weight must be .*, got -1"),
        ({"staleness_weight": -1}, "port: staleness_weight must be .*, got -1"),
        ({"span": "all"}, "port: span must be .*, got 'all'"),
        ({"server_lr": 0}, "port: server_lr must be .*, got 0"),
    ],
)
def test_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        port(**option)
