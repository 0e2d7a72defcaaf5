"""The rules of the verdicts, case by case. The borders are given by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedbench.documents.paper import ORDERS, VERDICTS
from fedbench.papers import rules
from fedbench.papers.judging import Judged, Printed, Reading, interval_of, judge, lies_within, order

HIT = st.floats(1, 1000).map(Reading)
MISS = st.floats(1, 1000).map(lambda value: Reading(value, missed=True))
T3 = 4.302652729749464
"""The 97.5 % point of Student's t with two degrees of freedom, for three seeds."""


def readings(*values: float, missed: bool = False) -> list[Reading]:
    return [Reading(value, missed) for value in values]


def around(mean: float, half: float) -> list[Reading]:
    """Three seeds with this mean and half-width: mean - s, mean, mean + s have the deviation s."""
    s = half * math.sqrt(3) / T3
    return readings(mean - s, mean, mean + s)


def of(values: list[Reading], printed: float = 100, **more: object) -> Judged:
    return judge(Printed(printed, **more), values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mean", "half", "word"),
    [
        (100, 14.99, "reproduced"),
        (100, 15.01, "close"),  # the interval reaches below 0.85
        (103, 14.99, "reproduced"),
        (103, 15.01, "close"),  # above 1.18
        (85.01, 0.005, "reproduced"),
        (85.01, 0.02, "close"),
        (84.99, 0.02, "not decided"),
        (84.99, 0.005, "contradicted"),
        (117.99, 0.005, "reproduced"),
        (117.99, 0.02, "close"),
        (118.01, 0.02, "not decided"),
        (118.01, 0.005, "contradicted"),
        (500, 381, "contradicted"),
        (500, 383, "not decided"),
        (20, 64, "contradicted"),
        (20, 66, "not decided"),
        (100, 500, "close"),  # it contains everything, so the mean alone says something
    ],
)
def test_three_seeds(mean: float, half: float, word: str) -> None:
    """The same at a hundredth of the size, since only ours / printed counts."""
    assert of(around(mean, half)).word == word
    assert of(around(mean / 100, half / 100), 1.0).word == word


def test_the_ends_of_the_range_belong_to_it() -> None:
    """A grid of step 0 and seeds that barely differ: the mean is on the border itself."""
    assert of(readings(85)).word == of(readings(118)).word == "close"
    assert of(readings(84.999)).word == of(readings(118.001)).word == "not decided"
    assert of(readings(80, 85, 90), step=1).word == "close"


@pytest.mark.parametrize(
    ("mean", "half", "word"),
    [
        (60, 1.49, "reproduced"),
        (60, 1.51, "close"),
        (61.49, 0.005, "reproduced"),
        (61.49, 0.02, "close"),
        (61.51, 0.02, "not decided"),
        (61.51, 0.005, "contradicted"),
        (58.51, 0.005, "reproduced"),
        (58.51, 0.02, "close"),
        (58.49, 0.02, "not decided"),
        (58.49, 0.005, "contradicted"),
        (70, 5, "contradicted"),  # 17 % more, of which nothing would be left by a quotient
    ],
)
def test_accuracies_by_points(mean: float, half: float, word: str) -> None:
    assert of(around(mean, half), 60.0, accuracy=True).word == word


def test_one_seed_is_close_at_best_and_contradicts_nothing() -> None:
    assert of(readings(100)).word == "close"
    assert of(readings(1000)).word == of(readings(1)).word == "not decided"
    assert of(readings(60), 60.0, accuracy=True).word == of(readings(61.5), 60.0, accuracy=True).word == "close"
    assert of(readings(5), 60.0, accuracy=True).word == of(readings(61.6), 60.0, accuracy=True).word == "not decided"
    assert of(readings(100)).why == "The one seed is 1.00 times the printed number, and has no interval."
    assert of(readings(100)).interval.half_width is None


def test_two_seeds_contradict_and_do_not_reproduce() -> None:
    """Their interval reaches 12.7 standard errors to either side."""
    assert of(readings(99.99, 100.01)).word == "close"
    assert of(readings(200, 200.5)).word == "contradicted"
    assert of(readings(200, 220)).word == "not decided"
    assert of(readings(200, 220)).why == "The mean is 2.10 times the printed number, 95 % interval 0.83 to 3.37 (2 seeds)."


