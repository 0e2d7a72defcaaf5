"""Measured links against an integrator in fractions, and what holds of every one of them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.errors import UsageError
from fedbench.kernels.scheduler import NANOSECONDS, Availability, Duration, Scheduler, Timing
from fedbench.kernels.traces import Trace, Traced, transfer_ns
from fedbench.types import Broadcast, Mailbox, Rounds, Stream
from tests.properties.worlds import cases

Parts = list[tuple[int, int, int]]
"""Nanoseconds, bits per second, nanoseconds of latency."""


def trace(parts: Parts) -> Trace:
    duration, rate, latency = (np.array(column, np.int64) for column in zip(*parts, strict=True))
    return Trace(duration_ns=duration, bits_per_second=rate, latency_ns=latency)


def traced(parts: Parts, bits: int, shift: int = 0, **more: Any) -> Traced:
    """One link for all clients."""
    return Traced(traces=(trace(parts),), trace_of=np.zeros(1, np.int32), shift_ns=np.array([shift], np.int64), bits=bits, **more)


def takes(parts: Parts, bits: int, start: int, shift: int = 0) -> int:
    return int(transfer_ns(traced(parts, bits, shift), 1, start)[0])


def sent(parts: Parts, start: int, end: int, shift: int = 0) -> Fraction:
    """Bits between two instants, part by part, period by period."""
    period = sum(duration for duration, _, _ in parts)
    whole = sum(Fraction(duration * rate, NANOSECONDS) for duration, rate, _ in parts)

    def until(time: int) -> Fraction:
        periods, rest = divmod(time, period)
        total = periods * whole
        for duration, rate, _ in parts:
            total += Fraction(min(rest, duration) * rate, NANOSECONDS)
            rest -= min(rest, duration)
        return total

    return until(end + shift) - until(start + shift)


def latency(parts: Parts, time: int) -> int:
    rest = time % sum(duration for duration, _, _ in parts)
    for duration, _, ns in parts:
        if rest < duration:
            return ns
        rest -= duration
    raise AssertionError


def integrated(parts: Parts, bits: int, start: int, shift: int) -> int:
    """The first nanosecond by which the bits are sent, walking from part to part."""
    period, whole = sum(part[0] for part in parts), sent(parts, 0, sum(part[0] for part in parts))
    periods = max(0, math.ceil(bits / whole) - 1)
    time, left = start + periods * period, bits - periods * whole
    while left > 0:
        rate, inside = at((time + shift) % period, parts)
        if Fraction(inside * rate, NANOSECONDS) >= left:
            time, left = time + math.ceil(left * NANOSECONDS / rate), Fraction(0)
        else:
            time, left = time + inside, left - Fraction(inside * rate, NANOSECONDS)
    return time - start + latency(parts, start + shift)


def at(rest: int, parts: Parts) -> tuple[int, int]:
    """The rate so far into the trace, and how long it stays."""
    for duration, rate, _ in parts:
        if rest < duration:
            return rate, duration - rest
        rest -= duration
    raise AssertionError


durations = st.integers(1, 40) | st.integers(1, 10**13)
rates = st.just(0) | st.integers(1, 5).map(lambda n: n * NANOSECONDS) | st.integers(1, 10**12)


@st.composite
def some_parts(draw: st.DrawFn, least: int = 1) -> Parts:
    """A few parts, often of no throughput; not all of them."""
    count = draw(st.integers(1, 6))
    parts = [(draw(durations), draw(rates), draw(st.integers(0, 10**9))) for _ in range(count)]
    return [*parts, (draw(durations), draw(st.integers(least, 10**12)), 0)]


starts = st.integers(0, 60) | st.integers(0, 10**16)


def enough(parts: Parts, bits: int) -> bool:
    """Does the transfer surely end within 1e9 seconds?"""
    period = sum(part[0] for part in parts)
    return (bits / sent(parts, 0, period) + 2) * period < 10**18


@cases(400)
@given(some_parts(), st.integers(0, 10**9) | st.integers(0, 2**40), starts, st.data())
def test_the_end_is_that_of_an_integrator_in_fractions(parts: Parts, bits: int, start: int, data: st.DataObject) -> None:
    shift = data.draw(st.integers(0, sum(part[0] for part in parts) - 1))
    if not enough(parts, bits):
        return
    got = takes(parts, bits, start, shift)
    assert got == integrated(parts, bits, start, shift)
    end = start + got - latency(parts, start + shift)
    assert sent(parts, start, end, shift) >= bits
    assert bits == 0 or sent(parts, start, end - 1, shift) < bits


@cases(200)
@given(some_parts(), st.integers(0, 2**30), st.integers(0, 2**30), starts, st.integers(0, 10**12))
def test_more_bits_take_longer_and_who_starts_later_ends_later(parts: Parts, few: int, more: int, start: int, wait: int) -> None:
    parts = [(duration, rate, 0) for duration, rate, _ in parts]
    if not enough(parts, few + more):
        return
    assert takes(parts, few, start) <= takes(parts, few + more, start)
    assert start + takes(parts, few, start) <= start + wait + takes(parts, few, start + wait)


@cases(200)
@given(some_parts(), st.integers(1, 10**6), starts, st.integers(1, 10**6))
def test_the_times_of_two_halves_add_up(parts: Parts, first: int, start: int, second: int) -> None:
    """Exactly, where the first half ends with a nanosecond: every rate is a whole number of times
    as many bits a nanosecond as the halves have."""
    parts = [(duration, rate % 5 * first * second * NANOSECONDS % 10**15, 0) for duration, rate, _ in parts]
    parts[-1] = (parts[-1][0], NANOSECONDS, 0)
    period = sum(part[0] for part in parts)
    half = sent(parts, start, start + first)
    assert half.denominator == 1
    whole = int(half) + second
    if not enough(parts, whole) or whole > 2**60 or period > 10**17:
        return
    middle = start + takes(parts, int(half), start)
    assert sent(parts, start, middle) == half
    assert takes(parts, whole, start) == middle - start + takes(parts, second, middle)


@cases(100)
@given(some_parts(), st.integers(0, 2**20), starts, st.integers(1, 10**6))
def test_a_period_later_everything_is_the_same(parts: Parts, bits: int, start: int, cut: int) -> None:
    """And a part cut in two, or the trace written twice, is the same trace."""
    if not enough(parts, bits):
        return
    period = sum(part[0] for part in parts)
    expected = takes(parts, bits, start)
    assert takes(parts, bits, start + period) == takes(parts + parts, bits, start) == expected
    assert takes(parts, bits, 0, start % period) == expected
    duration, rate, ns = parts[0]
    at = cut % duration
    if at:
        assert takes([(at, rate, ns), (duration - at, rate, ns), *parts[1:]], bits, start) == expected


@st.composite
def broadcast_worlds(draw: st.DrawFn) -> tuple[Timing, list[Parts], Broadcast | Mailbox]:
    """Links of seconds with one latency each, often down; clients that compute for quarters of a
    second."""
    count = draw(st.integers(1, 4))
    seconds = st.integers(1, 8).map(lambda quarters: quarters * NANOSECONDS // 4)
    links = []
    for _ in range(count):
        latency = draw(st.integers(0, 2)) * NANOSECONDS // 4
        parts = [(draw(seconds), draw(st.integers(0, 3)), latency) for _ in range(draw(st.integers(0, 3)))]
        links.append([*parts, (draw(seconds), draw(st.integers(1, 3)), latency)])
    receive = draw(st.sampled_from(["pop", "peek"]))
    dispatch: Broadcast | Mailbox = Broadcast(buffer_size=draw(st.integers(1, count)), receive=receive)
    if draw(st.booleans()):
        dispatch = Mailbox(
            cohort_size=draw(st.integers(1, count)), send=draw(st.sampled_from(["continuous", "on_demand"])), receive=receive
        )
    download = Traced(
        traces=[trace(parts) for parts in links],
        trace_of=np.arange(count, dtype=np.int32),
        shift_ns=np.zeros(count, np.int64),
        bits=draw(st.integers(0, 3)),
    )
    compute = Duration.constant(np.array([draw(st.integers(1, 8)) / 4 for _ in range(count)]))
    return (
        Timing(clients=count, compute=compute, download=download, upload=Duration.constant(0.25), max_updates=15),
        links,
        dispatch,
    )


@cases(300)
@given(broadcast_worlds())
def test_a_client_starts_from_the_newest_version_that_has_come(world: tuple[Timing, list[Parts], Broadcast | Mailbox]) -> None:
    """Asked of the integrator, for every job; and every chunk that ends before it names its version
    among those that are still needed."""
    timing, links, dispatch = world
    assert isinstance(timing.download, Traced)
    bits = timing.download.bits
    scheduler, sent_at = Scheduler(timing, dispatch), [0]
    gone: set[int] = set()
    chunk = scheduler.next(1)
    while True:
        sent_at += chunk.time.tolist()
        for client, base, start in zip(chunk.client, chunk.base, chunk.t_start, strict=True):
            arrivals = [time + integrated(links[client], bits, time, 0) for time in sent_at if time <= start]
            assert base == max(version for version, arrival in enumerate(arrivals) if arrival <= start)
            assert base not in gone
        if chunk.done:
            break
        gone |= set(range(len(sent_at))) - set(chunk.live_bases.tolist())
        chunk = scheduler.next(2)
    assert len(sent_at) > 1


def test_a_constant_link_has_the_plan_of_a_constant_duration() -> None:
    """8 bits over 4 bits a second, with a latency of half a second for each of two exchanges, and a
    second more: 4 s."""
    link = traced([(7, 4, NANOSECONDS // 2), (11, 4, NANOSECONDS // 2)], 8, exchanges=2, more_seconds=1)
    constant = Timing(clients=3, compute=Duration.exponential(2.0), max_updates=40, upload=Duration.constant(4.0))
    for dispatch in (Rounds(), Stream(concurrency=2, buffer_size=2)):
        chunks = [Scheduler(timing, dispatch).next() for timing in (constant, with_upload(constant, link))]
        for name in ("client", "t_start", "t_finish", "t_arrive", "time", "offsets", "entries"):
            np.testing.assert_array_equal(getattr(chunks[0], name), getattr(chunks[1], name))


def with_upload(timing: Timing, link: Traced, **more: Any) -> Timing:
    return replace(timing, upload=link, **more)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"traces": ()}, "upload: expected at least one trace"),
        ({"traces": (trace([(1, 0, 0)]),)}, "upload: trace 0: the throughput is 0 for ever"),
        ({"traces": (trace([(-1, 1, 0)]),)}, "upload: trace 0, part 0: the duration in nanoseconds must be between 1 and .* got -1"),
        ({"bits": -1}, "upload: bits"),
        ({"bits": 2**62 + 1}, "upload: bits of a message must be between 0 and"),
        ({"exchanges": -1}, "upload: exchanges"),
        ({"more_seconds": -1.0}, "upload: nanoseconds more must be between 0"),
        ({"trace_of": np.zeros(2, np.int32), "shift_ns": np.zeros(2, np.int64)}, "upload: expected 1 or 3 values"),
        ({"trace_of": np.zeros(1, np.int64)}, r"trace_of: expected int32 \(d,\)"),
        ({"shift_ns": np.array([99])}, "the shift of client 0 in nanoseconds must be between 0 and 9, got 99"),
        ({"traces": (Trace(duration_ns=np.ones(2, np.int64), bits_per_second=np.ones(1, np.int64), latency_ns=np.ones(2, np.int64)),)},
         "a duration, a throughput and a latency for every part"),
        ({"traces": (Trace(duration_ns=np.ones(2), bits_per_second=np.ones(2), latency_ns=np.ones(2)),)},  # type: ignore[arg-type]
         r"upload: duration_ns: expected int64 \(S,\) C-contiguous, got float64"),
        ({"bits": 2**62}, "take more than 1e9 seconds"),
    ],
)  # fmt: skip
def test_refused(change: dict[str, Any], message: str) -> None:
    link = replace(traced([(10, 4, 0)], 8), **change)
    with pytest.raises(UsageError, match=message):
        Scheduler(with_upload(Timing(clients=3, compute=Duration.constant(1.0)), link), Rounds()).next()


def test_work_that_pauses_needs_links_that_do_not_change() -> None:
    away = Availability(kind="periodic", period_seconds=10.0, on_fraction=0.5, when_offline="paused")
    with pytest.raises(UsageError, match=r"when_offline must be lost with measured links.*got paused"):
        Scheduler(
            with_upload(Timing(clients=1, compute=Duration.constant(1.0)), traced([(10, 4, 0)], 8), availability=away), Rounds()
        )
