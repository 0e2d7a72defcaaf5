"""Ctrl-C that waits for the end of a block."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from fedbench.engine.interrupts import held_back


@pytest.fixture(autouse=True)
def hears_ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def hold(interrupts: int, reached: list[int], error: Exception | None = None) -> None:
    """Within a block that holds back: so many times Ctrl-C, each noted when it is over, and perhaps an error."""
    with held_back():
        for number in range(interrupts):
            signal.raise_signal(signal.SIGINT)
            reached.append(number)
        if error is not None:
            raise error


@pytest.mark.parametrize("interrupts", [1, 2])
def test_the_first_takes_effect_at_the_end_and_a_second_at_once(interrupts: int) -> None:
    reached: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        hold(interrupts, reached)
    assert reached == [0]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_within_is_the_one_that_is_raised() -> None:
    with pytest.raises(ValueError, match="mine"):
        hold(1, [], ValueError("mine"))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_it_is_ignored_and_in_other_threads_nothing_changes() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with held_back():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    seen = []

    def other() -> None:
        with held_back():
            seen.append(signal.getsignal(signal.SIGINT))

    signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
