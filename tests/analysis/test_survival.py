"""Kaplan-Meier against a worked example, its own definition and simulated truths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.analysis.survival import arrivals
from fedbench.errors import UsageError


def test_a_worked_example() -> None:
    """Freireich et al. 1963, 6-MP arm: remissions of 21 patients in weeks; the table of survival is
    in every textbook."""
    events = [6, 6, 6, 7, 10, 13, 16, 22, 23]
    censored = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    found = arrivals([*map(float, events), *[None] * 12], [0.0] * 9 + list(map(float, censored)))
    expected = {6: 0.8571, 7: 0.8067, 10: 0.7529, 13: 0.6902, 16: 0.6275, 22: 0.5378, 23: 0.4482}
    for week, waiting in expected.items():
        assert 1 - found.share_at(week) == pytest.approx(waiting, abs=5e-5)
    assert found.median == 23


def test_restricted_mean_of_runs_with_one_budget_is_their_mean() -> None:
    """With the same censoring time for all it is the plain mean of min(time, budget)."""
    found = arrivals([3.0, 5.0, None, None], [10.0] * 4)
    assert found.restricted_mean(10) == pytest.approx((3 + 5 + 10 + 10) / 4)
    assert found.restricted_mean(4) == pytest.approx((3 + 4 + 4 + 4) / 4)
    assert found.share_at(4.9) == 0.25
    assert found.share_at(5) == 0.5
    assert found.median == 5
    with pytest.raises(UsageError, match="were watched until 10 only"):
        found.restricted_mean(11)


def test_nobody_or_everybody_arrives() -> None:
    never = arrivals([None, None], [8.0, 8.0])
    assert (never.restricted_mean(8), never.median, never.share_at(8)) == (8, None, 0)
    always = arrivals([1.0, 3.0], [8.0, 8.0])
    assert always.restricted_mean(100) == pytest.approx(2)
    with pytest.raises(UsageError, match="at least one run"):
        arrivals([], [])


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.integers(1, 30))
def test_a_run_that_never_arrives_is_not_flattered(times: list[int], budget: int) -> None:
    """The restricted mean with a miss is at least that with any arrival in its place."""
    known = [float(t) if t <= budget else None for t in times]
    with_miss = arrivals([*known, None], [float(budget)] * (len(known) + 1)).restricted_mean(budget)
    for arrival in range(1, budget + 1):
        with_hit = arrivals([*known, float(arrival)], [float(budget)] * (len(known) + 1)).restricted_mean(budget)
        assert with_hit <= with_miss + 1e-9


def test_staggered_censoring_is_not_biased() -> None:
    """Exponential times of mean 10, censored at uniform times: the mean of those that arrived is
    far too small, the estimate is not."""
    generator = np.random.default_rng(3)
    times, ends = generator.exponential(10, 4000), generator.uniform(5, 40, 4000)
    reached = [float(t) if t <= end else None for t, end in zip(times, ends, strict=True)]
    found = arrivals(reached, ends.tolist())
    truth = 10 * (1 - np.exp(-0.5))  # E min(T, 5)
    assert found.restricted_mean(5) == pytest.approx(truth, rel=0.02)
    assert found.share_at(10) == pytest.approx(1 - np.exp(-1), abs=0.02)
    assert np.mean([t for t in reached if t is not None]) < 8.5


def test_lifelines_says_the_same() -> None:
    import lifelines

    generator = np.random.default_rng(0)
    times, ends = np.round(generator.exponential(10, 60)) + 1, np.round(generator.uniform(5, 40, 60))
    reached = [float(t) if t <= end else None for t, end in zip(times, ends, strict=True)]
    found = arrivals(reached, ends.tolist())
    other = lifelines.KaplanMeierFitter().fit(np.minimum(times, ends), times <= ends)
    for time in range(1, 40):
        assert 1 - found.share_at(time) == pytest.approx(float(other.predict(time)), abs=1e-12)
