"""Comparison with the best: by hand, with misses, with few seeds, and with entrants."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from fedbench.analysis.best import Comparison, compare
from fedbench.analysis.scatter import Prior, row_variances
from fedbench.written import Ratio
from tests.analysis.boards_made_up import costs_of, drawn

LOGS = np.array([[1.0, 1.4, 2.2], [1.1, 1.3, 2.6], [0.9, 1.5, 2.1], [1.2, 1.4, 2.3]])


def test_two_rows_are_a_paired_t_test() -> None:
    """On the logarithms, with the variance of their difference."""
    found = compare(costs_of(np.exp(LOGS[:, :2])))
    difference = LOGS[:, 1] - LOGS[:, 0]
    error = difference.std(ddof=1) / 2
    assert found.difference[1, 0] == pytest.approx(difference.mean())
    assert found.lower[1, 0] == pytest.approx(difference.mean() - student.ppf(0.95, 3) * error)
    assert found.in_set.tolist() == [True, False]
    pair = found.pair(1, 0)
    half = student.ppf(0.975, 3) * error
    assert (pair.low, pair.high) == pytest.approx((math.exp(difference.mean() - half), math.exp(difference.mean() + half)))


def test_three_rows_by_hand() -> None:
    """Variances of rows, moderated; Welch's degrees of freedom; levels of 1 - 0.05 / 2."""
    prior = Prior(0.02, 1.5)
    found = compare(costs_of(np.exp(LOGS)), prior)
    v = (1.5 * 0.02 + 3 * np.maximum(row_variances(LOGS), 0)) / 4.5
    total = v[1] + v[0]
    freedom = total**2 / ((v[1] ** 2 + v[0] ** 2) / 4.5)
    assert found.error[1, 0] == pytest.approx(math.sqrt(total / 4))
    assert found.freedom[1, 0] == pytest.approx(freedom)
    assert found.lower[1, 0] == pytest.approx(0.35 - student.ppf(0.975, freedom) * math.sqrt(total / 4))
    assert found.order == [0, 1, 2]
    assert found.leader == 0


def test_regret_and_the_set_say_the_same() -> None:
    generator = np.random.default_rng(0)
    for _ in range(50):
        found = compare(drawn(generator, 5, np.linspace(0, 0.6, 6), np.full(6, 0.2)), Prior(0.04, 5))
        for row in range(6):
            regret = found.regret(row)
            assert (regret.low <= 1 <= regret.high) == found.in_set[row]
            assert regret.low <= regret.value <= regret.high
            assert regret.value >= 1


def test_the_seeds_difficulty_changes_nothing() -> None:
    """Seeds are paired: what all rows share cancels."""
    generator = np.random.default_rng(1)
    logs = generator.normal(size=(6, 4))
    one, other = (compare(costs_of(np.exp(logs + shift))) for shift in (0, 3 * generator.normal(size=(6, 1))))
    assert one.lower[~np.eye(4, dtype=bool)] == pytest.approx(other.lower[~np.eye(4, dtype=bool)], abs=1e-9)


def one_miss(second_spent: float) -> Comparison:
    """Row a holds both targets; row b misses the second one with seed 0, after `second_spent`."""
    spent = np.array([[[10.0, 20.0], [10.0, second_spent]], [[10, 20], [10, 40]], [[10, 22], [10, 44]]])
    missed = np.zeros(spent.shape, bool)
    missed[0, 1, 1] = True
    return compare(costs_of(spent, missed))


def test_a_miss_counts_with_what_it_had_spent() -> None:
    found = one_miss(80.0)
    assert found.difference[1, 0] == pytest.approx((math.log(4) + 2 * math.log(2)) / 6)
    assert found.is_bound.tolist() == [[False, False], [True, False]]
    ratio = found.pair(1, 0)
    assert (ratio.high, ratio.sign) == (math.inf, "≥")
    assert (found.pair(0, 1).low, found.pair(0, 1).sign) == (0, "≤")


def test_who_misses_early_does_not_exclude_who_arrives_later() -> None:
    """Row b gave up after 5 s. As far as anybody knows it needs at least as long as row a."""
    found = one_miss(5.0)
    assert found.difference[0, 1] == pytest.approx((0 - 2 * math.log(2)) / 6), "at most 0 for seed 0"
    assert found.difference[1, 0] == -found.difference[0, 1]
    assert found.least[0, 1] == found.difference[0, 1]
    assert found.least[1, 0] == pytest.approx((math.log(5 / 20) + 2 * math.log(2)) / 6), "least favourable for leaving b out"


def test_what_both_miss_is_left_out() -> None:
    """With seed 0 both miss the second target, which would make them look alike."""
    spent = np.array([[[10.0, 100.0], [20.0, 100.0], [5, 7]], [[10, 20], [20, 40], [5, 8]], [[10, 30], [20, 60], [6, 9]]])
    missed = np.zeros(spent.shape, bool)
    missed[0, :2, 1] = True
    found = compare(costs_of(spent, missed))
    assert found.difference[1, 0] == pytest.approx(math.log(2))
    assert found.seeds[1, 0] == 3
    missed[0, :2, 0] = True
    assert compare(costs_of(spent, missed)).seeds[1, 0] == 2, "with seed 0 both miss all targets"
    assert np.isnan(compare(costs_of(spent, missed)).error[1, 0]), "two seeds are left, which are too few"


