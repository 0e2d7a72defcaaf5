"""Gamma draws, Dirichlet partitions with a floor, and the public examples that nobody gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.scenarios import partition as module
from fedbench.scenarios.data_parts import Dirichlet
from fedbench.scenarios.draws import log_gamma, shares
from fedbench.scenarios.load import load
from fedbench.scenarios.partition import Rows, _dirichlet_counts, dirichlet, partition, public_rows

LABELS = np.repeat(np.arange(10), 600)


def part(alpha: float, **options: Any) -> Dirichlet:
    return Dirichlet(kind="dirichlet", alpha=alpha, **options)


def class_counts(shards: Sequence[Rows]) -> Any:
    return np.stack([np.bincount(LABELS[rows], minlength=10) for rows in shards])


@pytest.mark.parametrize("shape", [0.03, 0.3, 1.0, 2.5, 40.0])
def test_gamma_has_its_moments(shape: float) -> None:
    """Mean and variance are the shape; E log G = digamma(shape), which tells more where G is mostly
    near 0."""
    from scipy.special import polygamma, psi

    drawn = log_gamma(RandomStream(5, Purpose.partition), np.full(40_000, shape))
    error = 5 / np.sqrt(40_000)
    assert np.exp(drawn).mean() == pytest.approx(shape, abs=error * np.sqrt(shape))
    assert np.exp(drawn).var() == pytest.approx(shape, abs=error * np.sqrt(2 * shape**2 + 6 * shape))
    assert drawn.mean() == pytest.approx(psi(shape), abs=error * np.sqrt(polygamma(1, shape)))


def test_known_draws() -> None:
    """Fixed by the determinism contract: another seed, client or purpose gives other numbers."""
    drawn = log_gamma(RandomStream(0, Purpose.partition, 2), [0.3, 1.0, 2.0])
    assert drawn.tolist() == pytest.approx([-1.4646929033325269, -1.7782202692486964, 0.9479642564776243], rel=1e-12)
    assert log_gamma(RandomStream(1, Purpose.partition, 2), [0.3, 1.0, 2.0]).tolist() != drawn.tolist()


def test_shares_do_not_underflow() -> None:
    assert shares(np.array([-4000.0, -4000.0, -np.inf])).tolist() == [0.5, 0.5, 0]


@settings(max_examples=8, deadline=None)
@given(st.sampled_from([1e-3, 0.03, 0.3, 5.0]), st.integers(1, 60), st.booleans(), st.integers(0, 2**64 - 1))
def test_disjoint_complete_and_never_below_the_floor(alpha: float, clients: int, stop_at_mean: bool, seed: int) -> None:
    shards = dirichlet(LABELS[::5], clients, seed, part(alpha, stop_at_mean=stop_at_mean))
    assert np.array_equal(np.sort(np.concatenate(shards)), np.arange(1200))
    assert min(map(len, shards)) >= 10
    assert all((np.diff(rows) > 0).all() for rows in shards)
    again = dirichlet(LABELS[::5], clients, seed, part(alpha, stop_at_mean=stop_at_mean))
    assert all(np.array_equal(a, b) for a, b in zip(shards, again, strict=True))


def test_the_floor_can_be_all_that_there_is() -> None:
    """1200 examples, 60 clients, 20 each: nobody can have another number, whatever alpha."""
    assert {len(rows) for rows in dirichlet(LABELS[::5], 60, 0, part(1e-3, min_examples=20))} == {20}


def test_shares_have_the_variance_of_a_dirichlet() -> None:
    """Var = (1/N)(1 - 1/N) / (N alpha + 1) for the share of a class that a client has; N = 20, alpha = 0.3, 300 classes."""
    found = np.concatenate([class_counts(dirichlet(LABELS, 20, seed, part(0.3, min_examples=1))) / 600 for seed in range(30)])
    assert found.mean() == pytest.approx(1 / 20)
    assert found.var() == pytest.approx(0.05 * 0.95 / (20 * 0.3 + 1), rel=0.1)


def test_a_large_alpha_is_even_and_a_small_one_is_not() -> None:
    assert np.abs(class_counts(dirichlet(LABELS, 10, 1, part(1e6))) - 60).max() <= 2
    assert (class_counts(dirichlet(LABELS, 10, 1, part(1e-2))).max(axis=0) > 300).all()


def test_stop_at_mean_bounds_the_largest() -> None:
    """A client is below n / N = 600 before its last class, which adds at most 600; without the rule
    some client has more."""
    largest = {
        stop: max(max(map(len, dirichlet(LABELS, 10, seed, part(0.05, stop_at_mean=stop)))) for seed in range(20))
        for stop in (True, False)
    }
    assert largest[True] < 1200 < largest[False]


def test_who_has_just_the_mean_gets_no_more_with_stop_at_mean() -> None:
    """Two classes of ten for two clients: whoever got all of the first class has the mean, ten, and
    nothing of the second."""
    drawn = [_dirichlet_counts(np.array([10, 10]), 2, part(0.01, stop_at_mean=True), seed, 0) for seed in range(40)]
    whole = [counts for counts in drawn if counts[0].max() == 10]
    assert len(whole) > 20
    assert all(counts.sum(axis=0).tolist() == [10, 10] for counts in whole)


def test_of_draws_that_all_miss_the_floor_the_best_is_filled_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smallest clients of 2, 8 and 4 examples: of the second draw two clients take two each, the
    last ones of the largest."""
    draws = ([[28, 1, 1], [28, 1, 1]], [[20, 5, 5], [24, 3, 3]], [[26, 2, 2], [26, 2, 2]])
    monkeypatch.setattr(module, "DIRICHLET_DRAWS", 3)
    monkeypatch.setattr(module, "_dirichlet_counts", lambda totals, clients, part, seed, draw: np.array(draws[draw]))
    labels = np.repeat([0, 1], 30)
    shards = dirichlet(labels, 3, 0, part(0.5, min_examples=10))
    assert [np.bincount(labels[rows]).tolist() for rows in shards] == [[20, 20], [5, 5], [5, 5]]


