"""What the ledger counts of jobs that are lost, late or paused: closed forms, and sums that do not
depend on the cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.engine.ledger import Ledger
from fedbench.kernels.hindsight import Hindsight
from fedbench.kernels.scheduler import NANOSECONDS, Availability, Duration, LocalSteps, Scheduler, Timing
from fedbench.scenarios.grid import EvenGrid
from fedbench.types import Broadcast, Dispatch, Mailbox, Poll, Rounds, Stream, Traffic, Turns

ALWAYS = ((0.0, 1000.0),)
ONE_SECOND_STEPS = Duration.constant(1.0, per_step=True)


def ledger_of(timing: Timing, dispatch: Dispatch, size: int = 1 << 20) -> tuple[Ledger, dict[str, Any]]:
    """Down and up one vector of one byte."""
    scheduler = Scheduler(timing, dispatch)
    ledger = Ledger(timing.clients, dispatch, EvenGrid(NANOSECONDS), Hindsight(scheduler))
    chunk = scheduler.next(size)
    ledger.add(chunk, scheduler)
    while not chunk.done:
        chunk = scheduler.next(size)
        ledger.add(chunk, scheduler)
    return ledger, ledger.totals(scheduler, Traffic(), 1).as_dict()


def table(*rows: tuple[tuple[float, float], ...], **options: Any) -> Availability:
    return Availability(kind="table", rows=rows, **options)


def test_a_client_that_leaves_wastes_what_it_did() -> None:
    """Three steps of 1 s; client 0 leaves at 2.5 s, so the round ends at 3 s with client 1
    alone."""
    windows = table(((0.0, 2.5), (10.0, 1000.0)), ALWAYS)
    timing = Timing(clients=2, compute=ONE_SECOND_STEPS, steps=LocalSteps(values=3), availability=windows)
    ledger, facts = ledger_of(timing, Rounds())
    assert (facts["jobs_left"], facts["jobs_dropped_out"], facts["jobs_late"]) == (1, 0, 0)
    assert (facts["busy_seconds"], facts["busy_seconds_lost"]) == (5.5, 2.5)
    assert (facts["steps_done"], facts["steps_wasted"], facts["trained_steps"], facts["avoided_steps"]) == (5, 2, 3, 3)
    assert (facts["bytes_down"], facts["bytes_up"], facts["bytes_wasted"]) == (2, 1, 1)
    assert ledger.on_grid("steps", 4).tolist() == [0, 0, 0, 5]
    assert facts["available_fraction"] == pytest.approx(5.5 / 6)
    assert facts["participation_gini_available"] == pytest.approx(0.5)


def test_who_is_hardly_there_can_still_take_part_fairly() -> None:
    """Client 0 is there half of the time and makes half of the rounds: fair for its time, not as
    such."""
    timing = Timing(clients=2, compute=Duration.constant(1.0), availability=table(((0.0, 2.0),), ALWAYS), max_updates=4)
    _, facts = ledger_of(timing, Rounds())
    assert facts["participation_gini"] == pytest.approx(1 / 6)
    assert facts["participation_gini_available"] == pytest.approx(0, abs=1e-15)
    assert facts["available_fraction"] == 0.75


@pytest.mark.parametrize(
    ("dispatch", "end", "late", "busy", "done"),
    [
        (Rounds(deadline_seconds=2.5), 2.5, 1, (5.5, 2.5), 10),  # client 2 has done 2 of its 4 steps
        (Rounds(deadline_seconds=4.0), 4.0, 0, (7.0, 0.0), 12),  # in time
        (Rounds(over_selection=1), 2.0, 1, (5.0, 2.0), 10),
        (Rounds(over_selection=2), 1.0, 2, (3.0, 2.0), 7),
        (Rounds(select="scripted", selections=((2,), (0,)), deadline_seconds=1.5), 2.5, 1, (2.5, 1.5), 5),  # a round without an update
    ],
)  # fmt: skip
def test_late_jobs(dispatch: Dispatch, end: float, late: int, busy: tuple[float, float], done: int) -> None:
    """Clients take 1, 2 and 4 s for four steps."""
    timing = Timing(clients=3, compute=Duration.constant(np.array([1.0, 2.0, 4.0])), steps=LocalSteps(values=4))
    _, facts = ledger_of(timing, dispatch)
    assert (facts["end_seconds"], facts["jobs_late"]) == (end, late)
    assert (facts["busy_seconds"], facts["busy_seconds_lost"]) == busy
    assert (facts["steps_done"], facts["steps_done"] - facts["steps_wasted"]) == (done, facts["trained_steps"])


def test_an_upload_that_arrives_as_the_round_closes_is_paid_and_wasted() -> None:
    """Both arrive at 1 s, the first is enough."""
    _, facts = ledger_of(Timing(clients=2, compute=Duration.constant(1.0)), Rounds(over_selection=1))
    assert (facts["jobs_late"], facts["bytes_up"], facts["bytes_wasted"], facts["steps_done"]) == (1, 2, 2, 2)


def test_drop_out_and_leaving_are_told_apart() -> None:
    """Client 1 loses every job on its own; client 0 leaves at 2.5 s, half-way through its third."""
    timing = Timing(
        clients=3,
        compute=ONE_SECOND_STEPS,
        dropout=np.array([0.0, 1.0, 0.0]),
        availability=table(((0.0, 2.5),), ALWAYS, ALWAYS),
        max_updates=4,
    )
    scheduler = Scheduler(timing, Rounds())
    chunk = scheduler.next()
    of_1 = chunk.client == 1
    _, facts = ledger_of(timing, Rounds())
    assert (facts["jobs_left"], facts["jobs_dropped_out"]) == (1, 4)
    dropped = int((chunk.t_lost - chunk.t_start)[of_1].sum()) / NANOSECONDS
    assert facts["busy_seconds_lost"] == pytest.approx(0.5 + dropped, abs=1e-9)
    assert facts["steps_wasted"] == 0
    assert facts["jobs_consumed"] == 2 + 4


def test_a_pause_is_no_work() -> None:
    """2 s of work, away on [1, 3): done at 4 s."""
    windows = table(((0.0, 1.0), (3.0, 10.0)), when_offline="paused")
    timing = Timing(clients=1, compute=Duration.constant(2.0), availability=windows)
    _, facts = ledger_of(timing, Rounds())
    assert (facts["end_seconds"], facts["busy_seconds"], facts["available_fraction"]) == (4, 2, 0.5)
    assert (facts["jobs_left"], facts["steps_wasted"]) == (0, 0)


def test_a_job_still_open_at_the_end_is_not_lost() -> None:
    """Both take 2 s; client 0 would leave at 3 s, but the only update is at 2 s, and starts
    nobody."""
    timing = Timing(clients=2, compute=Duration.constant(np.array([9.0, 2.0])), availability=table(((0.0, 3.0),), ALWAYS))
    _, facts = ledger_of(timing, Stream(concurrency=2))
    assert (facts["end_seconds"], facts["jobs_left"], facts["busy_seconds"], facts["busy_seconds_lost"]) == (2, 0, 4, 0)


def test_polled_clients_lose_the_steps_since_the_last_poll() -> None:
    """Steps of 1 s, polls every 2 s, at most two steps; client 0 is away on [3.5, 5): its job of 2
    s has done one step."""
    timing = Timing(clients=1, compute=ONE_SECOND_STEPS, availability=table(((0.0, 3.5), (5.0, 100.0))), max_updates=2)
    _, facts = ledger_of(timing, Poll(period_seconds=2.0, max_steps=2, selections=((0,), (0,), (0,))))
    assert (facts["jobs_left"], facts["busy_seconds_lost"], facts["steps_wasted"]) == (1, 1.5, 1)
    assert (facts["steps_done"], facts["trained_steps"]) == (4, 3)  # two, one in vain, one from 5 to 6 s
    assert facts["busy_seconds"] == 2 + 1.5 + 1


@pytest.mark.parametrize("when_offline", ["lost", "paused"])
@pytest.mark.parametrize(
    "dispatch",
    [
        Rounds(select="without_replacement", cohort_size=4, deadline_seconds=1.5, over_selection=2),
        Rounds(select="with_replacement", cohort_size=5, over_selection=2),
        Stream(concurrency=5, buffer_size=3),
        Broadcast(buffer_size=3, receive="peek"),
        Mailbox(cohort_size=3),
        Poll(period_seconds=1.0, max_steps=3, cohort_size=3),
        Turns(),
        Turns(resend="newest"),
    ],
    ids=["deadline", "repeated", "stream", "broadcast", "mailbox", "poll", "turns", "newest"],
)
def test_every_job_is_counted_once_however_the_plan_is_cut(dispatch: Dispatch, when_offline: Any) -> None:
    timing = Timing(
        clients=9,
        seed=4,
        compute=Duration.uniform(0.2, 1.0, per_step=True),
        upload=Duration.constant(0.1),
        steps=LocalSteps(values=2),
        availability=Availability(kind="alternating", mean_on_seconds=4.0, mean_off_seconds=2.0, when_offline=when_offline),
        dropout=0.1,
        max_updates=60,
    )
    ledger, facts = ledger_of(timing, dispatch)
    for size in (1, 7):
        assert ledger_of(timing, dispatch, size)[1] == facts
    assert ledger.digest.hex() == ledger_of(timing, dispatch, 3)[0].digest.hex()
    assert facts["jobs_dropped_out"] > 0
    assert (facts["jobs_left"] > 0) == (when_offline == "lost")
    assert (facts["jobs_late"] > 0) == isinstance(dispatch, Rounds)
    lost = facts["jobs_left"] + facts["jobs_dropped_out"] + facts["jobs_late"]
    overwritten = facts["jobs"] if isinstance(dispatch, Mailbox) else 0
    assert 0 <= facts["jobs"] - facts["jobs_consumed"] - lost <= timing.clients + overwritten
    assert facts["steps_done"] == facts["trained_steps"] + facts["steps_wasted"]
    assert 0 < facts["busy_seconds_lost"] < facts["busy_seconds"]
    assert facts["busy_seconds"] <= facts["available_fraction"] * facts["end_seconds"] * timing.clients + 1e-6


@pytest.mark.parametrize("resend", ["turn", "newest"])
def test_downloads_of_turns_add_up(resend: Any) -> None:
    """One that was broken off by an absence counts, and its repetition counts too."""
    timing = Timing(
        clients=6, seed=2, compute=Duration.exponential(1.0), download=Duration.constant(0.5), dropout=0.1, max_updates=90,
        availability=Availability(kind="alternating", mean_on_seconds=4.0, mean_off_seconds=1.0),
    )  # fmt: skip
    scheduler = Scheduler(timing, Turns(resend=resend))
    scheduler.next()
    sent = scheduler.totals["downloads"]
    for size in (1, 1 << 20):
        ledger, facts = ledger_of(timing, Turns(resend=resend), size)
        assert facts["bytes_down"] == sent == ledger.on_grid("downloads", 10_000)[-1]
        assert 0 < sent - ledger.used_downloads < ledger.used_downloads < facts["jobs_consumed"]
