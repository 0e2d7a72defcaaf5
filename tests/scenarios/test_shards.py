"""Shards of a fixed number of classes: disjoint, exactly c classes a client, keyed; complete where
that is promised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.scenarios.data_parts import ShardsOfClasses
from fedbench.scenarios.load import load
from fedbench.scenarios.partition import Rows, partition
from fedbench.scenarios.shards import classes_in_shards, shards_per_class

CIFAR = np.tile(np.arange(10), 5000)


def dealt(labels: np.ndarray, clients: int, seed: int, per_client: int, *, balanced: bool) -> Sequence[Rows]:
    return classes_in_shards(
        labels, clients, seed, ShardsOfClasses(kind="shards", classes_per_client=per_client, balanced=balanced)
    )


def holders(labels: np.ndarray, shards: Sequence[Rows]) -> np.ndarray:
    """Examples of every class at every client (N, C)."""
    return np.array([np.bincount(labels[rows], minlength=labels.max() + 1) for rows in shards])


@given(st.integers(2, 10), st.integers(1, 10), st.integers(10, 30), st.booleans(), st.integers(0, 2**64 - 1))
def test_everybody_holds_exactly_c_classes(classes: int, c: int, clients: int, balanced: bool, seed: int) -> None:
    labels = np.tile(np.arange(classes), 2 * clients)
    shards = dealt(labels, clients, seed, min(c, classes), balanced=balanced)
    held = holders(labels, shards)
    assert (np.count_nonzero(held, axis=1) == min(c, classes)).all()
    assert (held.sum(axis=0) <= 2 * clients).all()  # with the next line: nobody's rows are another's
    rows = np.concatenate(shards)
    assert len(np.unique(rows)) == len(rows)
    again = dealt(labels, clients, seed, min(c, classes), balanced=balanced)
    assert all(np.array_equal(a, b) for a, b in zip(shards, again, strict=True))


def test_five_shards_of_500_each_on_the_papers_numbers() -> None:
    """CIFAR-10 on 20 clients: 100 shards of 500, ten of each class, all 50,000 examples used."""
    shards = dealt(CIFAR, 20, 3, 5, balanced=True)
    assert np.array_equal(np.sort(np.concatenate(shards)), np.arange(50_000))
    held = holders(CIFAR, shards)
    assert set(held.ravel()) == {0, 500}
    assert (np.count_nonzero(held, axis=0) == 10).all()


@given(st.integers(0, 1000), st.lists(st.integers(40, 80), min_size=5, max_size=5))
def test_balanced_shards_are_complete_for_classes_of_any_size(seed: int, sizes: list[int]) -> None:
    labels = np.repeat(np.arange(5), sizes)
    shards = dealt(labels, 7, seed, 2, balanced=True)
    assert np.array_equal(np.sort(np.concatenate(shards)), np.arange(len(labels)))
    assert np.count_nonzero(holders(labels, shards), axis=0).tolist() == shards_per_class(np.array(sizes), 14).tolist()


def test_every_pair_of_classes_meets_about_as_often() -> None:
    """Over 200 seeds a client holds 2 of 4 classes: each of the six pairs in about a sixth of 8 x
    200 cases (267, deviation 15)."""
    labels, pairs = np.tile(np.arange(4), 16), np.zeros((4, 4))
    for seed in range(200):
        held = (holders(labels, dealt(labels, 8, seed, 2, balanced=True)) > 0).astype(int)
        pairs += held.T @ held
    assert pairs[np.triu_indices(4, 1)] == pytest.approx(np.full(6, 1600 / 6), abs=60)


def test_unbalanced_is_the_rule_of_the_code() -> None:
    """Lists: a permutation of the classes, then uniform draws, in rows of five, a row with a class
    twice drawn again; a class of 5,000 is split evenly over its holders, and the remainder left
    over."""
    stream = RandomStream(7, Purpose.partition, 5, 0)
    drawn = np.concatenate([stream.permutation(10), [stream.below(10) for _ in range(90)]]).reshape(20, 5)
    wanted = [set(row if len(set(row)) == 5 else stream.permutation(10)[:5]) for row in drawn.tolist()]
    held = holders(CIFAR, dealt(CIFAR, 20, 7, 5, balanced=False))
    assert [set(np.flatnonzero(row)) for row in held] == wanted
    assert any(len(set(row)) < 5 for row in drawn.tolist())
    for k in range(10):
        count = sum(k in classes for classes in wanted)
        assert set(held[:, k]) <= {0, 5000 // count}
    assert len(set(held.sum(axis=1))) > 1
    assert held.sum() < 50_000


def test_no_class_is_lost_where_a_row_is_drawn_again() -> None:
    """Three classes, two a client: the permutation's last class shares its row with a draw, which
    may repeat it."""
    labels = np.tile(np.arange(3), 10)
    for seed in range(50):
        assert holders(labels, dealt(labels, 2, seed, 2, balanced=False)).sum(axis=0).min() > 0


@pytest.mark.parametrize(
    ("labels", "clients", "c", "balanced", "message"),
    [
        (np.arange(4), 9, 5, True, r"classes_per_client must be <= 4, got 5"),
        (np.arange(4), 1, 3, True, r"1 clients of 3 classes cannot hold all 4 classes; ask for more clients"),
        (np.arange(4), 4, 2, True, r"class 0 has 1 examples for the 2 clients that hold it; ask for fewer clients"),
        (np.repeat([0, 1, 2], [80, 10, 10]), 5, 2, True, r"class 0 of 3 gets 8 by its size, .* with more than there are clients"),
        (np.repeat([0, 1, 2], [60, 60, 1]), 3, 2, True, r"class 2 of 3 gets 0 by its size, which leaves it without one"),
    ],
)
def test_numbers_that_do_not_allow_it(labels: np.ndarray, clients: int, c: int, balanced: bool, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        dealt(labels, clients, 0, c, balanced=balanced)


def test_in_a_scenario() -> None:
    scenario = load("digits-demo", ["partition={kind: shards, classes_per_client: 3, balanced: false}", "public=null"])
    labels = np.tile(np.arange(10), 100)
    held = holders(labels, partition(scenario, labels, 0))
    assert (np.count_nonzero(held, axis=1) == 3).all()
