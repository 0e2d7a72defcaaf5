"""FedExP by hand (problem of by_hand.py): its rate, and the model that is evaluated."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedexp import FedExP
from fedbench.errors import UsageError
from fedbench.types import Info, Rounds, ServerMemory, State
from tests.algorithms.by_hand import D0, D1, X0, arrivals, delta_1, run, serve, two_clients


def stepped(delta: Any, n: Any = None, dtype: Any = np.float64, **options: Any) -> State:
    """The state after one round in which client i sends delta[i], from x = 0."""
    algorithm, delta = FedExP(**options), np.array(delta, dtype)
    state, tools = serve(algorithm, clients=len(delta), x0=np.zeros(delta.shape[1], dtype))
    batch = arrivals(range(len(delta)), delta=delta)
    algorithm.step(state, batch if n is None else dataclasses.replace(batch, n=np.array(n, np.float64)), tools)
    return state


def test_two_rounds_by_hand() -> None:
    """eps = 1/4. |D0|^2 = |D1|^2 = 625/64 and D = (-31/16, -31/16), so 625/64 / (2 (961/128 + 1/4)) =
    625/993 is below 1. Client 1 alone has 1/2, and so 1 too."""
    rounds = Rounds(select="scripted", selections=((0, 1), (1,)))
    trace = run(FedExP(local_lr=0.25, eps=0.25), two_clients(), 2, dispatch=rounds)
    x1 = X0 + (D0 + D1) / 2
    x2 = x1 + delta_1(x1)
    assert [x.tolist() for x in trace.x[1:]] == [x1.tolist(), x2.tolist()]
    assert (trace.state.eta, trace.state.x_prev.tolist()) == (1, x1.tolist())


def test_the_rate_by_hand() -> None:
    """D = (2, 0), the mean of 64 and 16 is 40, and with eps = 4 the rate is 40 / (2 (4 + 4)) = 5/2."""
    state = stepped([[8.0, 0.0], [-4.0, 0.0]], eps=4)
    assert (state.eta, state.x.tolist(), state.x_prev.tolist()) == (5 / 2, [5, 0], [0, 0])


def test_weights_of_a_round() -> None:
    """By examples 1/4 and 3/4, the squared norms as well: D = (8 - 12) / 4 = -1, 64/4 + 3/4 16 = 28,
    and 28 / (2 (1 + 6)) = 2. By default n does not matter."""
    state = stepped([[8.0, 0.0], [-4.0, 0.0]], n=[1, 3], eps=6, weights="examples")
    assert (state.eta, state.x.tolist()) == (2, [-2, 0])
    assert stepped([[8.0, 0.0], [-4.0, 0.0]], n=[1, 3], eps=4).eta == 5 / 2


@pytest.mark.parametrize("clients", [1, 2, 4, 8])
def test_orthogonal_progress_of_equal_length(clients: int) -> None:
    """The rate is half the number of clients, and at least 1."""
    state = stepped(16 * np.eye(8)[:clients], eps=1e-12)
    assert state.eta == pytest.approx(max(1, clients / 2), rel=1e-12)
    assert state.x[:clients] == pytest.approx(np.full(clients, max(1, clients / 2) * 16 / clients))


def test_the_rate_is_at_least_one() -> None:
    """Where all send the same, where eps is large, and where |D|^2 is more than half of the mean."""
    assert stepped([[3.0, -5.0]] * 4, eps=1e-12).eta == 1
    assert stepped([[8.0, 0.0], [-4.0, 0.0]], eps=1e9).eta == 1
    assert stepped([[8.0, 0.0], [4.0, 0.0]], eps=1e-12).eta == 1
    assert stepped(np.zeros((2, 2))).x.tolist() == [0, 0]


def test_norms_are_over_the_whole_vector() -> None:
    """The two halves would have rates of 1/2, so 1, and of 80 / 32 = 5/2 by themselves."""
    state = stepped([[2.0, 4.0], [2.0, -12.0]], eps=1e-300)
    assert state.eta == (4 + 80) / (2 * (4 + 16))
    assert state.x == pytest.approx(state.eta * np.array([2, -4]), rel=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_norms_are_sums_in_float64(dtype: Any) -> None:
    """Of float32 too, where 2^24 + 1 = 2^24. D is 0 where the clients are at 4096 and -4096, and 1
    elsewhere."""
    delta = np.ones((2, 1 + 1024))
    delta[:, 0] = 4096, -4096
    state = stepped(delta, eps=0.5, dtype=dtype)
    assert state.x.dtype == dtype
    assert state.eta == (2**24 + 1024) / (2 * (1024 + 0.5))


def test_the_model_that_is_evaluated_is_the_mean_of_two() -> None:
    """Of the last two versions, x^1 and x0 first; training goes on from x."""
    rounds = Rounds(select="scripted", selections=((0,), (1,), (0, 1)))
    algorithm = FedExP(local_lr=0.25)
    for updates in (1, 2, 3):
        trace = run(algorithm, two_clients(), updates, dispatch=rounds)
        assert trace.state is not None
        judged = algorithm.evaluated(trace.state)
        assert judged.tolist() == ((trace.x[-1] + trace.x[-2]) / 2).tolist()
        assert trace.x[1].tolist() == (X0 + D0).tolist()
        assert updates == 1 or trace.x[2].tolist() == (trace.x[1] + delta_1(trace.x[1])).tolist()
    state, _ = serve(algorithm, clients=2, x0=X0)
    assert algorithm.evaluated(state).tolist() == X0.tolist()


def test_rounds_of_a_cohort_or_of_all() -> None:
    info = Info(30, np.ones(30))
    assert FedExP(cohort_size=3).dispatch(info) == Rounds(select="without_replacement", cohort_size=3)
    assert FedExP(sampling="all").dispatch(info).select == "all"
    assert FedExP().server_memory(info) == ServerMemory(own=2)


def test_the_initial_model_is_not_written() -> None:
    x0 = X0.copy()
    run(FedExP(local_lr=0.25, sampling="all"), two_clients(), 2, x0=x0)
    assert np.array_equal(x0, X0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"eps": 0}, "eps must be a number > 0, got 0"),
        ({"weights": "p"}, "weights must be one of 'uniform', 'examples', got 'p'"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=f"fedexp: {words}"):
        FedExP(**options)
