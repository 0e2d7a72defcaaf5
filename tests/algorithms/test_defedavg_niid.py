"""DeFedAvg-nIID by hand (problem of by_hand.py), its send buffers, and the share of every
client."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.defedavg_niid import DeFedAvgNIID
from fedbench.kernels.scheduler import Duration, LocalSteps, Scheduler, Timing
from fedbench.types import Info, Mailbox
from tests.algorithms.by_hand import D0, D1, X0, arrivals, delta_0, run, serve, two_clients


def defedavg(**options: Any) -> DeFedAvgNIID:
    return DeFedAvgNIID(**({"local_lr": 0.25, "server_lr": 1, "cohort_size": 3} | options))


@pytest.mark.parametrize(
    ("options", "step"),
    [({}, D0 / 3 * 2 + D1 / 3), ({"average": "distinct"}, (D0 + D1) / 2), ({"server_lr": 0.5}, (D0 / 3 * 2 + D1 / 3) / 2)],
)
def test_multiplicity(options: dict[str, Any], step: np.ndarray[Any, Any]) -> None:
    """Draws 0, 0, 1: two thirds of Delta_0 and one third of Delta_1, or half each over distinct
    clients."""
    trace = run(defedavg(**options), two_clients(), 1, dispatch=Mailbox(selections=((0, 0, 1),)))
    assert trace.consumed() == [(0, 0), (0, 0), (1, 0)]
    assert trace.x[1] == pytest.approx(X0 + step, rel=1e-15)


def test_distinct_is_exact_and_weighs_buffers_alike() -> None:
    algorithm, info = defedavg(average="distinct"), Info(2, np.ones(2))
    batch = arrivals([1, 0, 1, 1], delta=np.zeros((4, 2)))
    assert algorithm.entry_weights(batch, info).tolist() == [0.5, 0.5, 0, 0]
    assert defedavg().entry_weights(batch, info).tolist() == [0.25] * 4


def test_a_round_waits_for_the_drawn() -> None:
    """1 s and 2.5 s, upload 1/4 s: round 0 draws client 1, which is in at 2.75 s; round 1 draws
    client 0, whose result is there.

    peek: client 0 has trained on version 0 twice by then, and the second result has overwritten the
    first.
    """
    trace = run(
        defedavg(cohort_size=1),
        two_clients(),
        2,
        seconds=(1, 2.5),
        upload=0.25,
        dispatch=Mailbox(receive="peek", selections=((1,), (0,))),
    )
    assert trace.seconds == [2.75, 3.0]
    assert trace.consumed() == [(1, 0), (0, 0)]
    assert trace.x[2].tolist() == (X0 + D1 + D0).tolist()


@pytest.mark.parametrize(("send", "base"), [("continuous", 1), ("on_demand", 0)])
def test_the_send_buffer(send: Any, base: int) -> None:
    """1 s and 2.5 s; rounds draw client 1, 1, then 0. continuous: client 0's newest result is of
    version 1, started at 2.5 s; on_demand: it has kept that of version 0."""
    dispatch = Mailbox(send=send, selections=((1,), (1,), (0,)))
    trace = run(defedavg(cohort_size=1), two_clients(), 3, seconds=(1, 2.5), dispatch=dispatch)
    assert trace.seconds == [2.5, 5.0, 5.0]
    assert trace.consumed() == [(1, 0), (1, 1), (0, base)]
    assert trace.x[3].tolist() == (trace.x[2] + delta_0(trace.x[base])).tolist()


def test_every_client_has_the_same_share_whatever_its_speed() -> None:
    """3000 draws of 10 clients, the fastest 20 times as fast as the slowest; chi-square with 9
    degrees of freedom, 99.9 % below 27.9."""
    timing = Timing(clients=10, compute=Duration.constant(np.geomspace(1, 20, 10)), steps=LocalSteps(values=1), max_updates=600)
    chunk = Scheduler(timing, defedavg(cohort_size=5).dispatch(Info(10, np.ones(10)))).next()
    counts = np.bincount(chunk.client[chunk.entries], minlength=10)
    assert counts.sum() == 3000
    assert ((counts - 300) ** 2 / 300).sum() < 27.9


def test_the_options_reach_the_clock() -> None:
    algorithm = defedavg(send="on_demand", receive="peek")
    wanted = Mailbox(cohort_size=3, send="on_demand", receive="peek")
    assert algorithm.dispatch(serve(algorithm, 2, X0)[1].info) == wanted
