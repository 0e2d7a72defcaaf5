"""Ctrl-C that waits for the end of a block."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from fedbench.engine.interrupts import SIGNALS, Interrupts


@pytest.fixture(autouse=True)
def hears_both() -> Iterator[None]:
    before = [signal.signal(number, signal.default_int_handler) for number in SIGNALS]
    yield
    for number, handler in zip(SIGNALS, before, strict=True):
        signal.signal(number, handler)


def hold(interrupts: int, reached: list[int], error: Exception | None = None, sent: signal.Signals = signal.SIGINT) -> None:
    """Within a block that holds back: so many times Ctrl-C, each noted when it is over, and perhaps
    an error."""
    loop = Interrupts()
    with loop.heard(), loop.held_back():
        for number in range(interrupts):
            signal.raise_signal(sent)
            reached.append(number)
        if error is not None:
            raise error


@pytest.mark.parametrize("sent", SIGNALS)
@pytest.mark.parametrize("interrupts", [1, 2])
def test_the_first_takes_effect_at_the_end_and_a_second_at_once(interrupts: int, sent: signal.Signals) -> None:
    reached: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        hold(interrupts, reached, sent=sent)
    assert reached == [0]
    assert all(signal.getsignal(number) is signal.default_int_handler for number in SIGNALS)


def test_a_program_that_does_not_answer_sigterm_is_ended_by_it() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with Interrupts().heard():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_an_error_within_is_the_one_that_is_raised() -> None:
    with pytest.raises(ValueError, match="mine"):
        hold(1, [], ValueError("mine"))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_it_is_ignored_and_in_other_threads_nothing_changes() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interrupts().heard():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    seen = []

    def other() -> None:
        loop = Interrupts()
        with loop.heard(), loop.held_back():
            seen.append(signal.getsignal(signal.SIGINT))

    signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_between_two_bodies_nothing_waits() -> None:
    loop = Interrupts()
    with loop.heard():
        with loop.held_back():
            pass
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
