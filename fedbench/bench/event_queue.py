"""The event queue under the hold model: n events are pending, the earliest comes up and is pushed
again later.

Increments are drawn beforehand and are the same for everybody; filling the queue is not timed. The
range of the increments grows with n, so that a call moves the clock by the same time whatever n is
and ties are rare.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fedbench.bench.case import Case, Outcome, Ready, Way, draws

FNV_OFFSET, FNV_PRIME, WORD = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


class Events(NamedTuple):
    times: npt.NDArray[np.int64]  # (n,): client i's first event
    increments: npt.NDArray[np.int64]  # (E,)


def events(n: int) -> int:
    """Events of one call: enough to leave the clock's resolution behind, few enough to do it
    often."""
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
    """Tuples (time, client). Pop, then push: a simulation must handle the event before it knows the
    successor."""
    heap, increments, pop, push = heap_of(given), given.increments.tolist(), heapq.heappop, heapq.heappush

    def act() -> int:
        time = 0
        for increment in increments:
            time, client = pop(heap)
            push(heap, (time + increment, client))
        return time

    return Ready(act, lambda time: {"time": time, "pending": np.sort([event[0] for event in heap])})


def with_simpy(given: Events) -> Ready:
    """Timeouts with callbacks, simpy's faster idiom: a process per client takes a quarter
    longer."""
    import simpy

    env, increments = simpy.Environment(), given.increments.tolist()
    left = iter(increments)

    def again(_: Any) -> None:
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
    """heapq, with the order in which clients come up written down."""
    heap, checksum, time = heap_of(given), FNV_OFFSET, 0
    for increment in given.increments.tolist():
        time, client = heapq.heappop(heap)
        checksum = (checksum ^ client) * FNV_PRIME & WORD
        heapq.heappush(heap, (time + increment, client))
    return {"time": time, "order": np.uint64(checksum), "pending": np.sort([event[0] for event in heap])}


OURS = Way("fedbench", ours, ("fedbench.kernels.probe:Hold",))
HEAPQ, SIMPY = Way("heapq", with_heapq), Way("simpy", with_simpy, ("simpy",))


def _case(group: str, n: int, *versus: Way) -> Case:
    return Case(
        name=f"{group}-{n}",
        group=group,
        size=n,
        small=min(n, 200),
        inputs=inputs,
        ours=OURS,
        versus=versus,
        reference=reference,
        unit="event",
        units=events,
    )


CASES = (
    *(_case("queue-hold", n, HEAPQ, SIMPY) for n in (100, 1_000, 100_000, 1_000_000)),
    *(_case("queue-curve", 10**power) for power in range(2, 7)),
)

# What a case without a rival is measured beside: pure Python that no change of ours can touch.
CALIBRATION = Way("calibration", lambda _: with_heapq(inputs(1_000)))
