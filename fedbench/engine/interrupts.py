"""Ctrl-C and SIGTERM wait while a state is between two versions."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Ctrl-C, or SIGTERM where a program answers it likewise, in a loop whose bodies are to be
    changed whole.

    Handlers are put in place once for the loop, since that is slower than many a body.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
        self._holding = False
        self._held: list[int] = []

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """The loop. In other threads than the main one, which signals do not reach, and where a
        program ignores a signal, nothing changes."""
        if threading.current_thread() is threading.main_thread():
            self._handlers = {number: handler for number in SIGNALS if callable(handler := signal.getsignal(number))}
        for number in self._handlers:
            signal.signal(number, self._hear)
        try:
            yield
        finally:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            self._handlers = {}

    @contextlib.contextmanager
    def held_back(self) -> Iterator[None]:
        """A body: what comes within takes effect at its end; a second one takes effect at once,
        since a step of one's own may never end."""
        self._holding, self._held = True, []
        try:
            yield
        finally:
            self._holding = False
        for number in self._held:
            self._handlers[number](number, None)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._holding and not self._held:
            self._held.append(number)
        else:
            self._handlers[number](number, frame)
