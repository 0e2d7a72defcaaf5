"""Runs side by side in one process: threads that take turns, and meet where each has a wave to
train."""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class Trains(Protocol):
    """What trains the waves of several runs together. It keeps the error of one with that one, and
    raises none."""

    def train(self, asked: Sequence[Any], /) -> None: ...


@dataclass(eq=False)
class _Waiting:
    card: Trains
    asked: object
    over: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None


class Meeting:
    """The runs of so many threads, its members.

    One member computes at a time. It goes on until its run has a wave to train, where it waits, or
    until it ends. When all that have not ended wait, the last trains the waves of all. So whatever
    a process has once, such as the settings of torch, caches and the device, is used by one thread
    at a time, and a wave is beside as many others as there can be.
    """

    def __init__(self, members: int) -> None:
        self.is_interrupted = False
        self._members, self._turn = members, threading.Lock()
        self._waiting: list[_Waiting] = []
        self._shared: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()

    @contextlib.contextmanager
    def attended(self) -> Iterator[None]:
        """Surrounds all that the thread of a member does."""
        with self._turn:
            token = _HERE.set(self)
            try:
                yield
            finally:
                _HERE.reset(token)
                self._members -= 1
                self._meet()

    def train(self, card: Trains, asked: object) -> None:
        """Returns when the card has trained what is asked, together with what other members ask of
        it. KeyboardInterrupt if the meeting is interrupted before."""
        if self.is_interrupted:
            raise KeyboardInterrupt
        mine = _Waiting(card, asked)
        self._waiting.append(mine)
        self._meet()
        self._turn.release()
        mine.over.wait()
        self._turn.acquire()
        if mine.error is not None:
            raise mine.error

    def shared(self, key: Hashable, make: Callable[[], T]) -> T:
        """Returns what members share under a key. It is made if no member holds it."""
        found: T | None = self._shared.get(key)
        if found is None:
            found = self._shared[key] = make()
        return found

    def interrupt(self) -> None:
        """Ends every member where it asks for the next wave, also those that wait for it now.
        Another thread calls it, which waits for the member that computes."""
        self.is_interrupted = True
        with self._turn:
            self._meet()

    def _meet(self) -> None:
        """Trains, if all members wait."""
        if len(self._waiting) < self._members and not self.is_interrupted:
            return
        waiting, self._waiting = self._waiting, []
        try:
            if self.is_interrupted:
                raise KeyboardInterrupt
            of_cards: defaultdict[Trains, list[object]] = defaultdict(list)
            for one in waiting:
                of_cards[one.card].append(one.asked)
            for card, asked in of_cards.items():
                card.train(asked)
        except BaseException as error:
            for one in waiting:
                one.error = error
        for one in waiting:
            one.over.set()


_HERE: ContextVar[Meeting | None] = ContextVar("meeting", default=None)


def here() -> Meeting | None:
    """Returns the meeting of which this thread is a member."""
    return _HERE.get()
