"""The numbers of local steps that a scenario gives its jobs [FedaGrac]."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.errors import UsageError
from fedbench.kernels.scheduler import Duration, Scheduler, Timing
from fedbench.scenarios.load import load
from fedbench.scenarios.pooled import pooled
from fedbench.scenarios.schema import Scenario
from fedbench.scenarios.system import (
    local_steps,
    mean_steps,
    step_seconds,
)
from fedbench.types import Rounds


def steps_of(scenario: Scenario, seed: int, jobs: int) -> Any:
    """Steps of every client's first jobs (N, jobs), as the scheduler hands them out."""
    timing = Timing(
        clients=scenario.clients, seed=seed, compute=Duration.constant(1.0), steps=local_steps(scenario, seed), max_updates=jobs
    )
    chunk = Scheduler(timing, Rounds(select="all")).next()
    return chunk.steps[np.lexsort((chunk.k, chunk.client))].reshape(scenario.clients, jobs)


def drawn(variance: float, mode: str, mean: float = 500) -> Scenario:
    return load(
        "digits-demo", ["clients=400", f"local={{batch_size: 10, steps: {{mean: {mean}, variance: {variance}, mode: {mode}}}}}"]
    )


def test_fixed_steps_are_those_of_the_first_random_job() -> None:
    fixed, random = (steps_of(drawn(10_000, mode), 4, 3) for mode in ("fixed", "random"))
    assert (fixed == fixed[:, :1]).all()
    assert np.array_equal(fixed[:, 0], random[:, 0])
    assert not (random == random[:, :1]).all()


@pytest.mark.parametrize("mode", ["fixed", "random"])
@pytest.mark.parametrize("variance", [0, 100, 10_000])
def test_steps_have_the_papers_mean_and_variance(variance: float, mode: str) -> None:
    """400 clients; rounding down takes 1/2 off the mean, unless all are 500."""
    first = steps_of(drawn(variance, mode), 7, 1)[:, 0]
    assert first.mean() == pytest.approx(500 - 0.5 * (variance > 0), abs=5 * np.sqrt(variance / 400))
    assert first.var() == pytest.approx(variance, rel=0.3)


def test_steps_are_at_least_one_and_never_negative() -> None:
    assert steps_of(drawn(0, "fixed", mean=0.25), 0, 1).max() == 1
    found = steps_of(drawn(10_000, "fixed", mean=1), 0, 1)
    assert found.min() >= 1
    assert found.max() > 150  # the absolute value, not a cut at 0


def test_a_minimum_raises_only_what_is_below_it() -> None:
    free, least = (
        steps_of(load("digits-demo", ["clients=400", f"local.steps={{mean: 50, variance: 10000, minimum: {m}}}"]), 3, 1)
        for m in (1, 100)
    )
    assert 0 < np.count_nonzero(free < 100) < 400
    assert np.array_equal(least, np.maximum(free, 100))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("[7, 2, 9, 1]", [7, 2, 9, 1]),
        ("{kind: extreme, low: 3, high: 30}", [3, 3, 3, 30]),
        ("{kind: linear, low: 100, increment: 5}", [105, 110, 115, 120]),
        ("{kind: linear, low: 4, increment: 0}", [4, 4, 4, 4]),
    ],
)
def test_steps_by_client(part: str, expected: list[int]) -> None:
    """Clients are numbered from 1 in the code whose linear rule it is: the first does low +
    increment."""
    found = steps_of(load("digits-demo", ["clients=4", f"local.steps={part}"]), 0, 2)
    assert found.T.tolist() == [expected, expected]
    one = pooled(load("digits-demo", ["clients=4", f"local.steps={part}"]))
    assert one.local.steps == round(np.mean(expected))


def test_uniform_steps_are_drawn_once_from_low_to_high_less_one() -> None:
    scenario = load("digits-demo", ["clients=400", "local.steps={kind: uniform, low: 5, high: 9}"])
    found = steps_of(scenario, 1, 2)
    assert (found[:, 0] == found[:, 1]).all()
    counts = np.bincount(found[:, 0])
    assert counts[:5].tolist() == [0] * 5
    assert counts[5:] == pytest.approx([100] * 4, abs=40)  # more than four standard deviations
    assert not np.array_equal(found, steps_of(scenario, 2, 2))
    assert pooled(scenario).local.steps == 6  # 6.5, rounded to even


@pytest.mark.parametrize(
    ("part", "expected"), [("mean: 30.4, variance: 400", 30), ("mean: 0.3", 1), ("mean: 5, variance: 4, minimum: 8", 8)]
)
def test_a_pooled_worker_does_the_mean_of_steps_drawn_once(part: str, expected: int) -> None:
    """Whatever the first client drew. Steps that are drawn for every job go on being drawn."""
    assert pooled(load("digits-demo", [f"local.steps={{{part}, mode: fixed}}"])).local.steps == expected
    anew = load("digits-demo", ["local.steps={mean: 30, variance: 400, mode: random}"])
    assert pooled(anew).local == anew.local


@pytest.mark.parametrize(("mean", "expected"), [(0.25, 1), (30.5, 30.5)])
def test_mean_steps_of_jobs_that_draw_theirs(mean: float, expected: float) -> None:
    """A job does at least one, so the share of a step in its time is at most the whole."""
    time = "compute={kind: per_job, time: {distribution: constant, seconds: 6}}"
    scenario = load("digits-demo", ["clients=3", time, f"local.steps={{mean: {mean}, mode: random}}"])
    assert mean_steps(scenario, 0).tolist() == [expected] * 3
    assert step_seconds(scenario, 0).tolist() == [6 / expected] * 3


def test_steps_beyond_32_bits_are_an_error() -> None:
    scenario = load("digits-demo", ["local.steps={kind: linear, low: 1, increment: 200000000}"])
    with pytest.raises(
        UsageError, match=r"digits-demo: local\.steps: a client does at most 2147483647 steps, got 4000000001 for client 19"
    ):
        local_steps(scenario, 0)