def test_seeds_that_are_equal_have_the_scatter_of_their_grid() -> None:
    """6, 6, 6 rounds: a standard deviation of 1 / sqrt(12) rounds, so 6 +- 0.72."""
    found = interval_of(readings(6, 6, 6), 1.0)
    assert found.half_width == pytest.approx(T3 / math.sqrt(12) / math.sqrt(3)) == pytest.approx(0.717, abs=1e-3)
    assert of(readings(6, 6, 6), 7.89, step=1).word == "not decided"  # up to 6.717 / 7.89 = 0.851
    assert of(readings(6, 6, 6), 7.91, step=1).word == "contradicted"
    assert of(readings(6, 6, 6), 6, step=1).word == "reproduced"
    assert of(readings(6, 6, 6), 6, step=2).word == "close"
    # a grid finer than the scatter changes nothing
    assert interval_of(readings(5, 6, 7), 0.1) == interval_of(readings(5, 6, 7), 0.0)
    assert interval_of(readings(5, 6, 7), 100.0).half_width == pytest.approx(71.7, abs=0.1)


def test_without_a_grid_equal_seeds_have_no_interval() -> None:
    assert of(readings(60, 60, 60), 60, accuracy=True).word == "close"
    found = of(readings(90, 90, 90), 60, accuracy=True)
    assert (found.word, found.why) == (
        "not decided",
        "The mean is 30.00 points above the printed number; 3 seeds that are equal have no interval.",
    )


def test_a_target_that_no_seed_reaches_is_a_bound() -> None:
    """The interval begins where the earliest seed ended; three seeds are needed to speak of one."""
    found = of(readings(200, 200, 200, missed=True))
    assert (found.word, found.interval.low, found.interval.high) == ("contradicted", 200, math.inf)
    assert (
        found.why == "None of 3 seeds reaches the target; the interval begins where they ended, at 2.00 times the printed number."
    )
    assert found.interval.half_width is None
    assert of(readings(118.1, 200, 200, missed=True)).word == "contradicted"
    assert of(readings(117.9, 200, 200, missed=True)).word == "not decided"
    assert of(readings(100, 100, 100, missed=True)).word == "not decided"  # was not watched for long enough
    assert (
        of(readings(200, missed=True)).why
        == "The one seed ends without the target, at 2.00 times the printed number; it has no interval."
    )
    assert of(readings(200, 200, missed=True)).word == of(readings(200, missed=True)).word == "not decided"


def test_a_target_that_some_seeds_reach_decides_nothing() -> None:
    found = of([*readings(90, 100), *readings(110, missed=True)])
    assert (found.word, found.interval.low) == ("not decided", None)
    assert found.why == (
        "1 of 3 seeds ends without the target, so the mean is at least 1.00 times the printed number and has no interval."
    )
    assert of([*readings(90, 100), *readings(900, missed=True)]).word == "not decided"
    assert of([*readings(500), *readings(900, 900, missed=True)]).word == "not decided"


def test_diverging() -> None:
    """An accuracy of 0 by convention: neither reproduced nor close with one, and only all
    contradict for certain. Where a time is measured it is a miss."""
    diverged = Reading(0.0, diverged=True)
    found = of([diverged, Reading(70), Reading(80)], 50, accuracy=True)
    assert (found.word, found.interval.mean) == ("not decided", 50)
    assert found.why.endswith("(3 seeds). 1 of 3 seeds diverges and counts as 0 %.")
    assert of([diverged] * 3, 60, accuracy=True).word == "contradicted"
    assert of([diverged] * 3, 1.0, accuracy=True).word == "not decided"  # an accuracy that says nothing
    assert of([diverged] * 2, 60, accuracy=True).word == of([diverged], 60, accuracy=True).word == "not decided"
    assert of([diverged, *readings(1, 2, 0, 1)], 60, accuracy=True).word == "contradicted"
    late = Reading(200, missed=True, diverged=True)
    assert of([late] * 3).why == "All 3 seeds diverge, and count as watched without the target, to 2.00 times the printed number."
    assert of([late, *readings(100, 100)]).word == "not decided"
    assert "1 of 3 seeds ends without the target (1 diverged)" in of([late, *readings(100, 100)]).why
    assert of([late, late, late]).word == "contradicted"
    assert (diverged.text, Reading(3, missed=True).text, Reading(3).text) == ("diverged", ">3", "3")


