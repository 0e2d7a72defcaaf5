"""The resolution of a board, and whether its leader is that of half of the seeds. The power is
simulated in test_acceptance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import nct
from scipy.stats import t as student

from fedbench.analysis.best import compare
from fedbench.analysis.resolution import MOST_SPLITS, resolution, stability
from tests.analysis.boards_made_up import costs_of, drawn


def test_by_hand() -> None:
    """Two rows, four seeds: the noncentral t that exceeds the 95 % quantile in 80 %."""
    found = compare(costs_of(np.exp([[0.0, 0.5], [0.1, 0.4], [0.0, 0.8], [0.2, 0.9]])))
    shown = resolution(found)
    bias = math.sqrt(2 / 3) * math.gamma(2) / math.gamma(1.5)
    assert shown is not None
    distance = math.log(shown) / (found.error[0, 1] / bias)
    assert nct.sf(student.ppf(0.95, 3), 3, distance) == pytest.approx(0.8, abs=1e-6)


def test_more_seeds_show_more() -> None:
    generator = np.random.default_rng(0)
    shown = [resolution(compare(drawn(generator, n, np.zeros(8), np.full(8, 0.3)))) for n in (3, 10, 40)]
    assert shown[0] > shown[1] > shown[2] > 1  # type: ignore[operator]


def test_nothing_can_be_told_apart() -> None:
    assert resolution(compare(costs_of([[1.0, 2.0], [1.0, 2.0]]))) is None, "two seeds"
    assert resolution(compare(costs_of([[1.0]] * 5))) is None, "one row"
    never = compare(costs_of([[1.0, 2.0]] * 5, np.ones((5, 2), bool), step=0.1))
    assert resolution(never) is None, "rows that never arrive"


def test_stability_by_hand() -> None:
    """Of the three ways to halve four seeds, those that keep the first two together have other
    leaders."""
    assert stability(compare(costs_of([[1.0, 2.0], [1.0, 2.0], [3.0, 2.0], [3.0, 2.0]]))) == pytest.approx(2 / 3)
    assert stability(compare(costs_of([[1.0, 2.0]] * 5))) == 1
    assert stability(compare(costs_of([[1.0, 2.0]]))) is None
    assert stability(compare(costs_of([[1.0, 2.0]] * 3))) is None, "a half would be one seed"


def test_many_seeds_are_split_at_random_and_always_alike() -> None:
    found = compare(drawn(np.random.default_rng(1), 30, np.zeros(3), np.full(3, 0.3)))
    assert math.comb(30, 15) > MOST_SPLITS
    first = stability(found)
    assert first == stability(found)
    assert 0 < first < 1  # type: ignore[operator]


def test_a_half_in_which_nobody_arrives_has_no_leader() -> None:
    """Only with seed 0 somebody arrives, so no two halves agree."""
    missed = np.ones((4, 2), bool)
    missed[0, 0] = False
    assert stability(compare(costs_of([[1.0, 2.0]] * 4, missed))) == 0
