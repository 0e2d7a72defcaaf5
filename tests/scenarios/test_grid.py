"""The times of evaluation: whole nanoseconds, the same on every machine, at 0 and not at an end
between two points."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.errors import UsageError
from fedbench.scenarios.evaluation_parts import EvenEvaluation, LogEvaluation
from fedbench.scenarios.grid import EvenGrid, Grid, LogGrid, Times, in_seconds, log_grid
from fedbench.scenarios.load import load

SECOND = 1_000_000_000


def grid_ns(grid: Grid, end_ns: int) -> Times:
    """The times of all points of a run that ends at `end_ns`."""
    return grid.times_ns(grid.points_until(end_ns))


LOG = "evaluation={kind: log, first_seconds: 0.5, ratio: 1.05}"
RATIOS = st.floats(1.001, 10)
FIRSTS = st.integers(10**6, 10**12)


def exact(first_ns: int, ratio: float, k: int) -> Fraction:
    return first_ns * Fraction(ratio) ** k


def test_the_first_points_of_a_logarithmic_grid() -> None:
    """As integers: another machine, or another language, has these."""
    assert log_grid(SECOND // 2, 1.05).times_ns(12).tolist() == [
        0, 500_000_000, 525_000_000, 551_250_000, 578_812_500, 607_753_125, 638_140_781, 670_047_820, 703_550_211, 738_727_722,
        775_664_108, 814_447_313,
    ]  # fmt: skip
    assert log_grid(SECOND // 2, 1.05).time_ns(150) == 718_084_521_930
    assert log_grid(SECOND, 2.0).times_ns(5).tolist() == [0, SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND]


@given(FIRSTS, RATIOS, st.data())
def test_a_point_is_the_power_rounded_to_nanoseconds(first_ns: int, ratio: float, data: st.DataObject) -> None:
    grid = LogGrid(first_ns, ratio)
    k = data.draw(st.integers(0, min(300, grid.points_until(2**62) - 2)))
    assert abs(grid.time_ns(k + 1) - exact(first_ns, ratio, k)) <= Fraction(1, 2) + Fraction(1, 1000)


@given(FIRSTS, RATIOS)
def test_points_ascend_by_the_ratio(first_ns: int, ratio: float) -> None:
    """To the rounding of both; from 0 to the end of the clock."""
    times = LogGrid(first_ns, ratio).times_ns(10**6)
    assert times[:2].tolist() == [0, first_ns]
    assert (np.diff(times) > 0).all()
    assert times[-1] * ratio > 0.99 * 2.0**63
    for one, following in itertools.pairwise(times[1:400].tolist()):
        assert abs(following - Fraction(ratio) * one) <= Fraction(1, 2) + Fraction(ratio) / 2 + Fraction(1, 500)


def test_a_grid_that_does_not_ascend_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected times that ascend, got 1 ns twice from 1 ns on by 1\.001"):
        LogGrid(1, 1.001)


@pytest.mark.parametrize("grid", [EvenGrid(7_919), LogGrid(10**6, 1.5), LogGrid(10**6, 1.001), EvenGrid(10**6)])
@given(end=st.integers(0, 10**9), others=st.lists(st.integers(0, 10**9), max_size=5))
def test_counts_are_those_of_the_times(grid: Grid, end: int, others: list[int]) -> None:
    """A point at the end counts; an end between two points is none."""
    times = grid_ns(grid, end)
    assert times.dtype == np.int64
    assert times[0] == 0
    assert times[-1] <= end < grid.time_ns(len(times))
    assert len(times) == grid.points_until(end)
    assert times[-1] == grid.time_ns(len(times) - 1)
    for given_time, point in zip([end, *others], grid.at_or_after(np.array([end, *others], np.int64)), strict=True):
        assert grid.time_ns(int(point)) >= given_time
        assert point == 0 or grid.time_ns(int(point) - 1) < given_time
        assert point == grid.points_until(given_time - 1)


def test_a_grid_is_the_beginning_of_every_longer_one() -> None:
    """So a run that ends earlier has the same points until there."""
    grid = log_grid(SECOND, 1.05)
    assert np.array_equal(grid_ns(grid, 40 * SECOND), grid_ns(grid, 400 * SECOND)[: grid.points_until(40 * SECOND)])


def test_seconds_are_divided_with_one_rounding() -> None:
    times = np.array([0, 1, 551_250_000, 2**62 + 1], np.int64)
    assert in_seconds(times).tolist() == [0.0, 1e-9, 0.55125, (2**62 + 1) / SECOND]


def test_both_kinds_in_a_scenario() -> None:
    even, log = load("digits-demo"), load("digits-demo", [LOG])
    assert isinstance(even.evaluation, EvenEvaluation)
    assert grid_ns(even.evaluation.grid, 3 * SECOND).tolist() == [0, SECOND, 2 * SECOND, 3 * SECOND]
    assert isinstance(log.evaluation, LogEvaluation)
    assert log.evaluation.grid is log_grid(SECOND // 2, 1.05)
    assert load(log).content_hash() == log.content_hash() == load("digits-demo", [LOG.replace("1.05", "1.050")]).content_hash()
    assert load("digits-demo", [LOG.replace("1.05", "1.06")]).content_hash() != log.content_hash()


def test_a_written_kind_of_even_changes_nothing() -> None:
    plain = load("digits-demo", ["evaluation={every_seconds: 2}"])
    spelt = load("digits-demo", ["evaluation={kind: even, every_seconds: 2}"])
    assert plain == spelt
    assert plain.content_hash() == spelt.content_hash()
    assert load("digits-demo", [LOG, "evaluation={every_seconds: 2}"]) == plain


def test_what_a_scenario_asks_of_its_grid() -> None:
    even, log = EvenEvaluation(every_seconds=2), LogEvaluation(kind="log", first_seconds=0.5, ratio=2)
    assert (even.step_seconds(0), log.step_seconds(0)) == (2, 0.5)
    assert (even.evaluations(9), log.evaluations(9)) == (4.5, 5)  # 0.5, 1, 2, 4, 8
    assert [even.step_seconds(at) for at in (0, 8)] == [2, 2]
    assert [log.step_seconds(at) for at in (0, 0.5, 1, 8)] == [0.5, 0.5, 0.5, 4]
    assert even.spacing == {"every_seconds": 2.0, "ratio": None}
    assert log.spacing == {"every_seconds": None, "ratio": 2.0}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("{kind: log, ratio: 1.05}", "evaluation.first_seconds must be a number, but is missing"),
        ("{kind: log, first_seconds: 0.5}", "evaluation.ratio must be a number, but is missing"),
        ("{kind: log, first_seconds: 0.5, ratio: 1}", "evaluation.ratio must be >= 1.001, got 1"),
        ("{kind: log, first_seconds: 0.0001, ratio: 2}", "evaluation.first_seconds must be >= 0.001, got 0.0001"),
        ("{kind: log, first_seconds: 0.5, ratio: 1.05, every_seconds: 1}", "unknown key evaluation.every_seconds"),
        ("{kind: logs, every_seconds: 1}", "evaluation.kind must be one of 'even', 'log', got 'logs'; did you mean 'log'"),
        ("{first_seconds: 0.5, ratio: 1.05}", "evaluation.every_seconds must be a number, but is missing"),
        ("{every_seconds: 0.001}", None),
    ],
)
def test_what_is_refused(setting: str, message: str | None) -> None:
    if message is None:
        assert load("digits-demo", [f"evaluation={setting}"])
        return
    with pytest.raises(UsageError) as refused:
        load("digits-demo", [f"evaluation={setting}"])
    assert message in str(refused.value)


def test_a_kind_is_set_key_by_key() -> None:
    """The keys of the other kind leave with it."""
    keys: list[Any] = ["evaluation.kind=log", "evaluation.first_seconds=0.5", "evaluation.ratio=1.05"]
    assert load("digits-demo", keys) == load("digits-demo", [LOG])
    assert load("digits-demo", [LOG, "evaluation.kind=even", "evaluation.every_seconds=1"]) == load("digits-demo")