def test_variances_are_over_what_the_pair_keeps() -> None:
    """Row b scatters at the first target only, and the second one, which both miss with all seeds,
    does not make its mean look steady."""
    generator = np.random.default_rng(2)
    spent = np.exp(generator.normal(size=(6, 3, 2)) * 0.3)
    missed = np.zeros(spent.shape, bool)
    missed[:, :2, 1] = True
    spent[:, :2, 1] = 50.0
    both = compare(costs_of(spent, missed))
    alone = compare(costs_of(spent[:, :, :1], missed[:, :, :1]))
    assert both.error[0, 1] == pytest.approx(alone.error[0, 1])


def test_two_seeds_tell_nothing_apart() -> None:
    found = compare(costs_of([[1.0, 9.0, 5.0], [1.1, 9.2, 5.0]]))
    assert not found.is_known
    assert found.in_set.all()
    assert found.pair(0, 1).low == 0
    assert found.pair(0, 1).high == math.inf
    assert compare(costs_of([[1.0, 9.0]])).in_set.all(), "nor does one"


def test_equal_differences_are_as_sure_as_the_grid() -> None:
    """Ten seeds that differ by the same ratio have no scatter of their own."""
    spent = np.tile([[10.0, 10.5, 30.0]], (10, 1))
    fine, coarse = (compare(costs_of(spent, step=step)) for step in (1e-3, 0.3))
    assert fine.in_set.tolist() == [True, False, False]
    assert coarse.in_set.tolist() == [True, True, False], "a step of 30 % hides 5 %"
    assert coarse.pair(1, 0).low < 1 < coarse.pair(1, 0).high, "no interval is without width"


def test_who_reaches_nothing_is_not_in_the_set() -> None:
    spent = np.tile([[10.0, 20.0]], (3, 1))
    missed = np.tile([[False, True]], (3, 1))
    found = compare(costs_of(spent, missed, step=0.1))
    assert (found.in_set.tolist(), found.leader) == ([True, False], 0)
    nobody = compare(costs_of(spent, np.ones((3, 2), bool), step=0.1))
    assert (nobody.in_set.tolist(), nobody.leader) == ([False, False], None)


def test_one_row_is_alone() -> None:
    found = compare(costs_of([[1.0], [2.0], [3.0]]))
    assert found.in_set.tolist() == [True]
    assert found.regret(0) == Ratio(1.0, 1.0, 1.0)


def test_an_entrant_that_is_not_the_best_moves_no_regret() -> None:
    generator = np.random.default_rng(3)
    logs = generator.normal(np.array([0, 0.3, 0.5, 0.2]), 0.1, (5, 4))
    before = compare(costs_of(np.exp(logs)))
    later = compare(costs_of(np.exp(np.concatenate([logs, generator.normal(0.9, 0.1, (5, 1))], axis=1))))
    assert [later.regret(k).value for k in range(4)] == pytest.approx([before.regret(k).value for k in range(4)])


def test_an_entrant_that_is_the_best_moves_all_by_one_factor() -> None:
    generator = np.random.default_rng(4)
    logs = generator.normal(np.array([0, 0.3, 0.5, 0.2]), 0.1, (5, 4))
    before = compare(costs_of(np.exp(logs)))
    later = compare(costs_of(np.exp(np.concatenate([logs, generator.normal(-0.7, 0.1, (5, 1))], axis=1))))
    factors = [later.regret(k).value / before.regret(k).value for k in range(4)]
    assert factors == pytest.approx([factors[0]] * 4)
    assert factors[0] > 1.5


def test_the_cheapest_row_is_that_with_the_smallest_regret() -> None:
    """Row b gave up early with seed 0, which makes its mean cost small; where both arrive it needs
    twice as much."""
    spent = np.array([[10.0, 0.1], [10, 20], [10, 20], [10, 20]])
    missed = np.zeros((4, 2), bool)
    missed[0, 1] = True
    found = compare(costs_of(spent, missed, step=0.01))
    assert found.costs.score[1] < found.costs.score[0]
    assert (found.leader, found.order, found.regret(0).value) == (0, [0, 1], 1.0)


def test_two_rows_of_which_one_never_arrives_keep_their_scatter() -> None:
    """Row b is at its end with every seed, and row a arrives at 10 to 40 s."""
    spent = np.array([[10.0, 50.0], [20, 50], [40, 50], [15, 50]])
    found = compare(costs_of(spent, np.tile([[False, True]], (4, 1)), step=1e-3))
    assert found.error[0, 1] == pytest.approx(np.log(spent[:, 0]).std(ddof=1) / 2)


def test_without_any_scatter_nothing_is_told_apart() -> None:
    """Two rows that differ by one ratio with every seed, on an axis that is not read on a grid."""
    found = compare(costs_of(np.tile([[10.0, 20.0]], (5, 1))))
    assert found.in_set.all()
    assert (found.pair(1, 0).low, found.pair(1, 0).high) == (0, math.inf)
