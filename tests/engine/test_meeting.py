"""Threads that take turns, and meet where each has something to train."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from fedbench.engine.trainers.meeting import Meeting, here


class Card:
    """Notes what is asked of it together."""

    def __init__(self) -> None:
        self.seen: list[list[Any]] = []

    def train(self, asked: Sequence[Any], /) -> None:
        self.seen.append(sorted(asked))
        if "breaks" in asked:
            raise RuntimeError("the device is gone")


def run(members: Sequence[Callable[[Meeting], object]], meeting: Meeting | None = None) -> list[BaseException | None]:
    """Lets every member do its part, and returns how each ended."""
    meeting = meeting or Meeting(len(members))
    ended: list[BaseException | None] = [None] * len(members)

    def attend(number: int) -> None:
        try:
            with meeting.attended():
                members[number](meeting)
        except BaseException as error:
            ended[number] = error

    threads = [threading.Thread(target=attend, args=(number,), daemon=True) for number in range(len(members))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    return ended


def asks(card: Card, *waves: Any) -> Callable[[Meeting], object]:
    return lambda meeting: [meeting.train(card, wave) for wave in waves]


def test_all_that_have_not_ended_meet() -> None:
    """Also after one that asks for nothing, and one that fails, wherever they are then."""
    card, other = Card(), Card()

    def fails(meeting: Meeting) -> None:
        meeting.train(card, "f1")
        raise ArithmeticError("no luck")

    members = [asks(card, "a1", "a2", "a3"), asks(card, "b1"), asks(other, "c1", "c2"), fails, lambda meeting: None]
    ended = run(members)
    assert card.seen == [["a1", "b1", "f1"], ["a2"], ["a3"]]
    assert other.seen == [["c1"], ["c2"]]
    assert [type(error) for error in ended] == [type(None)] * 3 + [ArithmeticError, type(None)]


def test_one_computes_at_a_time() -> None:
    """So what the process has once needs no locks; also while the waves of all are trained."""
    at_work: list[int] = []

    def alone() -> None:
        at_work.append(1)
        assert len(at_work) == 1
        time.sleep(0.01)
        at_work.pop()

    class Slow:
        def train(self, asked: Sequence[Any], /) -> None:
            alone()

    def member(meeting: Meeting) -> None:
        for wave in range(3):
            alone()
            meeting.train(slow, wave)

    slow = Slow()
    assert run([member] * 4) == [None] * 4
    assert not at_work


def test_an_interrupt_ends_members_where_they_ask() -> None:
    """Those that wait, whoever has not come yet, and those that compute when they ask next. Nothing
    is trained any more."""
    card, meeting = Card(), Meeting(3)
    computed = threading.Event()

    def computes(meeting: Meeting) -> None:
        time.sleep(0.05)
        computed.set()
        meeting.train(card, "late")

    threading.Timer(0.02, meeting.interrupt).start()
    ended = run([asks(card, "waits"), computes], meeting)  # the third member never comes
    assert [type(error) for error in ended] == [KeyboardInterrupt] * 2
    assert computed.is_set()
    assert card.seen == []


def test_a_card_that_breaks_ends_all_that_asked() -> None:
    card = Card()
    ended = run([asks(card, "breaks"), asks(card, "b")])
    assert [str(error) for error in ended] == ["the device is gone"] * 2


def test_what_members_share_is_made_once_and_not_kept() -> None:
    meeting, made = Meeting(1), []

    class Shared:
        def __init__(self) -> None:
            made.append(1)

    first = meeting.shared("key", Shared)
    assert meeting.shared("key", Shared) is first
    assert meeting.shared("other", Shared) is not first
    del first
    meeting.shared("key", Shared)
    assert len(made) == 3


def test_a_thread_knows_its_meeting() -> None:
    seen: list[bool] = []
    assert run([lambda meeting: seen.append(here() is meeting)]) == [None]
    assert seen == [True]
    assert here() is None
    with pytest.raises(ZeroDivisionError), Meeting(1).attended():
        1 / 0  # noqa: B018
    assert here() is None
