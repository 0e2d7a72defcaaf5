"""FedVARP by hand (problem of by_hand.py)."""

from __future__ import annotations

import numpy as np

from fedbench.algorithms.fedvarp import FedVARP
from fedbench.types import Info, Rounds
from tests.algorithms.by_hand import D0, X0, arrivals, delta_0, delta_1, run, serve, two_clients


def test_what_the_absent_sent_last_stands_in_for_them() -> None:
    """Rounds of client 0, 1 and 0: v = Delta_0;  Delta_1 + D0/2;  Delta_0 - D0 + (D0 + E)/2, E = the Delta_1 of the second."""
    rounds = Rounds(select="scripted", selections=((0,), (1,), (0,)))
    trace = run(FedVARP(local_lr=0.25, server_lr=0.5), two_clients(), 3, dispatch=rounds)
    x1 = X0 + D0 / 2
    E = delta_1(x1)
    x2 = x1 + (E + D0 / 2) / 2
    x3 = x2 + (delta_0(x2) - D0 + (D0 + E) / 2) / 2
    assert [x.tolist() for x in trace.x[1:]] == [x1.tolist(), x2.tolist(), x3.tolist()]
    assert trace.state.y_i.dense().tolist() == [delta_0(x2).tolist(), E.tolist()]


def test_constant_updates_give_their_mean_for_any_round() -> None:
    """As soon as everybody has taken part."""
    algorithm, delta = FedVARP(), np.array([[4.0, 0], [8, -16], [0, 32], [20, 0]])
    state, tools = serve(algorithm, clients=4, x0=np.zeros(2))
    algorithm.step(state, arrivals([0, 1, 2, 3], delta=delta), tools)
    for clients in ([2], [3, 0], [1, 2, 3, 0]):
        before = state.x
        algorithm.step(state, arrivals(clients, delta=delta[clients]), tools)
        assert (state.x - before).tolist() == [8, 4]


def test_rounds_of_a_cohort_or_of_all() -> None:
    info = Info(30, np.ones(30))
    assert FedVARP(cohort_size=3).dispatch(info) == Rounds(select="without_replacement", cohort_size=3)
    assert FedVARP(sampling="all").dispatch(info).select == "all"
