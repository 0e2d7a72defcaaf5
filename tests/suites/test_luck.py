"""The luck of tuning: what half of the trials would have found, by hand and by drawing, and
marks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.suites.luck import expected_best, luck, place_of
from fedbench.suites.space import Interval
from fedbench.suites.tuning import Outcome

SPACE = {"local_lr": Interval(low=0.01, high=1.0), "buffer_size": Interval(low=1, high=21, scale="linear")}


def outcome(seconds: float | None) -> Outcome:
    return Outcome("id", 0, "finished", 100.0, (0.8,), (seconds,), 0.5, "digest")


def tried(*seconds: float | None, **options: Any) -> dict[int, tuple[dict[str, Any], list[Outcome]]]:
    """Trials with these times; the best one, which is no default, has the options."""
    best = min(range(len(seconds)), key=lambda k: seconds[k] or 100.0)
    return {k: (options if k == best else {}, [outcome(one)]) for k, one in enumerate(seconds)}


def test_half_of_the_trials_by_hand() -> None:
    """Of the drawn trials 10, 20, 40 and 80 s two are made; the default needs 30 s. The first is
    10 s in 3 of 6 pairs, 20 s in 2, and else the default is the best."""
    assert expected_best([10, 20, 30, 40, 80], default=2) == pytest.approx((3 * 10 + 2 * 20 + 1 * 30) / 6)
    assert luck(tried(30, 10, 20, 40, 80), SPACE).at_half == pytest.approx(100 / 6 / 10)


def test_half_of_the_trials_by_drawing() -> None:
    generator = np.random.default_rng(0)
    values = np.sort(generator.exponential(10, 17))
    default = 5
    others = np.delete(np.arange(17), default)
    drawn = [values[min(default, *generator.choice(others, 8, replace=False))] for _ in range(40_000)]
    assert expected_best(values.tolist(), default) == pytest.approx(np.mean(drawn), rel=0.01)


def test_the_default_can_be_the_best() -> None:
    found = luck(tried(5, 10, 20), SPACE)
    assert (found.at_half, found.second, found.marks) == (1.0, 2.0, ["second best trial 2.00 times"])
    assert luck({0: ({}, [outcome(5)])}, SPACE).at_half == 1, "there is no other trial"


def test_marks_have_their_numbers() -> None:
    found = luck(tried(30, 10, 12, local_lr=0.0105, buffer_size=20.4), SPACE)
    assert found.edges == {"local_lr": pytest.approx(0.0106, abs=1e-3), "buffer_size": pytest.approx(0.97)}
    assert found.marks == ["buffer_size at 3 % from the upper end", "local_lr at 1 % from the lower end"]
    assert not found.stands_alone
    assert luck(tried(30, 10, 12, local_lr=0.1, buffer_size=11), SPACE).marks == []


def test_a_miss_counts_with_the_budget() -> None:
    assert luck(tried(None, 10, 50), SPACE).second == 5


def test_places_on_both_scales() -> None:
    assert place_of(SPACE["local_lr"], 0.1) == pytest.approx(0.5)
    assert place_of(SPACE["buffer_size"], 11) == pytest.approx(0.5)
