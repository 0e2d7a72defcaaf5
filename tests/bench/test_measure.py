"""Samples in turns, and what is checked before anything is timed."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench.bench.case import Ready, Way, WrongResult
from fedbench.bench.measure import Ratio, Sampler, in_turns, measure, prepare

from .test_case import toy, way


def test_ways_take_turns_and_the_order_alternates() -> None:
    calls: list[str] = []
    seconds = in_turns({name: lambda name=name: calls.append(name) for name in "abc"}, rounds=4, sample_seconds=0.0)
    assert "".join(calls) == "abc" + "abc" + "cba" + "abc" + "cba"
    assert {name: len(s) for name, s in seconds.items()} == {"a": 4, "b": 4, "c": 4}
    assert gc.isenabled()


def test_a_short_call_is_repeated() -> None:
    calls = 0

    def act() -> None:
        nonlocal calls
        calls += 1

    in_turns({"short": act}, rounds=1, sample_seconds=0.01)
    assert calls > 100


def test_ratio_is_the_median_of_the_rounds_ratios() -> None:
    """Their time over ours, round by round: a slow round of both cancels."""
    ratio = Ratio.of(np.array([2.0, 20.0, 4.0, 6.0, 9.0]), np.array([1.0, 10.0, 1.0, 2.0, 3.0]))
    assert (ratio.low, ratio.median, ratio.high) == (2.0, 3.0, 3.0)


def test_missing_ways_are_reported_and_the_rest_is_measured() -> None:
    absent = Way("absent", way("").start, ("no_such_library",))
    case = toy(way("ours", count=3), way("rival", count=3), absent)
    measured = measure(case, 3, rounds=3, sample_seconds=0.0)
    assert [w.name for w in measured.seconds] == ["ours", "rival"]
    assert measured.skipped == {absent: "no_such_library is not installed"}


def test_a_case_without_rivals_is_measured_beside_the_calibration() -> None:
    limit = Way("limit", way("", count=3).start, limit=True)
    for ways in ((way("ours", count=3),), (way("ours", count=3), limit)):
        assert [w.name for w in prepare(toy(*ways), 3)[0]] == [*(w.name for w in ways), "calibration"]


def test_nothing_is_timed_if_ours_is_missing_or_somebody_is_wrong() -> None:
    absent = Way("ours", way("").start, ("fedbench.kernels:nothing",))
    assert prepare(toy(absent, way("rival", count=3)), 3) == ({}, {absent: "this build has no fedbench.kernels.nothing"})
    with pytest.raises(WrongResult, match="toy: rival has another count"):
        prepare(toy(way("ours", count=3), way("rival", count=2)), 3)


def test_all_ways_get_the_same_inputs() -> None:
    seen: list[Any] = []

    def start(given: Any) -> Ready:
        seen.append(given)
        return Ready(lambda: {"count": 3}, lambda result: result)

    prepare(toy(Way("a", start), Way("b", start)), 3)
    assert seen[0] is seen[1]


def test_sleep_passes_and_does_not_work() -> None:
    passed, worked = Sampler(lambda: time.sleep(0.03)).both()
    assert worked < 0.01
    assert passed >= 0.03


def test_work_passes_as_long_as_it_takes_whatever_else_runs() -> None:
    def spin() -> None:
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass

    passed, worked = Sampler(spin).both()
    assert 0.02 <= worked < 0.03
    if Path("/proc/self/schedstat").exists():
        assert passed < 1.5 * worked
