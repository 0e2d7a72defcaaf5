"""Shares of problems solved; a frozen reference that no entrant moves; fronts."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from fedbench.analysis.profiles import Problem, Reference, Solved, Times, as_json, ecdf, freeze, profile, read
from fedbench.errors import UsageError

EASY, HARD = Problem("base", 0.6), Problem("base", 0.8)
BUDGET = {EASY: 100.0, HARD: 100.0}
FAST = Times({EASY: (5.0, 7.0), HARD: (50.0, math.inf)}, BUDGET)
SLOW = Times({EASY: (20.0, 24.0), HARD: (math.inf, math.inf)}, BUDGET)


def test_shares_solved_by_a_share_of_the_budget() -> None:
    assert ecdf(FAST, np.array([0.04, 0.05, 0.07, 0.5, 1.0])).tolist() == [0, 0.25, 0.5, 0.75, 0.75]
    assert ecdf(SLOW, np.array([0.2, 1.0])).tolist() == [0.25, 0.5]


def test_the_reference_is_the_best_median_of_what_was_solved() -> None:
    reference = freeze("axes", {"fast": FAST, "slow": SLOW}, {"fast": "ab", "slow": "cd"})
    assert reference.seconds == {EASY: 6.0}, "half of the seeds missed the hard one, so its median is infinite"
    assert profile(FAST, reference, np.array([0.8, 1.0, 2.0])).tolist() == [0, 0.5, 1]
    assert profile(SLOW, reference, np.array([3.0, 4.0])).tolist() == [0, 1]


def test_an_entrant_moves_nobody() -> None:
    """However fast it is: the others' profiles are of the frozen reference alone."""
    reference = freeze("axes", {"fast": FAST, "slow": SLOW}, {})
    factors = np.geomspace(0.1, 10, 30)
    before = profile(SLOW, reference, factors)
    fastest = Times({EASY: (1.0, 1.0), HARD: (1.0, 1.0)}, BUDGET)
    assert profile(fastest, reference, factors)[5] == 1
    assert np.array_equal(profile(SLOW, reference, factors), before)
    assert freeze("axes", {"fast": FAST, "slow": SLOW, "fastest": fastest}, {}).seconds != reference.seconds, (
        "a new edition would"
    )


def test_what_was_not_run_is_not_solved() -> None:
    solved = [(EASY, 6.0), (Problem("iid", 0.6), 3.0)]
    problems = tuple(Solved(scenario=one.scenario, target=one.target, seconds=seconds) for one, seconds in solved)
    reference = Reference(name="axes", made_of={}, hashes={}, problems=problems)
    assert profile(FAST, reference, np.array([10.0])).tolist() == [0.5]
    with pytest.raises(UsageError, match="no problem that was solved"):
        profile(FAST, Reference(name="axes", made_of={}, hashes={}, problems=()), np.array([1.0]))


def test_a_reference_comes_back_from_its_file(tmp_path: Path) -> None:
    reference = freeze("axes", {"fast": FAST}, {"fast": "ab"})
    (tmp_path / "axes.json").write_text(as_json(reference))
    assert read(tmp_path / "axes.json") == reference
    (tmp_path / "axes.json").write_text(json.dumps({"name": "axes"}))
    with pytest.raises(UsageError, match=r"reference axes: made_of must be a group of keys, but is missing; .*axes.json"):
        read(tmp_path / "axes.json")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"seconds": -1}, "problems.0.seconds must be >= 0, got -1"),
        ({"seconds": None}, "problems.0.seconds must be a number, got None"),
        ({"seconds": "nan"}, "problems.0.seconds must be a number, got 'nan'"),
        ({"seconds": True}, "problems.0.seconds must be a number, got True"),
        ({"seconds": 10**50}, "problems.0.seconds must be <= 1000000000, got 1000"),
        ({"target": "x"}, "problems.0.target must be a number, got 'x'"),
        ({"scenario": ["a"]}, r"problems.0.scenario must be text, got \['a'\]"),
        ({"second": 1}, "unknown key problems.0.second; did you mean 'seconds'"),
    ],
)
def test_a_time_that_is_none_is_refused(changes: dict[str, object], expected: str, tmp_path: Path) -> None:
    content = json.loads(as_json(freeze("axes", {"fast": FAST}, {"fast": "ab"})))
    content["problems"][0] |= changes
    (tmp_path / "axes.json").write_text(json.dumps(content))
    with pytest.raises(UsageError, match=expected):
        read(tmp_path / "axes.json")
