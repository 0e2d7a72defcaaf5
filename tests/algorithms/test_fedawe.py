"""FedAWE by hand (problem of by_hand.py): own models, echoes, and who keeps what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedawe import FedAWE
from fedbench.proof import contract
from fedbench.types import Info, Rounds
from tests.algorithms.by_hand import D0, D1, X0, Trace, arrivals, delta_0, delta_1, run, serve, two_clients


def rounds(*selections: tuple[int, ...], **options: Any) -> Trace:
    dispatch = Rounds(select="scripted", selections=selections)
    return run(FedAWE(local_lr=0.25, **options), two_clients(), len(selections), dispatch=dispatch)


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_who_missed_a_round_goes_on_from_its_own_model_and_counts_twice(rate: float) -> None:
    trace = rounds((0, 1), (0,), (0, 1), server_lr=rate)
    x1 = X0 + rate * (D0 + D1) / 2
    x2 = x1 + rate * delta_0(x1)
    x3 = (x2 + rate * delta_0(x2) + x1 + rate * 2 * delta_1(x1)) / 2
    assert [x.tolist() for x in trace.x[1:]] == [x1.tolist(), x2.tolist(), x3.tolist()]
    assert trace.state.memory.dense().tolist() == [x3.tolist()] * 2
    assert trace.state.last_i.tolist() == [2, 2]


def test_who_comes_first_in_round_t_counts_t_plus_one_times() -> None:
    """Client 1 in round 1, from x0; client 0 keeps the model of round 0."""
    trace = rounds((0,), (1,))
    assert trace.x[2].tolist() == (X0 + 2 * D1).tolist()
    assert trace.state.memory.dense().tolist() == [(X0 + D0).tolist(), (X0 + 2 * D1).tolist()]
    assert trace.state.last_i.tolist() == [0, 1]


def test_the_factors_of_a_client_that_takes_part_sum_to_the_rounds() -> None:
    """Proposition 1 of the paper, in 40 rounds of random clients: a Delta of 1 in round t moves the
    model by t - last_i."""
    algorithm, random, clients = FedAWE(), np.random.default_rng(0), 4
    state, tools = serve(algorithm, clients=clients, x0=np.zeros(clients))
    factors = np.zeros(clients)
    for t in range(40):
        S = np.flatnonzero(random.random(clients) < [0.9, 0.5, 0.2, 0.1])
        if len(S) == 0:
            S = np.array([0])
        before = state.memory.dense()[S]
        algorithm.step(state, arrivals(S.tolist(), version=t, delta=np.eye(clients)[S]), tools)
        factors[S] += len(S) * (state.x - before.mean(axis=0))[S]  # client i alone moves coordinate i
        assert factors[S] == pytest.approx(t + 1, rel=1e-12)


def test_the_message_does_not_matter() -> None:
    """A client receives no model at a round's start: it trains from its own."""
    X_1 = np.array([5.0, 6.0])
    algorithm = FedAWE()
    state, tools = serve(algorithm, clients=2, x0=np.zeros(2))
    assert algorithm.local(algorithm.broadcast(state, tools), None, X_1).start is X_1  # type: ignore[arg-type]


def test_a_run_goes_on_from_a_checkpoint_with_its_own_models() -> None:
    assert contract.resumes(FedAWE(sampling="without_replacement", cohort_size=3)).startswith("saved and restored")


def test_whoever_is_there_takes_part() -> None:
    info = Info(30, np.ones(30))
    assert FedAWE().dispatch(info).select == "all"
    assert FedAWE(sampling="without_replacement").dispatch(info) == Rounds(select="without_replacement", cohort_size=10)
