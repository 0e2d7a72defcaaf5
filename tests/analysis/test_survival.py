"""The median of Kaplan-Meier against worked examples, its own definition and simulated truths."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.analysis.survival import ROUNDING, median_arrival

Runs = tuple[list[float | None], list[float]]
DRUG = (6, 6, 6, 7, 10, 13, 16, 22, 23), (6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35)
PLACEBO = (1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23), ()


def runs(events: tuple[int, ...], censored: tuple[int, ...]) -> Runs:
    return [*map(float, events), *[None] * len(censored)], [0.0] * len(events) + list(map(float, censored))


def random_runs(seed: int, size: int, digits: int) -> Runs:
    """Returns exponential times of mean 10, censored at uniform times."""
    generator = np.random.default_rng(seed)
    times, ends = np.round(generator.exponential(10, size), digits), np.round(generator.uniform(5, 40, size), digits)
    return [float(t) if t <= end else None for t, end in zip(times, ends, strict=True)], ends.tolist()


def by_hand(reached: list[float | None], censored_at: list[float]) -> float | None:
    """Returns the median by the product over the times of arrival, in fractions."""
    ends = [end if time is None else time for time, end in zip(reached, censored_at, strict=True)]
    waiting = Fraction(1)
    for time in sorted({time for time in reached if time is not None}):
        watched = sum(end >= time for end in ends)
        waiting *= Fraction(watched - reached.count(time), watched)
        if waiting <= Fraction(1, 2):
            return time
    return None


def test_worked_examples() -> None:
    """Freireich et al. 1963: remissions of 21 patients in weeks with 6-MP, and of 21 with a
    placebo. The medians, 23 and 8 weeks, are in every textbook."""
    assert median_arrival(*runs(*DRUG)) == 23
    assert median_arrival(*runs(*PLACEBO)) == 8


def test_every_week_of_the_textbooks_table() -> None:
    """`early` arrivals before all others multiply the share that waits by 21 / (21 + early). So a
    week whose share in the table is s is reached first with 42 s - 21 of them, and each week
    becomes the median."""
    reached, ends = runs(*DRUG)
    table = {6: 0.8571, 7: 0.8067, 10: 0.7529, 13: 0.6902, 16: 0.6275, 22: 0.5378, 23: 0.4482}
    needed = {week: math.ceil(42 * (share - 5e-5) - 21) for week, share in table.items()}
    for early in range(22):
        found = median_arrival([1.0] * early + reached, [0.0] * early + ends)
        assert found == (1 if early == 21 else min(week for week, least in needed.items() if early >= least))


def test_runs_with_one_budget() -> None:
    assert median_arrival([3.0, 5.0, None, None], [10.0] * 4) == 5
    assert median_arrival([3.0, 5.0, None, None, None], [10.0] * 5) is None
    assert median_arrival([9.0, 2.0, 2.0, 1.0, 2.0], [10.0] * 5) == 2


def test_a_miss_was_still_watched_at_the_time_when_its_watch_ended() -> None:
    assert median_arrival([6.0, 7.0, None], [10.0, 10.0, 6.0]) == 7
    assert median_arrival([6.0, 7.0, None], [10.0, 10.0, 5.0]) == 6


def test_nobody_or_everybody_arrives() -> None:
    assert median_arrival([None, None], [8.0, 8.0]) is None
    assert median_arrival([1.0, 3.0], [8.0, 8.0]) == 1


@pytest.mark.parametrize("half", [12, 19, 60])
def test_a_half_is_a_half_however_it_is_rounded(half: int) -> None:
    """The product of these shares in floating point is 1/2 and a little more."""
    times = [float(t) for t in range(1, half + 1)]
    assert median_arrival([*times, *[None] * half], [99.0] * (2 * half)) == half


TIMES = st.lists(st.tuples(st.booleans(), st.integers(1, 6)), min_size=1, max_size=40)


@given(TIMES)
def test_it_is_the_product_by_hand(times: list[tuple[bool, int]]) -> None:
    reached, ends = [float(t) if hit else None for hit, t in times], [float(t) for _, t in times]
    assert median_arrival(reached, ends) == by_hand(reached, ends)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.integers(1, 30))
def test_a_run_that_never_arrives_is_not_flattered(times: list[int], budget: int) -> None:
    """The median with a miss is at least that with any arrival in its place."""
    known = [float(t) if t <= budget else None for t in times]
    ends = [float(budget)] * (len(known) + 1)
    with_miss = median_arrival([*known, None], ends)
    for arrival in range(1, budget + 1):
        with_hit = median_arrival([*known, float(arrival)], ends)
        assert with_miss is None or (with_hit is not None and with_hit <= with_miss)


def test_staggered_censoring_is_not_biased() -> None:
    """The median of those that arrived is far too small, the estimate is not."""
    reached, ends = random_runs(3, 4000, 12)
    truth = 10 * math.log(2)
    assert median_arrival(reached, ends) == pytest.approx(truth, rel=0.04)
    assert np.median([t for t in reached if t is not None]) < 0.9 * truth


def test_lifelines_says_the_same() -> None:
    """The numbers of runs are odd, since lifelines may round a half upwards."""
    lifelines = pytest.importorskip("lifelines")
    found = []
    for seed in range(40):
        reached, ends = random_runs(seed, 31 + 2 * seed, 0)
        observed = [end if time is None else time for time, end in zip(reached, ends, strict=True)]
        other = lifelines.KaplanMeierFitter().fit(observed, [time is not None for time in reached])
        found.append(median_arrival(reached, ends))
        assert found[-1] == other.median_survival_time_, seed
    assert len(set(found)) >= 5


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=12))
def test_it_is_the_estimate_of_scipy(runs: list[tuple[int, bool]]) -> None:
    """Times of 0 to 6, many of which are tied, as (time, whether the run arrived)."""
    from scipy.stats import CensoredData, ecdf

    hits, misses = [float(t) for t, hit in runs if hit], [float(t) for t, hit in runs if not hit]
    waiting = ecdf(CensoredData(uncensored=hits, right=misses)).sf
    half = np.flatnonzero(waiting.probabilities <= 0.5 + ROUNDING)
    wanted = float(waiting.quantiles[half[0]]) if len(half) else None
    assert median_arrival([float(t) if hit else None for t, hit in runs], [float(t) for t, _ in runs]) == wanted
