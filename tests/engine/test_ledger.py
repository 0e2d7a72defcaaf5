"""What the ledger counts under Mailbox, Poll and Turns, and which of their runs are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.engine.ledger import Ledger
from fedbench.engine.plan import add_up
from fedbench.engine.run import Run
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.kernels.scheduler import NANOSECONDS, Duration, Scheduler, Timing
from fedbench.scenarios.grid import EvenGrid
from fedbench.scenarios.load import load
from fedbench.types import Dispatch, Mailbox, Poll, Stream, Traffic, Turns


def summary(timing: Timing, dispatch: Dispatch) -> tuple[Ledger, dict[str, Any]]:
    """Down and up one vector of one byte."""
    scheduler, ledger = Scheduler(timing, dispatch), Ledger(timing.clients, dispatch, EvenGrid(NANOSECONDS))
    add_up(scheduler, ledger)
    return ledger, ledger.totals(scheduler, Traffic(), 1).as_dict()


def test_mailbox_pays_for_every_copy_and_no_overwritten_upload() -> None:
    """Client 0 takes 1 s, client 1 takes 3 s, every round wants client 1, peek: client 0 runs in
    vain and uploads nothing."""
    timing = Timing(clients=2, compute=Duration.constant(np.array([1.0, 3.0])), max_updates=2)
    ledger, facts = summary(timing, Mailbox(receive="peek", selections=((1,), (1, 1))))
    assert (facts["bytes_down"], facts["bytes_up"], facts["jobs_consumed"]) == (4, 2, 2)
    assert facts["bytes_wasted"] == 2  # what client 0 received
    assert facts["busy_seconds"] == 12
    assert ledger.on_grid("downloads", 7).tolist() == [2, 2, 2, 4, 4, 4, 4]


def test_poll_pays_one_download_a_job() -> None:
    """Steps of 1 s, polled every 2 s: client 0 twice; client 1 never, and has done four of at most
    five steps by the end."""
    timing = Timing(clients=2, compute=Duration.constant(1.0, per_step=True), max_updates=2)
    ledger, facts = summary(timing, Poll(period_seconds=2.0, max_steps=5, selections=((0,), (0,))))
    assert (facts["bytes_down"], facts["bytes_up"], facts["jobs_consumed"], facts["bytes_wasted"]) == (3, 2, 2, 1)
    assert (facts["trained_steps"], facts["avoided_steps"], facts["busy_seconds"]) == (4, 4, 8)
    assert ledger.on_grid("downloads", 5).tolist() == [2, 2, 3, 3, 3]


def test_turns_pay_no_download_for_a_version_that_is_held() -> None:
    """Jobs of 1 and 3.25 s, downloads of 0.25 s: two at first, one after the turns at 3.5, 4.25 and
    7 s; what the last one brings is not used by the end, at 7.5 s."""
    compute = Duration.constant(np.array([1.0, 3.25]))
    ledger, facts = summary(Timing(clients=2, compute=compute, download=Duration.constant(0.25), max_updates=4), Turns())
    assert (facts["bytes_down"], facts["bytes_up"], facts["jobs_consumed"], facts["jobs"]) == (5, 9, 9, 10)
    assert facts["bytes_wasted"] == 1
    assert ledger.on_grid("downloads", 9).tolist() == [2, 2, 2, 2, 3, 4, 4, 5, 5]
    assert facts["busy_seconds"] == 7 * 1.0 + 2 * 3.25 + 0.25


def test_a_poll_before_the_download_costs_no_busy_time() -> None:
    timing = Timing(clients=1, compute=Duration.constant(1.0, per_step=True), download=Duration.constant(3.0), max_updates=1)
    _, facts = summary(timing, Poll(period_seconds=2.0, max_steps=5, selections=((0,),)))
    assert (facts["busy_seconds"], facts["trained_steps"]) == (0, 0)


@pytest.mark.parametrize("slow", [150, 250])
def test_the_histogram_holds_two_hundred_values_of_staleness(slow: int) -> None:
    """Client 0 makes an update every second; client 1 arrives once, after `slow` - 1 others."""
    timing = Timing(clients=2, compute=Duration.constant(np.array([1.0, slow - 0.5])), max_updates=slow)
    _, facts = summary(timing, Stream(concurrency=2, restart="self"))
    histogram = facts["staleness_histogram"]
    assert facts["staleness_max"] == slow - 1
    assert len(histogram) == min(slow, 200)
    assert sum(histogram) == slow - (slow > 200)
    assert histogram[-1] == (slow < 200)


@pytest.mark.parametrize(
    ("dispatch", "may_write"),
    [
        (Poll(period_seconds=1.0, max_steps=1, cohort_size=1), True),
        (Stream(concurrency=2), False),
        (Mailbox(cohort_size=1), None),
    ],
)
def test_memory_under_poll_stream_and_mailbox(
    dispatch: Dispatch, may_write: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SCAFFOLD's clients remember: a Poll lets `step` write their rows and a Stream does not. A
    Mailbox may consume a job twice and is refused."""
    algorithm = registry.algorithm("scaffold")
    monkeypatch.setattr(type(algorithm), "dispatch", lambda self, info: dispatch)
    run = Run(RunSpec(load("digits-demo", ["task.model=softmax"]), algorithm, 0))
    trainer = run.backend
    try:
        if may_write is not None:
            assert run._execution().step_writes_memory == may_write
        else:
            with pytest.raises(UsageError, match=r"a job cannot count twice; .* got Mailbox, which draws with replacement"):
                run._execution()
    finally:
        trainer.close()
