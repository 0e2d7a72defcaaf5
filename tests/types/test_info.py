"""What an algorithm may know about the clients: seconds, and steps of the fastest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench import registry
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.scenarios.load import load
from fedbench.types import Info


def info(step_seconds: Any, job_seconds: Any = None) -> Info:
    jobs = None if job_seconds is None else np.array(job_seconds, np.float64)
    return Info(len(step_seconds), np.ones(len(step_seconds)), None, np.array(step_seconds, np.float64), jobs)


def test_seconds_that_are_not_given() -> None:
    plain = Info(3, np.ones(3))
    assert (plain.step_seconds.tolist(), plain.job_seconds.tolist(), plain.fastest_steps) == ([1, 1, 1], [1, 1, 1], 1)
    assert info([2, 4]).job_seconds.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("step_seconds", "job_seconds", "expected"),
    [
        ([2, 1, 4], [10, 12, 4], 12),
        ([2, 1, 4], [1, 9, 400], 9),  # by steps, not by jobs
        ([1, 1], [7, 3], 7),  # the first of equal ones
        ([0.1, 0.2], [0.3, 0.2], 3),  # 0.3 / 0.1 < 3
        ([1, 2], [0.25, 2], 1),
    ],
)
def test_steps_of_the_fastest(step_seconds: Any, job_seconds: Any, expected: int) -> None:
    assert info(step_seconds, job_seconds).fastest_steps == expected


@given(st.lists(st.tuples(st.floats(1e-6, 1e6), st.integers(1, 10_000)), min_size=1, max_size=9))
def test_steps_come_back_from_their_seconds(clients: list[tuple[float, int]]) -> None:
    seconds, steps = np.array([s for s, _ in clients]), np.array([n for _, n in clients])
    assert info(seconds, seconds * steps).fastest_steps == steps[np.argmin(seconds)]


@pytest.mark.parametrize("overrides", [["local.steps=3"], ["local={epochs: 2, batch_size: 7}"]])
def test_steps_of_the_fastest_in_a_scenario(overrides: list[str]) -> None:
    """By epochs they are those of the client's own examples."""
    setup = Setup(RunSpec(load("digits-demo", ["clients=9", *overrides]), registry.algorithm("fedbuff"), 0))
    fastest = int(np.argmin(setup.step_seconds))
    assert setup.info.fastest_steps == (3 if overrides == ["local.steps=3"] else 2 * -(-setup.sizes[fastest] // 7))


NEED_SPEEDS = ["rescaled_asgd", "delayed_nesterov[steps_by_speed=true]", "generalized_async[routing=rates]"]


@pytest.mark.parametrize("selector", NEED_SPEEDS)
@pytest.mark.parametrize(
    ("time", "said"),
    [
        ("{distribution: pareto, scale_seconds: 1, shape: 1}", "inf s of client 0"),
        ("{distribution: constant, seconds: 0}", "0 s of client 0"),
    ],
)
def test_clients_without_a_speed_are_refused(selector: str, time: str, said: str) -> None:
    """By the plan, before anything is trained; what does not go by speeds runs."""
    scenario = load("digits-demo", ["clients=6", f"compute={{kind: per_job, time: {time}}}"])
    with pytest.raises(UsageError, match=f"goes by the speeds of the clients, .* must have a mean > 0, got {said}"):
        Setup(RunSpec(scenario, registry.algorithm(selector), 0)).scheduler()
    Setup(RunSpec(scenario, registry.algorithm(selector.partition("[")[0].replace("rescaled_asgd", "fedbuff")), 0)).scheduler()


def test_the_client_without_a_speed_is_named() -> None:
    info([1, 2, 3]).check_seconds()
    with pytest.raises(UsageError, match="got nan s of client 2"):
        info([1, 2, np.nan]).check_seconds()
