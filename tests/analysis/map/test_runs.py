"""Columns of runs as arrays."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from fedbench.analysis.map.runs import read
from fedbench.errors import UsageError

GOOD: dict[str, list[Any]] = {
    "algorithm": ["b", "a", "a", "a", "b", "b"],
    "point": ["p", "p", "p", "q", "q", "q"],
    "seed": [7, 7, 9, 7, 9, 7],
    "cost": [1.0, 2.0, 4.0, 8.0, 16.0, 1.0],
    "is_censored": [False, False, True, False, True, False],
}


def test_where_runs_are() -> None:
    found = read(GOOD, ["q", "p"])
    assert (found.algorithms, found.points) == (("a", "b"), ("q", "p"))
    assert found.algorithm.tolist() == [[0, 1], [0, 1]]
    assert np.exp(found.log).tolist() == pytest.approx(np.array([[[8, 1], [1, 16]], [[2, 4], [1, 1]]]))
    assert found.is_there.tolist() == [[[True, False], [True, True]], [[True, True], [True, False]]]
    assert found.is_censored.tolist() == [[[False, False], [False, True]], [[False, True], [False, False]]]
    assert found.tuning.tolist() == [[-1, -1], [-1, -1]]
    assert found.per_algorithm(np.ones((2, 2, 2))).tolist() == [3, 3]


def test_draws_of_a_tuning_are_units() -> None:
    """A draw of that name of another algorithm is another draw; at another point it is the same."""
    found = read(GOOD | {"tuning": ["one", "one", "two", "one", None, None]}, ["p", "q"])
    assert found.algorithm.tolist() == [[0, 0, 1], [0, 1, 0]]
    assert found.tuning.tolist() == [[0, 1, 2], [0, -1, -1]]
    assert found.is_there.sum() == 6


def changed(**columns: Any) -> dict[str, list[Any]]:
    """GOOD with the first value of columns changed."""
    return GOOD | {name: [value, *GOOD[name][1:]] for name, value in columns.items()}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({name: GOOD[name] for name in GOOD if name != "seed"}, "map: column seed is missing; given: algorithm, point, cost, is_censored"),
        (GOOD | {"seed": [1]}, "map: expected columns of one length, and at least one run, got 6 of algorithm, 6 of point, 1 of seed, 6 of "
            "cost, 6 of is_censored"),
        (changed(cost=0), "map: run of 'b' at 'p' with seed 7 has cost 0, expected a finite number above 0"),
        (changed(cost=float("nan")), "map: run of 'b' at 'p' with seed 7 has cost nan, expected a finite number above 0"),
        (changed(cost=True), "map: run of 'b' at 'p' with seed 7 has cost True, expected a finite number above 0"),
        (changed(is_censored=1), "map: run of 'b' at 'p' with seed 7 has is_censored 1, expected true or false"),
        (changed(algorithm="a"), "map: two runs have algorithm 'a', point 'p', seed 7"),
        (changed(point="r"), "map: runs at the point 'r', which the design does not have"),
        (GOOD | {"algorithm": ["a"] * 6, "seed": [1, 2, 3, 1, 2, 3]}, "map: expected two algorithms or more, got a"),
        ({name: column[:3] for name, column in GOOD.items()}, "map: no run at the point 'q' of the design"),
        ({name: [*column[:2], column[3], column[5]] for name, column in GOOD.items()},
            "map: every point has one seed; expected two or more, or seeds and scatter cannot be told apart"),
    ],
)  # fmt: skip
def test_what_is_refused(columns: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        read(columns, ["p", "q"])