def test_bounds() -> None:
    """>880 stands for everything from there on; the runs end there."""
    assert of(readings(880, 880, 880, missed=True), 880, censored=True).word == "reproduced"
    assert of(readings(880, 880, missed=True), 880, censored=True).word == "close"
    assert of([*readings(700), *readings(880, 880, missed=True)], 880, censored=True).word == "close"
    assert of([*readings(400), *readings(880, 880, missed=True)], 880, censored=True).word == "not decided"
    assert of(readings(100, 101, 102), 880, censored=True).word == "contradicted"
    assert of(readings(100, 400, 700), 880, censored=True).word == "not decided"
    assert of(readings(100), 880, censored=True).word == "not decided"
    assert of(around(860, 10), 880, censored=True).word == "reproduced"  # as near as 15 %
    assert of(around(750, 10), 880, censored=True).word == "close"


def test_a_guess_is_at_best_close() -> None:
    found = of(around(100, 1), guessed=True)
    assert (found.word, "no better than close" in found.why) == ("close", True)
    found = of(around(300, 1), guessed=True)
    assert (found.word, "together with our guess" in found.why) == ("contradicted", True)
    assert of(readings(300), guessed=True).word == "not decided"
    assert of(readings(880, 880, 880, missed=True), 880, censored=True, guessed=True).word == "close"


def test_no_seed_is_no_number() -> None:
    with pytest.raises(ValueError, match="at least one seed"):
        of([])
    with pytest.raises(ValueError, match="finite readings"):
        of(readings(math.nan))


@given(st.floats(1, 1000), st.lists(HIT, min_size=1, max_size=5), st.lists(MISS, max_size=4), st.booleans())
def test_a_verdict_is_supported_by_its_interval(
    printed: float, hits: list[Reading], misses: list[Reading], accuracy: bool
) -> None:
    found = of(hits + misses, printed, accuracy=accuracy)
    low, high = (-rules.POINTS, rules.POINTS) if accuracy else (rules.LOW, rules.HIGH)

    def place(value: float) -> float:
        return value - printed if accuracy else value / printed

    values = [one.value for one in hits + misses]
    assert found.interval.mean == pytest.approx(np.mean(values))
    if found.word in ("reproduced", "contradicted"):
        assert not misses
        ends = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        inside = [low <= place(end) <= high for end in ends]
        assert inside == [found.word == "reproduced"] * 2
        assert len(values) >= (3 if found.word == "reproduced" else 2)
    if found.word in ("reproduced", "close"):
        assert low <= place(found.interval.mean) <= high


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ({0: 100.0, 1: 110.0, 2: 120.0}, {0: 104.0, 1: 115.0, 2: 124.0}, "kept"),  # 4 %, by the interval of quotients
        ({0: 100.0, 1: 110.0, 2: 120.0}, {0: 101.0, 1: 118.0, 2: 121.0}, "undecided"),  # all agree, by less than 1.2
        ({0: 100.0, 1: 100.0, 2: 100.0}, {0: 101.0, 1: 180.0, 2: 101.0}, "kept"),  # all agree, by 1.27
        ({0: 100.0, 1: 100.0, 2: 100.0}, {0: 101.0, 1: 155.0, 2: 101.0}, "undecided"),  # by 1.19
        ({0: 100.0, 1: 100.0, 2: 100.0}, {0: 99.0, 1: 300.0, 2: 300.0}, "undecided"),  # one the other way round
        ({0: 100.0, 1: 100.0}, {0: 150.0, 1: 200.0}, "kept twice"),  # by an interval that says nothing
        ({0: 100.0, 1: 100.0}, {0: 150.0, 1: 90.0}, "undecided"),
        ({0: 100.0, 1: 100.0}, {0: 150.0, 1: 151.0}, "kept"),
        ({0: 6.0, 1: 6.0, 2: 6.0}, {0: 7.0, 1: 7.0, 2: 7.0}, "undecided"),  # no scatter, no interval
        ({0: 6.0, 1: 12.0, 2: 24.0}, {0: 7.0, 1: 14.0, 2: 28.0}, "undecided"),  # the same quotient but for rounding
        ({0: 5.0, 1: 5.0, 2: 5.0}, {0: 7.0, 1: 7.0, 2: 7.0}, "kept"),
        ({0: 1.0}, {0: 1.01}, "kept once"),
        ({0: 3.0}, {0: 3.0}, "undecided"),
        ({0: 1.0}, {1: 3.0}, "undecided"),  # no seed in common
        ({0: 1.0, 2: 9.0}, {0: 3.0}, "kept once"),  # a seed that only one has says nothing
        ({}, {}, "undecided"),
        ({0: 1.0}, {0: ">3"}, "kept once"),
        ({0: 5.0}, {0: ">3"}, "undecided"),  # watched for less long than the other needed
        ({0: ">5"}, {0: ">3"}, "undecided"),
        ({0: 1.0, 1: 1.0, 2: 1.0}, {0: ">3", 1: ">3", 2: ">3.1"}, "kept"),
        ({0: 1.0, 1: 1.0, 2: 1.0}, {0: ">1.1", 1: ">1.1", 2: ">1.12"}, "undecided"),  # by a factor of at least 1.1 alone
        ({0: 1.0, 1: 1.0, 2: ">9"}, {0: ">3", 1: ">3", 2: ">3"}, "undecided"),  # one seed without an order
        ({0: 1.0, 1: 1.0}, {0: ">3", 1: ">3.1"}, "kept twice"),
        ({0: 5.0, 1: 1.0}, {0: ">3", 1: ">3.1"}, "undecided"),
        ({0: 0.0, 1: 0.0, 2: 0.0}, {0: 2.0, 1: 3.0, 2: 4.0}, "kept"),  # no quotient, and a factor without end
    ],
)
def test_orders(first: dict[int, float | str], second: dict[int, float | str], found: str) -> None:
    """The first is printed smaller; the other way round it is the other verdict."""
    opposite = {"kept": "broken", "kept twice": "broken twice", "kept once": "broken once", "undecided": "undecided"}
    one, other = (
        {seed: Reading(float(str(value).removeprefix(">")), missed=isinstance(value, str)) for seed, value in each.items()}
        for each in (first, second)
    )
    assert order(-1, one, other) == order(1, other, one) == found
    assert order(1, one, other) == order(-1, other, one) == opposite[found]


