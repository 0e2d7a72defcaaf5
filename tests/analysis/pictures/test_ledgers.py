"""Staleness and participation from ledgers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.analysis.pictures.ledgers import participation, staleness
from fedbench.errors import RecordError
from fedbench.results.record import Record
from tests.conftest import alter, record

COUNTS = st.lists(st.integers(0, 50), max_size=8)


def run(histogram: Sequence[int], seed: int = 0, **more: Any) -> Record:
    one = record("fedbuff", seed)
    values = {"staleness_mean": 1.0, "staleness_max": len(histogram), "jobs_consumed": sum(histogram)}
    spread = {"participation_min": 1, "participation_max": 6 + 2 * seed, "participation_gini": 0.1 * seed}
    alter(one, "ledger", {"staleness_histogram": list(histogram), **values, **spread, **more})
    return one


def test_seeds_are_pooled() -> None:
    (one,) = staleness({"fedbuff": [run([4, 0, 1]), run([3, 2], seed=1)]})
    assert one.shares == (0.7, 0.2, 0.1)
    assert (one.beyond, one.largest, one.mean.n) == (0.0, 3, 2)


def test_results_that_are_older_than_the_histogram_are_beyond() -> None:
    (one,) = staleness({"ace": [run([6, 2], jobs_consumed=10, staleness_max=900)]})
    assert one.shares == (0.6, 0.2)
    assert one.beyond == pytest.approx(0.2)
    assert one.largest == 900


def test_a_result_that_is_used_twice_counts_twice() -> None:
    (one,) = staleness({"fedavg": [run([10], jobs_consumed=7)]})
    assert (one.shares, one.beyond) == ((1.0,), 0.0)


def test_nothing_used() -> None:
    (one,) = staleness({"a": [run([0])]})
    assert (one.shares, one.beyond) == ((), 0.0)
    (own,) = participation({"a": [run([0])]})
    assert own.mean == 0.0


@given(st.lists(st.tuples(COUNTS, st.integers(0, 30)), min_size=1, max_size=4))
def test_shares_add_up_to_all(given: list[tuple[list[int], int]]) -> None:
    runs = [run(counts, seed, jobs_consumed=sum(counts) + older) for seed, (counts, older) in enumerate(given)]
    (one,) = staleness({"a": runs})
    assert sum(one.shares) + one.beyond == pytest.approx(1.0 if any(sum(counts) + older for counts, older in given) else 0.0)


def test_participation_is_of_clients() -> None:
    (one,) = participation({"fedbuff": [run([200]), run([400], seed=1)]})
    assert (one.clients, one.least, one.mean, one.most) == (100, 1.0, 3.0, 7.0)
    assert one.gini.mean == pytest.approx(0.05)


def test_a_reference_has_no_clients_to_take_part() -> None:
    pooled = run([5])
    alter(pooled, "spec.algorithm.reference", True)
    assert participation({"centralised": [pooled]}) == ()


def test_a_ledger_without_a_histogram_is_named(record: Callable[..., Record]) -> None:
    with pytest.raises(
        RecordError, match=r"record [0-9a-f]{16} \(slow_tail, fedavg, seed 3\): its ledger has no 'staleness_histogram'"
    ):
        staleness({"fedavg": [record("fedavg", 3)]})