def test_more_floor_than_examples_is_refused() -> None:
    with pytest.raises(UsageError, match="61 clients with at least 100 examples each need 6100, the task has 6000"):
        dirichlet(LABELS, 61, 0, part(0.3, min_examples=100))


# ---- public examples


def test_public_rows_are_nobodys_and_the_same_for_all() -> None:
    scenario = load("digits-demo", ["public.size=200", "partition={kind: dirichlet, alpha: 0.5}"])
    labels = np.arange(1442) % 10
    public, shards = public_rows(scenario, 1442, 3), partition(scenario, labels, 3)
    assert public is not None
    assert len(np.unique(public)) == 200
    assert np.array_equal(np.sort(np.concatenate([public, *shards])), np.arange(1442))
    assert np.array_equal(public_rows(scenario, 1442, 3), public)  # type: ignore[arg-type]
    assert not np.array_equal(public_rows(scenario, 1442, 4), public)  # type: ignore[arg-type]
    assert 100 < np.searchsorted(public, 721) < 140  # 100 +- 6.5 of the first half: uniform, not the first rows


def test_no_public_part_no_rows() -> None:
    plain = load("digits-demo", ["public=null"])
    assert public_rows(plain, 1442, 0) is None
    assert plain.public is None
    assert load(plain, ["public.size=5"]).public == load("digits-demo", ["public.size=5"]).public
    assert load("digits-demo", ["public.size=5"]).content_hash() != plain.content_hash()


def test_public_data_leave_some_for_the_clients() -> None:
    with pytest.raises(UsageError, match=r"public\.size must leave the clients some of the 1442 training examples, got 1442"):
        public_rows(load("digits-demo", ["public.size=1442"]), 1442, 0)
