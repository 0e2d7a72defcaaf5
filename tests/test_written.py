"""Numbers and signs as texts."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fedbench import written
from fedbench.written import Ratio

POSITIVE = st.floats(1e-4, 1e14)
LETTERS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


def read(text: str) -> float:
    """The number that a text says, with the letter of its unit."""
    found = re.fullmatch(r"([\d,.]+(?:e-\d+)?) ?([kMGTP]?) ?(B|s)?", text)
    assert found is not None, text
    return float(found[1].replace(",", "")) * LETTERS[found[2]]


@pytest.mark.parametrize("write", [written.number, written.seconds, written.size, written.digits, written.three])
@given(value=POSITIVE)
@example(99.95)
@example(999.5)
@example(999_999.5)
def test_a_number_reads_as_it_was_to_three_digits(write, value: float) -> None:
    assert read(write(value)) == pytest.approx(value, rel=5.1e-3)
    assert "e+" not in write(value)


@given(POSITIVE, POSITIVE)
def test_larger_numbers_never_read_as_smaller(a: float, b: float) -> None:
    low, high = sorted((a, b))
    for write in (written.seconds, written.size, written.digits, written.tenths):
        assert read(write(low)) <= read(write(high)) * (1 + 1e-12)


@given(st.integers(0, 10**14))
def test_whole_numbers_below_a_million_are_in_full(value: int) -> None:
    assert written.exact(value) == f"{value}"
    if value < 1e6:
        assert written.number(value) == f"{value:,}"


@given(st.floats(0, 1))
def test_only_nothing_is_nothing(share: float) -> None:
    assert (written.percent(share) == "0 %") == (share == 0)
    assert (written.thousandths(share) == "0.000") == (share == 0)


@given(st.booleans(), st.booleans())
def test_the_sign_follows_what_is_missed(misses: bool, other: bool) -> None:
    expected = {(False, False): "", (True, False): "≥", (False, True): "≤", (True, True): "?"}[misses, other]
    assert written.sign(misses, other) == expected
    assert written.cost(12.0, misses).startswith("≥ ") == misses
    assert written.at_least("12 s", misses) == ("at least 12 s" if misses else "12 s")
    found = Ratio(1.25, 0.0 if other else 1.0, math.inf if misses else 1.5)
    assert found.sign == expected
    assert found.is_known == (not (misses and other))


@given(POSITIVE, st.floats(0, 1), st.one_of(st.none(), st.floats(1, 1e6)))
def test_a_ratio_is_what_a_document_has_of_it(value: float, low: float, high: float | None) -> None:
    found = Ratio.of((value, low, high))
    assert found.numbers == (value, low, high)
    assert f"{found}".endswith("∞]") == (high is None)
    text, interval = found.parts
    assert (interval == "") == (low == 0 and high is None), "too few seeds say nothing"
    assert f"{found}" == f"{text} {interval}" or not interval


@given(st.floats(1e-3, 1e5), st.floats(1e-6, 1e3))
def test_a_mean_has_the_digits_that_its_interval_leaves(mean: float, half: float) -> None:
    assume(half < mean)
    middle, _, width = written.measured(mean, half).partition(" ± ")
    assert float(width) == pytest.approx(half, rel=0.1)
    assert abs(float(middle) - mean) <= 0.051 * half


def test_bounds_and_intervals() -> None:
    assert f"{Ratio(1.236, 1.014, math.inf)}" == "≥ 1.24 [1.01, ∞]"
    assert Ratio(1.236, 1.0, 1.5).text == "1.24"
    assert Ratio(1.236, 0.0, math.inf).parts == ("1.24", "")
    assert Ratio(math.inf, 0.0, math.inf).numbers is None
    assert written.bound("12.3", misses=True, gap="") == "≥12.3"
    assert written.spoken("≤ 0.9") == "at most 0.9"
    assert written.estimate(1.11, 1.09, 1.15, "≥") == "≥ 1.11 [1.09, 1.15]"
    assert [written.estimate(1.5, *ends) for ends in ((1.5, 1.5), (None, None))] == ["1.50", "1.50"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (0, "0"), (12, "12"), (12.34, "12.3"), (0.01234, "0.0123"), (99.97, "100"), (1234.5, "1,234"),
        (999_999, "999,999"), (1_234_567, "1.23 M"), (999.6e6, "1,000 M"), (4.2e9, "4.20 G"),
    ],
)  # fmt: skip
def test_number(value: float | None, text: str) -> None:
    assert written.number(value) == text


def test_exact_numbers() -> None:
    assert [written.exact(x) for x in (2065408, 0.1, 1e15, 3e-5, 4.0)] == ["2065408", "0.1", "1e+15", "3e-05", "4"]


def test_styles_of_a_cost() -> None:
    axes = {"seconds": 12.0, "gradient_evaluations": 1234.5, "bytes": 2.5e9}
    assert [written.cost(value, False, axis) for axis, value in axes.items()] == ["12.0 s", "1,234", "2.50 GB"]
    assert [written.cost(value, True, axis, written.SHORT) for axis, value in axes.items()] == ["≥ 12 s", "≥ 1,234", "≥ 2,500 MB"]
    assert written.cost(None, True) == "–"
    assert written.cost_between((12.0, 10.4, 15.26)) == "12 s [10.4 s, 15.3 s]"
    assert written.cost_between((2.5e9, 2e9, 3e9), "bytes", written.FULL) == "2.50 GB [2 GB, 3 GB]"
    assert [written.tenths(value) for value in (12.34, 99.94, 99.96)] == ["12.3", "99.9", "100"]


def test_sizes_and_shares() -> None:
    assert [written.size(x) for x in (None, 12, 1500, 2.5e9, 7e17)] == ["–", "12 B", "1.50 kB", "2.50 GB", "700 PB"]
    shares = (None, 0, 1e-9, 0.005, 0.0051, 0.314, 1)
    assert [written.percent(x) for x in shares] == ["–", "0 %", "<1 %", "<1 %", "1 %", "31 %", "100 %"]
    assert written.targets([0.6, 0.625]) == "60, 62.5 %"


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (0.8731, 0.0042, "0.873 ± 0.004"), (0.5, None, "0.500"), (None, None, "–"), (0.5, 1e-5, "0.500 ± <0.001"),
        (0.5, 0.0, "0.500 ± 0.000"),
    ],
)  # fmt: skip
def test_accuracy(mean: float | None, half: float | None, text: str) -> None:
    assert written.accuracy(mean, half) == text


def test_differences() -> None:
    assert written.difference(-0.0123, 0.0312) == "−0.012 ± 0.031"
    assert written.difference(0.002, 0.0001) == "+0.002 ± <0.001"
    assert [written.measured(84.2134, half) for half in (None, 0.0, 0.351, 3.51)] == [
        "84.21",
        "84.21 ± 0",
        "84.21 ± 0.35",
        "84.2 ± 3.5",
    ]


def test_amounts_and_places() -> None:
    assert [written.amount(x, "s") for x in (None, 12.0, 1234.0)] == ["–", "12.0 s", "1,234 s"]
    assert [written.place(x, "s") for x in (None, 12.0, 12.5)] == ["–", "12 s", "12.5 s"]
    assert [written.place(x, "B") for x in (12, 1.5e9)] == ["12 B", "1.50 GB"]
    assert written.place(26.0, "updates") == "26 updates"
    assert written.median(12.34, None, "s") == "12.3 s"
    assert [written.median(None, 20.0, unit) for unit in ("s", "updates")] == ["> 20.0 s", "> 20"]


def test_counts() -> None:
    assert [written.counted(n, "run") for n in (0, 1, 1234)] == ["0 runs", "1 run", "1,234 runs"]


def test_times_of_computing() -> None:
    hours = (None, 0.0, 0.5 / 3600, 30 / 3600, 0.2, 1.0, 9.96, 47.0, 72.0)
    assert [written.hours(x) for x in hours] == ["", "<1 s", "<1 s", "30 s", "12 min", "1 h", "10 h", "47 h", "3 days"]
    assert [written.duration(x) for x in (1.5, 0.02, 3.1e-6, 4e-7)] == ["1.5 s", "20 ms", "3.1 µs", "400 ns"]


def test_ticks() -> None:
    assert [written.tick(x, "s") for x in (0.5, 1000.0, 2e6, 3e9)] == ["0.5", "1,000", "2 M", "3 G"]
    assert [written.tick(x, "B") for x in (2e7, 1.5e3)] == ["20 MB", "1.50 kB"]
