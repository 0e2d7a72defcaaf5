"""Which algorithms are taken to run at a place."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.analysis.map.presence import Presence

LEVELS = {
    "work": [5, 5, 5, 100, 100, 100, 100, 100],
    "on": [1.0, 0.5, 1.0, 1.0, 0.5, 0.5, 1.0, 0.5],
    "skew": ["iid", "two", "two", "iid", "iid", "two", "two", "two"],
}
EVERYWHERE = [True] * 8
ALL = {("work", 5), ("work", 100), ("on", 1.0), ("on", 0.5), ("skew", "iid"), ("skew", "two")}


@pytest.mark.parametrize(
    ("has_runs", "misses", "closed"),
    [
        (EVERYWHERE, [], set()),
        # It needs everybody at work: no other level is closed, though it has no runs at three of
        # eight points.
        ([False] * 3 + [True] * 5, [], {("work", 5)}),
        # It needs everybody to be there as well, and by chance has them at one of three points.
        ([False] * 3 + [True, False, False, True, True], [], {("work", 5), ("on", 0.5)}),
        ([True, False, True, True, False, False, True, False], [], {("on", 0.5)}),
        # It diverges wherever clients have two classes, or at one of these points.
        (EVERYWHERE, [1, 2, 5, 6, 7], {("skew", "two")}),
        (EVERYWHERE, [1, 2, 5, 6], set()),
        ([False] * 8, [], ALL),
    ],
)
def test_a_level_is_open_to_whoever_has_runs_there_and_arrives(
    has_runs: list[bool], misses: list[int], closed: set[tuple[str, object]]
) -> None:
    has = np.array([has_runs]).T
    arrives = has.copy()
    arrives[misses] = False
    seen = Presence(LEVELS, has, arrives)
    assert seen.open_to[0] == ALL - closed
    for name, level in ALL:
        assert seen.at({name: [level]}).tolist() == [(name, level) not in closed]
    assert seen.at({name: list(dict.fromkeys(column)) for name, column in LEVELS.items()}).tolist() == [not closed]


def test_what_was_measured_says_where_runs_are() -> None:
    log, is_bound = np.array([[1.0, np.nan], [2.0, 3.0]]), np.array([[False, False], [True, False]])
    seen = Presence.of({"on": [1.0, 0.5]}, log, is_bound)
    assert seen.has_runs.tolist() == [[True, False], [True, True]]
    assert seen.arrives.tolist() == [[True, False], [False, True]]
