"""DeFedAvg-IID by hand (problem of by_hand.py)."""

from __future__ import annotations

from typing import Any

from fedbench.algorithms.defedavg_iid import DeFedAvgIID
from tests.algorithms.by_hand import D0, D1, X0, run, two_clients


def defedavg(**options: Any) -> DeFedAvgIID:
    return DeFedAvgIID(**({"local_lr": 0.25, "server_lr": 1} | options))


def test_the_first_arrivals_make_an_update() -> None:
    """n = 1, 1 s and 1.5 s: x1 = x0 + 1/2 Delta_0 at 1 s, x2 = x1 + 1/2 Delta_1 (from version 0, tau = 1) at 1.5 s.

    Client 0 starts again from version 1 at 1 s: x1 = (41/16, 5/2), Delta_0(x1) = (7/16 (1 - 41/16), -3/4 * 5/2), tau = 1 at 2 s.
    """
    trace = run(defedavg(cohort_size=1, server_lr=0.5), two_clients(), 3, seconds=(1, 1.5))
    assert trace.seconds == [1.0, 1.5, 2.0]
    assert trace.consumed() == [(0, 0), (1, 0), (0, 1)]
    assert trace.x[1].tolist() == (X0 + D0 / 2).tolist() == [41 / 16, 5 / 2]
    assert trace.x[2].tolist() == (X0 + D0 / 2 + D1 / 2).tolist() == [17 / 16, 33 / 16]
    assert trace.x[3].tolist() == [17 / 16 - 7 / 32 * 25 / 16, 33 / 16 - 15 / 16]


def test_pop_waits_and_peek_trains_again() -> None:
    """n = 2, 1 s and 2.5 s. pop: both clients, at 2.5 s. peek: client 0 twice from version 0, at 2
    s."""
    pop = run(defedavg(cohort_size=2), two_clients(), 1, seconds=(1, 2.5))
    assert (pop.seconds, pop.consumed()) == ([2.5], [(0, 0), (1, 0)])
    assert pop.x[1].tolist() == (X0 + (D0 + D1) / 2).tolist()
    peek = run(defedavg(cohort_size=2, receive="peek"), two_clients(), 1, seconds=(1, 2.5))
    assert (peek.seconds, peek.consumed()) == ([2.0], [(0, 0), (0, 0)])
    assert peek.x[1].tolist() == (X0 + D0).tolist()
