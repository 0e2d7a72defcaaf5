"""FedStale by hand (problem of by_hand.py, p = 1/4, 3/4), and the estimate of who takes part how
often."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedstale import FedStale
from fedbench.errors import UsageError
from fedbench.proof import contract
from fedbench.types import Info, Rounds
from tests.algorithms.by_hand import D0, X0, arrivals, delta_0, delta_1, run, serve, two_clients


def fedstale(**options: Any) -> FedStale:
    return FedStale(**({"local_lr": 0.25} | options))


@pytest.mark.parametrize(
    ("options", "pi"),
    [
        ({}, (0.5, 0.5)),  # one of two
        ({"participation": (0.25, 0.75)}, (0.25, 0.75)),
        ({"participation": "cohort", "sampling": "all"}, (0.5, 0.5)),
        ({"participation": "interval"}, (1.0, 1.0)),  # of the two first rounds: nothing is known yet
    ],
)
@pytest.mark.parametrize(("weights", "a"), [("p", (1 / 4, 3 / 4)), ("uniform", (1 / 2, 1 / 2))])
@pytest.mark.parametrize("beta", [0.0, 0.25, 1.0])
def test_the_equation(options: dict[str, Any], pi: tuple[float, float], weights: Any, a: Any, beta: float) -> None:
    """Client 0, then client 1: a_0/pi_0 Delta_0;  a_1/pi_1 Delta_1 + beta a_0 D0."""
    rounds = Rounds(select="scripted", selections=((0,), (1,)))
    trace = run(fedstale(stale_weight=beta, weights=weights, **options), two_clients(), 2, dispatch=rounds)
    x1 = X0 + a[0] / pi[0] * D0
    x2 = x1 + a[1] / pi[1] * delta_1(x1) + beta * a[0] * D0
    assert trace.x[1] == pytest.approx(x1, rel=1e-15)
    assert trace.x[2] == pytest.approx(x2, rel=1e-15)
    assert trace.state.h_i.dense() == pytest.approx(np.array([D0, delta_1(x1)]), rel=1e-15)


def test_a_client_that_comes_again() -> None:
    """Client 0, 1 and 0, beta = 1/2: in the third round 1/2 (Delta_0 - D0/2) + 1/2 (D0/4 + 3E/4), E
    = the Delta_1 of the second."""
    trace = run(fedstale(), two_clients(), 3, dispatch=Rounds(select="scripted", selections=((0,), (1,), (0,))))
    E, x2 = delta_1(trace.x[1]), trace.x[2]
    assert trace.x[3].tolist() == (x2 + (delta_0(x2) - D0 / 2) / 2 + (D0 / 4 + 3 * E / 4) / 2).tolist()
    assert trace.state.h_i.dense().tolist() == [delta_0(x2).tolist(), E.tolist()]


def rounds_of(algorithm: FedStale, several: list[list[int]]) -> tuple[list[float], list[list[float]]]:
    """All Delta are 8, of two clients: how far every round moves the model, and the mean intervals
    after it."""
    state, tools = serve(algorithm, clients=2, x0=np.zeros(1))
    moved, intervals = [], []
    for version, clients in enumerate(several):
        before = state.x
        algorithm.step(state, arrivals(clients, version=version, delta=np.full((len(clients), 1), 8.0)), tools)
        moved.append((state.x - before).item())
        intervals.append(algorithm.interval_i(state).tolist())
    return moved, intervals


def test_the_intervals_between_participations() -> None:
    """beta = 0, a = 1/2: 1/pi is 1 before the first interval ends, and of rounds before this one
    alone."""
    moved, intervals = rounds_of(fedstale(stale_weight=0, sampling="all"), [[0], [0, 1], [1], [0], [1], [0]])
    assert intervals == [[1, 1], [1, 2], [1, 1.5], [4 / 3, 1.5], [4 / 3, 5 / 3], [1.5, 5 / 3]]
    assert moved == pytest.approx([4, 4 + 4, 8, 4, 6, 16 / 3])


def test_the_cut_off_ends_an_interval_too() -> None:
    """Two rounds: client 1's is cut off after rounds 1 and 3 and ends with its participation in
    round 4."""
    moved, intervals = rounds_of(fedstale(stale_weight=0, sampling="all", cutoff=2), [[0], [0], [0], [0], [1], [1]])
    assert [client_1 for _, client_1 in intervals] == [1, 2, 2, 2, 5 / 3, 1.5]
    assert moved == pytest.approx([4, 4, 4, 4, 8, 20 / 3])


def test_the_fresh_weights_of_all_cohorts_have_mean_one() -> None:
    """Two of four clients, all Delta = 1, nothing stale yet."""
    moved = []
    for cohort in itertools.combinations(range(4), 2):
        algorithm = fedstale()
        state, tools = serve(algorithm, clients=4, x0=np.zeros(1))
        algorithm.step(state, arrivals(cohort, delta=np.ones((2, 1))), tools)
        moved.append(state.x.item())
    assert np.mean(moved) == pytest.approx(1, rel=1e-15)


def test_whom_a_round_asks() -> None:
    info = Info(30, np.ones(30))
    assert fedstale(cohort_size=3).dispatch(info) == Rounds(select="without_replacement", cohort_size=3)
    assert fedstale(sampling="all").dispatch(info).select == "all"


def test_a_run_goes_on_from_a_checkpoint_with_its_intervals() -> None:
    assert contract.resumes(fedstale(cohort_size=3, participation="interval", cutoff=4)).startswith("saved and restored")


def test_refusals() -> None:
    with pytest.raises(UsageError, match="fedstale: participation must be 3 probabilities, one a client, got 2"):
        fedstale(participation=(0.5, 0.5)).dispatch(Info(3, np.ones(3)))
    with pytest.raises(UsageError, match=r"participation must be .* or a list of a number > 0 and <= 1 or none, got \[0.5, 0\]"):
        fedstale(participation=[0.5, 0])
