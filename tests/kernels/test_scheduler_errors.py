"""What the scheduler and its front door refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fedbench.errors import UsageError
from fedbench.kernels.scheduler import NANOSECONDS, Duration, LocalSteps, Scheduler, Timing
from fedbench.types import Broadcast, Dispatch, Rounds, Stream
from tests.kernels.plans import (
    ONE_SECOND,
    plan,
)

THREE = {"clients": 3, "compute": ONE_SECOND, "max_updates": 10}
REFUSED: list[tuple[str, dict[str, Any], Dispatch]] = [
    ("concurrency 4 is more than the 3 clients", {}, Stream(concurrency=4)),
    ("initial lists 1 clients, concurrency is 2", {}, Stream(concurrency=2, initial=(0,), restart="self")),
    ("client 0 is dispatched while it still works", {}, Stream(concurrency=2, initial=(0, 1), replacements=(0, 0, 0))),
    ("initial names client 3, there are 3 clients", {}, Stream(concurrency=1, initial=(3,), restart="self")),
    ("replacements has 2 entries, entry 2 was needed", {}, Stream(concurrency=1, initial=(0,), replacements=(1, 2))),
    ("replacements names client -1", {}, Stream(concurrency=1, initial=(0,), replacements=(-1,))),
    ("an update needs 4 arrivals, but with receive = pop each of the 3 clients", {}, Broadcast(buffer_size=4)),
    ("download times must be constant", {"download": Duration.uniform(1, 2)}, Broadcast()),
    ("cohort_size 4 without replacement is more than the 3 clients", {}, Rounds(select="without_replacement", cohort_size=4)),
    ("cohort_size must be >= 1", {}, Rounds(select="with_replacement")),
    ("expected 3 probabilities, got 0", {}, Rounds(select="weighted", cohort_size=1)),
    ("selections has 1 rounds, round 1 was needed", {}, Rounds(select="scripted", selections=((0,),))),
    ("selections of round 0 name client 3", {}, Rounds(select="scripted", selections=((3,),))),
    ("selections of round 0 are empty", {}, Rounds(select="scripted", selections=((),))),
    ("zero cycle time: job 0 of client 0", {"compute": Duration.constant(0.0)}, Rounds()),
    (r"no update up to 0.000349527 virtual seconds, though 1048584 jobs began", {}, Rounds(deadline_seconds=1e-9)),
    (
        "compute: seconds must be between 0 and 1e9, got -1 [(]client 1[)]",
        {"compute": Duration.constant(np.array([1, -1, 1]))},
        Rounds(),
    ),
    ("compute: seconds must be .* got nan", {"compute": Duration.constant(math.nan)}, Rounds()),
    ("compute: must be between 0 and 1e9 seconds, got -1", {"compute": Duration.table([[-1.0]] * 3)}, Rounds()),
    ("compute: the list of client 0 has 1 entries, entry 1 was", {"compute": Duration.table([[1.0]] * 3)}, Rounds()),
    ("compute: expected 3 rows, one per client, got 2", {"compute": Duration.table([[1.0]] * 2)}, Rounds()),
    ("upload: expected 1 or 3 values, one per client, got 2", {"upload": Duration.constant(np.array([1.0, 2.0]))}, Rounds()),
    (
        "compute: high must be >= low, got 3 [(]client 1[)]",
        {"compute": Duration.uniform(np.array([1, 5, 1]), 3)},
        Rounds(),
    ),
    ("compute: expected 1 or 3 values", {"compute": Duration.uniform(np.ones(2), np.ones(3))}, Rounds()),
    ("second parameter, got none", {"compute": Duration(kind="lognormal", a=0)}, Rounds()),
    ("sigma must be >= 0", {"compute": Duration.lognormal(0, -1)}, Rounds()),
    ("shape must be > 0", {"compute": Duration.pareto(1, 0)}, Rounds()),
    ("compute of client 0, job 0: must be between 0 and 1e9", {"compute": Duration.lognormal(30, 0)}, Rounds()),
    ("steps: expected 1 or 3 values", {"steps": LocalSteps(values=[1, 2])}, Rounds()),
    ("steps: expected whole numbers between 0 and 2147483647", {"steps": LocalSteps(values=-1)}, Rounds()),
    ("steps: the list of client 0 has 1 entries", {"steps": LocalSteps(rows=[[1]] * 3)}, Rounds()),
    ("variance >= 0", {"steps": LocalSteps(normal=(1.0, -1.0))}, Rounds()),
    ("clients: must be between 1", {"clients": 0}, Rounds()),
    ("budget.updates: must be >= 1", {"max_updates": 0}, Rounds()),
    ("budget.jobs: must be >= 1", {"max_jobs": 0}, Rounds()),
    ("budget.seconds: must be between 0", {"max_seconds": -1.0}, Rounds()),
]


@pytest.mark.parametrize(("message", "changes", "dispatch"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(message: str, changes: dict[str, Any], dispatch: Dispatch) -> None:
    with pytest.raises(UsageError, match=message):
        plan(Timing(**(THREE | changes)), dispatch)


def test_scripted_initial_with_drawn_replacements() -> None:
    """A client never works on two jobs at a time; one named twice is refused."""
    for seed in range(20):
        timing = Timing(clients=3, seed=seed, compute=Duration.exponential(1.0), upload=Duration.constant(0.1), max_updates=50)
        p = plan(timing, Stream(concurrency=2, initial=(0, 1)))
        for client in range(3):
            rows = np.flatnonzero(p["client"] == client)
            rows = rows[np.argsort(p["k"][rows])]
            assert (p["t_dispatch"][rows][1:] >= p["t_arrive"][rows][:-1]).all()
    with pytest.raises(UsageError):
        plan(Timing(**THREE), Stream(concurrency=2, initial=(0, 0)))


def test_refused_chunk_size_and_policy() -> None:
    with pytest.raises(UsageError, match="max_updates: must be >= 1, got 0"):
        Scheduler(Timing(clients=1, compute=ONE_SECOND), Rounds()).next(0)
    with pytest.raises(UsageError, match="expected Rounds, Stream, Broadcast, Mailbox, Poll or Turns, got Dispatch"):
        Scheduler(Timing(clients=1), Dispatch())


def test_steps_of_the_policy_win() -> None:
    p = plan(Timing(clients=2, compute=Duration.constant(1.0, per_step=True), steps=LocalSteps(values=9)), Rounds(steps=2))
    assert p["steps"].tolist() == [2, 2]
    assert p.time.tolist() == [2 * NANOSECONDS]


@pytest.mark.parametrize(
    ("message", "changes", "dispatch"),
    [
        ("steps: expected whole numbers between 0 and 2147483647", {"steps": LocalSteps(values=2**32 + 1)}, Rounds()),
        ("steps: expected whole numbers", {"steps": LocalSteps(values=1.9)}, Rounds()),  # type: ignore[arg-type]
        ("steps: expected whole numbers", {"steps": LocalSteps(values=[])}, Rounds()),
        ("steps: expected whole numbers", {"steps": LocalSteps()}, Rounds()),
        ("start_seconds: must be >= 0, got -1", {"start_seconds": -1.0}, Rounds()),
        ("compute: kind must be one of constant, .* got 'normal'", {"compute": Duration(kind="normal")}, Rounds()),  # type: ignore[arg-type]
        ("stream: restart must be one of resample, self, got 'no'", {}, Stream(concurrency=1, restart="no")),  # type: ignore[arg-type]
        ("initial lists client 0 twice", {}, Stream(concurrency=2, initial=(0, 0))),
    ],
)
def test_the_front_door_refuses(message: str, changes: dict[str, Any], dispatch: Dispatch) -> None:
    with pytest.raises(UsageError, match=message):
        plan(Timing(**(THREE | changes)), dispatch)


@pytest.mark.parametrize("p", [[1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [np.nan, 1.0, 1.0]])
def test_weights_that_are_no_probabilities_are_refused(p: list[float]) -> None:
    with pytest.raises(UsageError, match="rounds: probabilities must"):
        Scheduler(Timing(**THREE), Rounds(select="weighted", cohort_size=2), p=np.array(p))
