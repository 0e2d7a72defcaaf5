"""m-synchronous SGD by hand (problem of by_hand.py): who makes an update, and when."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.algorithms.msync import MSync
from fedbench.errors import UsageError
from fedbench.types import Info, Rounds
from tests.algorithms.by_hand import D0, D1, X0, arrivals, delta_0, many_clients, run, serve, two_clients

SPEEDS = (1.0, 3.25, 0.5, 2.0, 1.75)


def test_the_first_results_make_the_update_and_everybody_starts_again() -> None:
    """m = 1, 1 s and 2.5 s: client 1 is called off at 1 s and at 2 s, so client 0 alone moves the
    model."""
    trace = run(MSync(local_lr=0.25, cohort_size=1), two_clients(), 2, seconds=(1, 2.5))
    x1 = X0 + D0
    assert trace.consumed() == [(0, 0), (0, 1)]
    assert trace.seconds == [1, 2]
    assert [x.tolist() for x in trace.x[1:]] == [x1.tolist(), (x1 + delta_0(x1)).tolist()]


def test_all_results_make_it_by_default() -> None:
    assert MSync().dispatch(Info(7, np.ones(7))) == Rounds(select="all")
    trace = run(MSync(local_lr=0.25, server_lr=0.5), two_clients(), 1, seconds=(1, 2.5))
    assert (trace.seconds, trace.x[1].tolist()) == ([2.5], (X0 + (D0 + D1) / 4).tolist())


def test_the_mean_is_over_those_that_count() -> None:
    """Two of four clients."""
    algorithm = MSync(cohort_size=2)
    state, tools = serve(algorithm, clients=4, x0=np.zeros(2))
    algorithm.step(state, arrivals([3, 1], delta=[[8.0, 0], [0, -4]]), tools)
    assert state.x.tolist() == [4, -2]


def test_of_one_instant_the_lower_clients_count() -> None:
    trace = run(MSync(cohort_size=3), many_clients(5, 2, seed=1), 4, seconds=(1.0,))
    assert [client for client, _ in trace.consumed()] == [0, 1, 2] * 4


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5])
def test_a_round_lasts_as_long_as_its_mth_fastest_job(m: int) -> None:
    """Download, compute and upload."""
    trace = run(MSync(cohort_size=m), many_clients(5, 2, seed=1), 3, seconds=SPEEDS, download=0.25, upload=0.5)
    one = sorted(SPEEDS)[m - 1] + 0.75
    assert trace.seconds == [one, 2 * one, 3 * one]


def test_fixed_speeds_end_at_the_optimum_of_the_fastest() -> None:
    """m = 3, one local step: the minimiser of F_0 + F_2 + F_4, whose clients take 1, 0.5 and 1.75
    s."""
    problem = many_clients(5, 3, seed=4)
    x = run(MSync(cohort_size=3, local_lr=0.5), problem, 300, seconds=SPEEDS, steps=1, x0=np.zeros(3)).x[-1]
    A, c = problem.A[[0, 2, 4]], problem.c[[0, 2, 4]]
    assert x == pytest.approx(np.linalg.solve(A.sum(axis=0), np.einsum("ijk,ik->j", A, c)), abs=1e-12)
    assert np.abs(x - problem.minimiser()).max() > 0.1


def test_more_results_than_clients_are_refused() -> None:
    with pytest.raises(UsageError, match="msync: cohort_size must be at most the number of clients, 7, got 8"):
        MSync(cohort_size=8).dispatch(Info(7, np.ones(7)))
