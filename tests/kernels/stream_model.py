"""Streams that refuse what is stale, that close by a harmonic mean, or that route tasks to queues,
in plain Python after the extensions E2 to E4 of the specification: slow, and easy to check by eye.
Everything is looked at again at every instant; nothing is kept in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from tests.kernels.model import Key, System, Timeline

Full = Callable[[list[int]], bool]
"""Is the buffer full, by the clients of its jobs?"""


def of(size: int) -> Full:
    return lambda clients: len(clients) == size


def harmonic(size: Fraction, n: int) -> Full:
    """The harmonic mean of the clients' shares is at least size / n, in exact arithmetic."""

    def full(clients: list[int]) -> bool:
        shares = [clients.count(i) for i in range(n)]
        return all(shares) and size * sum(Fraction(1, share) for share in shares) <= n * n

    return full


def stale_stream(
    system: System,
    initial: Sequence[int],
    full: Full,
    max_staleness: int | None,
    stops: bool,
    choose: Callable[[int, list[int]], int],
) -> Timeline:
    """`choose(client whose place is free, idle clients in ascending order)` names who starts."""
    out = Timeline()
    at_work: dict[int, Key] = {client: out.dispatch(system, client, 0) for client in initial}
    buffered: list[Key] = []

    def is_stale(key: Key) -> bool:
        return max_staleness is not None and out.version - out.jobs[key].base > max_staleness

    while True:
        now = min(out.jobs[key].t_arrive for key in at_work.values())
        free = sorted(client for client, key in at_work.items() if out.jobs[key].t_arrive == now)
        for client in free:
            key = at_work.pop(client)
            if is_stale(key):
                continue
            buffered.append(key)
            if full([client for client, _ in buffered]):
                out.updates.append((now, buffered))
                buffered = []
                if out.version == system.updates:
                    return out
        if stops:
            for client in sorted(client for client, key in at_work.items() if is_stale(key)):
                out.stop(at_work.pop(client), now)
                free.append(client)
        for client in free:
            starts = choose(client, sorted(set(range(system.clients)) - at_work.keys()))
            at_work[starts] = out.dispatch(system, starts, now)


def routed(system: System, initial: Sequence[int], buffer: int, route: Callable[[], int]) -> Timeline:
    """`route()` names the client of the next task."""
    out = Timeline()
    pending: list[Key] = []
    buffered: list[Key] = []

    def start(client: int, now: int) -> None:
        before = [job.t_arrive for (who, _), job in out.jobs.items() if who == client]
        pending.append(out.open(system, client, out.version, now, max([now + system.download[client], *before])))

    for client in initial:
        start(client, 0)
    while True:
        now = min(out.jobs[key].t_arrive for key in pending)
        arrived = sorted(key for key in pending if out.jobs[key].t_arrive == now)
        for key in arrived:
            pending.remove(key)
            buffered.append(key)
            if len(buffered) == buffer:
                out.updates.append((now, buffered))
                buffered = []
                if out.version == system.updates:
                    return out
        for _ in arrived:
            start(route(), now)