def test_orders_of_accuracies_are_of_differences() -> None:
    """By 2 points each: the quotients of small accuracies differ widely, the differences hardly."""
    first = {0: Reading(2.0), 1: Reading(40.0), 2: Reading(80.0)}
    second = {0: Reading(4.0), 1: Reading(42.1), 2: Reading(82.0)}
    assert order(-1, first, second, accuracy=True) == "kept"
    assert order(-1, first, second) == "undecided"
    diverged = Reading(0.0, diverged=True)
    assert order(1, {0: diverged}, {0: Reading(10)}, accuracy=True) == "broken once"
    assert order(1, {0: diverged}, {0: diverged}, accuracy=True) == "undecided"
    assert order(-1, {0: diverged, 1: Reading(9), 2: Reading(9)}, dict.fromkeys(range(3), Reading(9.5)), accuracy=True) == "kept"
    near = {0: Reading(88), 1: Reading(9), 2: Reading(9)}
    assert order(-1, near, {0: Reading(88.1), 1: Reading(9.5), 2: Reading(10)}, accuracy=True) == "undecided"


def test_an_accuracy_of_zero_is_no_difference() -> None:
    """Seeds that diverge have an order and no interval: two of them are seen, and decide
    nothing."""
    diverged = Reading(0.0, diverged=True)
    assert order(-1, {0: diverged, 1: diverged}, {0: Reading(80), 1: Reading(80.1)}, accuracy=True) == "kept twice"


def test_where_a_reading_lies() -> None:
    """A run that ended early may still have come to lie there, one without a model may not."""
    cases = {Reading(84.9): False, Reading(85): True, Reading(118): True, Reading(118.1): False}
    cases |= {Reading(118.1, missed=True): False, Reading(118, missed=True): None, Reading(10, missed=True): None}
    cases |= {Reading(100, missed=True, diverged=True): False, Reading(0, diverged=True): False}
    assert {one: lies_within(one, 100, 0.85, 1.18) for one in cases} == cases


def test_the_words_have_a_sentence_each() -> None:
    assert list(rules.IN_SHORT) == [*VERDICTS, *ORDERS]
    assert all(text.endswith(".") for text in rules.IN_SHORT.values())
    assert (rules.VERSION, rules.LOW, rules.HIGH, rules.POINTS, rules.FEWEST, rules.FACTOR) == (2, 0.85, 1.18, 1.5, 3, 1.2)
