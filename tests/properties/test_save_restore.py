"""A scheduler restored from its saved state goes on as if nothing had happened."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.errors import UsageError
from fedbench.kernels.scheduler import Chunk, Duration, Scheduler, Timing
from fedbench.types import Dispatch, Rounds, Stream
from tests.kernels.plans import JOB_COLUMNS
from tests.properties.worlds import cases, worlds

COLUMNS = (*JOB_COLUMNS, "time", "offsets", "entries", "live_bases")


def columns(chunk: Chunk) -> list[list[int]]:
    return [getattr(chunk, name).tolist() for name in COLUMNS]


@cases(80)
@given(worlds(), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_restored_after_every_chunk(world: tuple[Timing, Dispatch], sizes: list[int]) -> None:
    timing, dispatch = world
    weights = np.arange(1.0, timing.clients + 1)
    whole, other = (Scheduler(timing, dispatch, p=weights) for _ in range(2))
    for size in itertools.cycle(sizes):
        state = other.save()
        assert state == whole.save()
        other = Scheduler(timing, dispatch, p=weights)
        other.restore(state)
        expected, got = whole.next(size), other.next(size)
        assert columns(got) == columns(expected)
        assert (other.outcome, other.ended_by, other.end_ns, other.totals) == (
            whole.outcome,
            whole.ended_by,
            whole.end_ns,
            whole.totals,
        )
        if expected.done:
            break
    assert other.stalled_message == whole.stalled_message


@cases(30)
@given(st.binary(max_size=200), st.data())
def test_other_bytes_are_refused_and_change_nothing(noise: bytes, data: st.DataObject) -> None:
    timing = Timing(clients=4, compute=Duration(kind="exponential", a=1.0), max_updates=20)
    scheduler = Scheduler(timing, Stream(concurrency=3, buffer_size=2))
    scheduler.next(4)
    state = scheduler.save()
    place = data.draw(st.integers(0, len(state) - 1))
    changed = state[:place] + bytes([state[place] ^ data.draw(st.integers(1, 255))]) + state[place + 1 :]
    for bad in (noise, state[:place], changed, state + noise[:1] + b"x"):
        with pytest.raises(UsageError, match="restore: "):
            scheduler.restore(bad)
        assert scheduler.save() == state
    with pytest.raises(UsageError, match="other arguments"):
        Scheduler(timing, Stream(concurrency=3, buffer_size=1)).restore(state)


def test_a_round_that_asks_is_saved_too() -> None:
    timing = Timing(clients=3, compute=Duration(a=1.0), max_updates=2)
    first, second = (Scheduler(timing, Rounds(select="external")) for _ in range(2))
    first.next()
    second.restore(first.save())
    assert second.awaiting_selection
    for scheduler in (first, second):
        scheduler.select([2, 0])
    second.restore(first.save())
    assert columns(second.next()) == columns(first.next())
    assert second.available.tolist() == [0, 1, 2]
