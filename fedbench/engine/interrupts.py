"""Delays Ctrl-C and SIGTERM while the state of a run is between two versions."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Delays signals in the body of a loop, so that a body ends before a signal takes effect. The
    signals are Ctrl-C, and SIGTERM where the program handles it.

    Handlers are installed once for the whole loop, since installing them takes longer than many a
    body.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
        self._holding = False
        self._held: list[int] = []

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """Surrounds the loop. Nothing changes in threads other than the main one, which signals do
        not reach, and for signals that the program ignores."""
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
        """Surrounds a body. The first signal within takes effect at the body's end. A second one
        takes effect at once, since a step written by a user may never end."""
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
