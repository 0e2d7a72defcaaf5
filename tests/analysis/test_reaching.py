"""When a target is reached: by hand, at every edge of the rule, and beside a slow sentence of
it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.analysis.reaching import RULES, Reach, ends, first_held, reach
from fedbench.errors import UsageError
from tests.conftest import record


class Goal(NamedTuple):
    metric: str
    value: float


TARGETS = [Goal("test_accuracy", 0.8)]


def when(seconds: list[float], accuracy: list[float], version: list[int] | None = None, rule: Any = "window") -> Reach | None:
    columns = {"version": version if version is not None else list(range(len(seconds)))}
    (found,) = reach(record(curve=accuracy, seconds=seconds, columns=columns), TARGETS, rule)
    return found


def test_the_window_is_a_fifth_of_the_time() -> None:
    """10 s are held until 12 s, and what happens at 12.1 s does not matter."""
    seconds = [0, 10, 11, 11.5, 12, 12.1, 20]
    assert when(seconds, [0, 0.8, 0.8, 0.9, 0.8, 0.1, 0.1]) == Reach(1, is_held=True)
    assert when(seconds, [0, 0.8, 0.8, 0.9, 0.7, 0.9, 0.9]) == Reach(5, is_held=False), "at 12 s it fell below"


def test_three_models_at_least() -> None:
    """The window of 10 s has two models, and goes on until the third."""
    seconds, version = [0, 10, 11, 12, 13, 14, 20], [0, 1, 1, 2, 2, 3, 4]
    above = [0, 0.8, 0.8, 0.8, 0.8, 0.8, 0.1]
    assert when(seconds, above, version) == Reach(1, is_held=True)
    above[5] = 0.7
    assert when(seconds, above, version) is None, "the third model fell below, and no later evaluation is above"


def test_a_run_that_ends_inside_the_window_is_censored() -> None:
    assert when([0, 10, 17, 18, 19, 20], [0, 0, 0.8, 0.8, 0.8, 0.8]) == Reach(2, is_held=False)
    assert when([0, 10, 11, 12], [0, 0.8, 0.8, 0.8], [0, 1, 1, 2]) == Reach(1, is_held=False), "two models only"
    assert when([0, 10, 11, 12], [0, 0.8, 0.8, 0.8]) == Reach(1, is_held=True), "12 s are just enough"


def test_a_target_that_is_met_at_once() -> None:
    assert when([0, 1, 2], [0.9, 0.9, 0.9]) == Reach(0, is_held=True)
    assert when([0, 1, 2], [0.9, 0.1, 0.1]) is None


def test_times_are_whole_nanoseconds() -> None:
    """1.2 times 0.75 s is a little less than 0.9 s in floats."""
    assert 1.2 * 0.75 < 0.9
    assert when([0, 0.75, 0.8, 0.85, 0.9, 1], [0, 0.8, 0.8, 0.8, 0.7, 0.9]) == Reach(5, is_held=False)


def test_other_rules() -> None:
    seconds = [0, 1, 2, 3, 4, 5, 6, 7, 8]
    accuracy = [0, 0.8, 0, 0.8, 0.8, 0.8, 0.7, 0.8, 0.8]
    version = [0, 1, 2, 3, 3, 3, 4, 5, 6]
    assert when(seconds, accuracy, version, "touch") == Reach(1, is_held=True)
    assert when(seconds, accuracy, version, "evaluations") == Reach(3, is_held=True)
    assert when(seconds, accuracy, version, "models") == Reach(7, is_held=False)


def test_who_does_not_finish_reaches_nothing() -> None:
    assert reach(record(curve=[0.9] * 4, state="diverged"), TARGETS) == [None]


def test_a_loss_reaches_its_target_from_above() -> None:
    one = record(curve=[0.1] * 4, columns={"test_loss": [2, 1, 0.5, 0.4]})
    assert reach(one, [Goal("test_loss", 0.5)], "touch") == [Reach(2, is_held=True)]


def test_single_precision_decides() -> None:
    """0.7 in single precision is less than 0.7, and is the same accuracy."""
    assert when([0, 1, 2, 3], [0, 0.8, 0.8, 0.8]) == Reach(1, is_held=True)


def test_unknown_words_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown rule 'windows'; did you mean 'window'"):
        reach(record(), TARGETS, "windows")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="unknown metric 'accuracy'"):
        reach(record(), [Goal("accuracy", 0.8)])


def slowly(at: list[int], above: list[bool], version: list[int], rule: str) -> Reach | None:
    """The rule as a sentence: for each evaluation, what has to be above."""
    n = len(at)
    for i in range(n):
        needed, models = {i}, {version[i]}
        if rule == "evaluations":
            needed |= set(range(i, i + 3))
        if rule == "window":
            needed |= {j for j in range(i, n) if 5 * at[j] <= 6 * at[i]} | ({n} if 5 * at[-1] < 6 * at[i] else set())
        if rule in ("window", "models"):
            j = i
            while len(models) < 3:
                j += 1
                needed.add(min(j, n))
                if j >= n:
                    break
                models.add(version[j])
        if all(above[j] for j in needed if j < n):
            return Reach(i, is_held=all(j < n for j in needed))
    return None


@given(
    st.lists(st.tuples(st.integers(1, 5), st.booleans(), st.integers(0, 1)), min_size=1, max_size=25),
    st.sampled_from(RULES),
)
def test_it_is_what_the_sentence_says(rows: list[tuple[int, bool, int]], rule: Any) -> None:
    at = np.cumsum([step for step, _, _ in rows]).tolist()
    above = [is_above for _, is_above, _ in rows]
    version = np.cumsum([more for _, _, more in rows]).tolist()
    found = first_held(np.array(above), ends(np.array(at, np.int64), np.array(version), rule))
    assert found == slowly(at, above, version, rule)
