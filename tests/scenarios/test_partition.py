"""Partitions: disjoint, complete, keyed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.errors import UsageError
from fedbench.scenarios.data_parts import Natural, Overlapping
from fedbench.scenarios.load import load
from fedbench.scenarios.partition import Rows, iid, natural, overlapping, partition, public_rows, two_class


def assert_disjoint_and_complete(shards: Sequence[Rows], examples: int) -> None:
    assert np.array_equal(np.sort(np.concatenate(shards)), np.arange(examples))


@given(st.integers(1, 200), st.integers(1, 40), st.integers(0, 2**64 - 1))
def test_iid_is_disjoint_complete_and_even(examples: int, clients: int, seed: int) -> None:
    shards = iid(examples, clients, seed)
    assert_disjoint_and_complete(shards, examples)
    sizes = [len(rows) for rows in shards]
    assert max(sizes) - min(sizes) <= 1
    assert all(np.array_equal(a, b) for a, b in zip(shards, iid(examples, clients, seed), strict=True))


def test_the_seed_is_the_key() -> None:
    assert not np.array_equal(iid(100, 2, 0)[0], iid(100, 2, 1)[0])


@given(st.integers(2, 10), st.integers(5, 40), st.integers(0, 10_000))
def test_two_class_gives_everybody_two_classes(classes: int, clients: int, seed: int) -> None:
    labels = np.repeat(np.arange(classes), 4 * clients)
    shards = two_class(labels, clients, seed)
    assert_disjoint_and_complete(shards, len(labels))
    assert all(len(np.unique(labels[rows])) == 2 for rows in shards)


def test_two_class_on_the_papers_numbers() -> None:
    """60,000 examples, 10 classes, 100 clients: 200 shards of 300, two per client."""
    labels = np.tile(np.arange(10), 6000)
    shards = two_class(labels, 100, 3)
    assert {len(rows) for rows in shards} == {600}
    assert all(set(np.unique(labels[rows], return_counts=True)[1]) == {300} for rows in shards)


def test_no_class_is_left_out() -> None:
    with pytest.raises(UsageError, match="leave class 4 of 5 classes without one"):
        two_class(np.arange(5), 2, 0)


def test_no_shard_is_empty() -> None:
    """With more shards than examples a client would have one class."""
    with pytest.raises(UsageError, match="22 shards for 11 clients need as many examples, the task has 20"):
        two_class(np.arange(20) % 3, 11, 0)


def test_one_dominant_class_cannot_be_split_so() -> None:
    with pytest.raises(UsageError, match="class 0 fills 9 of 10 shards"):
        two_class(np.array([0] * 90 + [1] * 10), 5, 0)


def test_an_empty_client_is_an_error_that_names_it() -> None:
    scenario = load("digits-demo", ["clients=50", "partition={kind: iid}", "public=null"])
    with pytest.raises(UsageError, match=r"leaves at least 10 of 50 clients without an example: .*40 training examples"):
        partition(scenario, np.zeros(40, np.int64), 0)


@given(st.integers(1, 90), st.integers(1, 300), st.data())
def test_overlapping_clients_have_so_many_different_examples(examples: int, clients: int, data: st.DataObject) -> None:
    size, seed = data.draw(st.integers(1, examples)), data.draw(st.integers(0, 2**64 - 1))
    part = Overlapping(kind="overlapping", examples_per_client=size)
    shards = overlapping(examples, clients, seed, part)
    assert len(shards) == clients
    for rows in shards:
        assert len(np.unique(rows)) == len(rows) == size
        assert rows.min() >= 0
        assert rows.max() < examples
    again = overlapping(examples, clients, seed, part)
    assert all(np.array_equal(a, b) for a, b in zip(shards, again, strict=True))


def test_overlapping_places_are_uniform_and_of_the_seed() -> None:
    part = Overlapping(kind="overlapping", examples_per_client=3)
    shards = overlapping(50, 200_000, 4, part)
    counts = np.bincount(np.concatenate(list(shards)), minlength=50)
    assert np.abs(counts / (200_000 * 3 / 50) - 1).max() < 0.06  # six standard deviations
    assert not np.array_equal(overlapping(50, 100, 0, part).begin, overlapping(50, 100, 1, part).begin)
    assert not np.array_equal(overlapping(50, 100, 0, part).rows, overlapping(50, 100, 1, part).rows)


def test_overlapping_clients_have_no_public_example_and_not_too_many() -> None:
    many = ("clients=5000", "partition={kind: overlapping, examples_per_client: 30}")
    scenario, labels = load("digits-demo", many), np.zeros(1442, np.int64)
    public = public_rows(scenario, 1442, 2)
    assert public is not None
    found = partition(scenario, labels, 2)
    assert not np.isin(found.rows, public).any()
    assert len(np.unique(found.rows)) == 1442 - len(public)
    with pytest.raises(UsageError, match="examples_per_client must be at most the 1300 training examples of the task, got 1301"):
        partition(load("digits-demo", [*many, "partition.examples_per_client=1301"]), labels, 2)


OWNER = np.array([2, 5, 2, 0, 5, 5, 9, 2, 7, 7])
"""Owner 0 and 9 have one example, 7 two, 2 and 5 three."""


@pytest.mark.parametrize(
    ("clients", "floor", "expected"),
    [
        (1, 1, [[0, 2, 7]]),  # of two as large, the one with the lower number
        (2, 1, [[0, 2, 7], [1, 4, 5]]),
        (3, 2, [[0, 2, 7], [1, 4, 5], [8, 9]]),
        (4, 1, [[3], [0, 2, 7], [1, 4, 5], [8, 9]]),
    ],
)
def test_the_largest_owners_are_clients(clients: int, floor: int, expected: list[list[int]]) -> None:
    part = Natural(kind="natural", min_examples=floor)
    assert [rows.tolist() for rows in natural(OWNER, clients, 0, part)] == expected


def test_owners_are_drawn_alike_among_those_above_the_floor() -> None:
    part = Natural(kind="natural", min_examples=2, select="drawn")
    found = [tuple(OWNER[rows[0]] for rows in natural(OWNER, 2, seed, part)) for seed in range(3000)]
    counts = {pair: found.count(pair) for pair in set(found)}
    assert sorted(counts) == [(2, 5), (2, 7), (5, 7)]
    assert all(abs(count - 1000) < 5 * 26 for count in counts.values())  # five standard deviations


def test_too_few_owners_and_none_known_are_errors() -> None:
    with pytest.raises(
        UsageError, match="3 clients need as many owners with at least 3 training examples each, of 5 owners 2 have so many"
    ):
        natural(OWNER, 3, 0, Natural(kind="natural", min_examples=3))
    scenario = load("digits-demo", ["partition={kind: natural}", "public=null"])
    with pytest.raises(
        UsageError, match="natural needs a data set that says who owns an example, and that of task digits does not"
    ):
        partition(scenario, np.zeros(40, np.int64), 0)


def test_owners_without_a_training_example_are_counted() -> None:
    part = Natural(kind="natural")
    with pytest.raises(
        UsageError,
        match=r"of 8 owners 5 have so many, and 3 have no training example left, since .*test: \{share: 0.2, within: owner\}",
    ):
        natural(OWNER, 6, 0, part, 8)
    with pytest.raises(UsageError, match=r"of 5 owners 5 have so many; lower min_examples"):
        natural(OWNER, 6, 0, part)
