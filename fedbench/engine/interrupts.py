"""Ctrl-C and SIGTERM wait while a state is between two versions."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Ctrl-C within the block, or SIGTERM where a program answers it likewise, takes effect at its end, so that what the block changes is
    changed whole; a second one takes effect at once, since a step of one's own may never end. In other threads, which signals do not
    reach, and where a program ignores one, nothing changes."""
    handlers = {number: handler for number in SIGNALS if callable(handler := signal.getsignal(number))}
    if threading.current_thread() is not threading.main_thread():
        handlers = {}
    held: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(number)
        if len(held) > 1:
            handlers[signal.Signals(number)](number, frame)

    for number in handlers:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if held:
        handlers[signal.Signals(held[0])](held[0], None)
