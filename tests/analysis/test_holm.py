"""By hand: p-values times m, m - 1, .. in ascending order, each at least the one before."""

import pytest

from fedbench.analysis.holm import holm


def test_by_hand():
    # ascending: 0.01 * 4, 0.02 * 3, 0.03 * 2 (kept at 0.06), 0.04 * 1 (kept at 0.06)
    assert [one.p for one in holm([0.04, 0.01, 0.03, 0.02], 0.05)] == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_steps_down_and_not_bonferroni():
    # 0.01 * 3 and 0.02 * 2 are below 0.05; Bonferroni's 0.02 * 3 is not
    first, second, third = holm([0.01, 0.02, 0.5], 0.05)
    assert (first.p, second.p, third.p) == pytest.approx((0.03, 0.04, 0.5))


def test_levels_are_those_at_which_the_tests_were_made():
    # the second of three does not reject, so the third is not tried and has its level
    assert [one.level for one in holm([0.001, 0.03, 0.04], 0.05)] == pytest.approx([1 - 0.05 / 3, 1 - 0.05 / 2, 1 - 0.05 / 2])
    assert [one.level for one in holm([0.001, 0.002, 0.003], 0.05)] == pytest.approx([1 - 0.05 / 3, 1 - 0.05 / 2, 0.95])


def test_at_most_one_and_in_the_order_given():
    assert [one.p for one in holm([0.9, 0.8], 0.05)] == [1.0, 1.0]
    assert holm([], 0.05) == []
    assert [one.p for one in holm([0.2], 0.05)] == [0.2]
