"""Cases of the event queue under the hold model: n events are pending, and the earliest is taken
out and put back later, again and again.

Increments are drawn before and are the same for all ways. Filling the queue is not timed. The range
of the increments grows with n, so that a call moves the clock by the same time whatever n is, and
ties are rare.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedbench.bench.case import AnyWay, Case, Outcome, Ready, Rows, Way, draws

if TYPE_CHECKING:
    from simpy.events import Event

FNV_OFFSET, FNV_PRIME, WORD = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


class Events(NamedTuple):
    times: Rows  # (n,): client i's first event
    increments: Rows  # (E,)


def events(n: int) -> int:
    """Returns the events of one call. They are enough that the clock's resolution does not matter,
    and few enough that a call can be repeated often."""
    return 20_000 if n <= 10_000 else 200_000


def inputs(n: int) -> Events:
    rng = draws("hold", n)
    return Events(rng.integers(0, n << 24, n), rng.integers(0, n << 24, events(n)))


def ours(given: Events) -> Ready:
    from fedbench.kernels.probe import Hold

    hold = Hold(given.times)
    return Ready(lambda: hold.run(given.increments), lambda result: {"time": result[0], "order": result[1]})


def heap_of(given: Events) -> list[tuple[int, int]]:
    heap = [(time, client) for client, time in enumerate(given.times.tolist())]
    heapq.heapify(heap)
    return heap


def with_heapq(given: Events) -> Ready:
    """Keeps tuples (time, client) in a heap. It pops, and then pushes, since a simulation must
    handle an event before it knows the next one of the client."""
    heap, increments, pop, push = heap_of(given), given.increments.tolist(), heapq.heappop, heapq.heappush

    def act() -> int:
        time = 0
        for increment in increments:
            time, client = pop(heap)
            push(heap, (time + increment, client))
        return time

    return Ready(act, lambda time: {"time": time, "pending": np.sort([event[0] for event in heap])})


def with_simpy(given: Events) -> Ready:
    """Uses timeouts with callbacks, which are simpy's faster idiom. A process per client takes a
    quarter longer."""
    import simpy

    env, increments = simpy.Environment(), given.increments.tolist()
    left = iter(increments)

    def again(_: Event) -> None:
        env.timeout(next(left)).callbacks.append(again)

    for time in given.times.tolist():
        env.timeout(time).callbacks.append(again)

    def act() -> int:
        nonlocal left
        left, step = iter(increments), env.step
        for _ in increments:
            step()
        return int(env.now)

    return Ready(act, lambda time: {"time": time, "pending": np.sort([event[0] for event in env._queue])})


def reference(given: Events) -> Outcome:
    """Returns what a heap gives, with a checksum of the order in which clients have their
    events."""
    heap, checksum, time = heap_of(given), FNV_OFFSET, 0
    for increment in given.increments.tolist():
        time, client = heapq.heappop(heap)
        checksum = (checksum ^ client) * FNV_PRIME & WORD
        heapq.heappush(heap, (time + increment, client))
    return {"time": time, "order": np.uint64(checksum), "pending": np.sort([event[0] for event in heap])}


def _case(n: int) -> Case[int, Events]:
    return Case(
        name=f"queue-hold-{n}",
        group="queue-hold",
        size=n,
        small=min(n, 200),
        inputs=inputs,
        ours=Way("fedbench", ours, ("fedbench.kernels.probe:Hold",)),
        versus=(Way("heapq", with_heapq), Way("simpy", with_simpy, ("simpy",))),
        reference=reference,
        unit="event",
        units=events,
    )


CASES = tuple(_case(n) for n in (100, 1_000, 100_000, 1_000_000))

# A case without a rival is measured beside this loop in pure Python, which no change of ours can
# make slower.
CALIBRATION: AnyWay = Way("calibration", lambda _: with_heapq(inputs(1_000)))
