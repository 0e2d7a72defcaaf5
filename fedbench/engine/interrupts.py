"""Ctrl-C waits while a state is between two versions."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Ctrl-C within the block takes effect at its end, so that what the block changes is changed whole; a second one takes effect at
    once, since a step of one's own may never end. In other threads, which Ctrl-C does not reach, and where a program ignores it,
    nothing changes."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    held: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(number)
        if len(held) > 1:
            handler(number, frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if held:
        handler(held[0], None)
