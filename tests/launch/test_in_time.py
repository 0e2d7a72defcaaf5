"""Tasks as long as there is time."""

from __future__ import annotations

import pytest

from fedbench.launch.executors import Done, Executor, Here, Pool
from fedbench.launch.in_time import InTime
from tests.launch.test_executors import ends, heard


@pytest.mark.parametrize("executor", [Here(), Pool(2)], ids=["here", "pool"])
@pytest.mark.parametrize("before", [0, 1, 3])
def test_no_task_begins_when_time_is_over_and_those_under_way_end(executor: Executor, before: int) -> None:
    """Time is over once so many tasks were handed out."""
    left = iter([False] * before)
    done = ends(heard(InTime(executor, lambda: next(left, True)), [1, 2, 3, 4, 5]))
    assert {number: one.result for number, one in done.items() if isinstance(one, Done)} == {
        number: 2 * (number + 1) for number in range(before)
    }
    assert len(done) == before
