"""The dispatch policies in plain Python, after section 2 of the vectors' FORMAT.md: slow, and easy
to check by eye.

Times are integers (quarters of a second in the tests). Jobs are identified by (client, k). Inside
one instant: downloads complete, local runs end, arrivals in client order (each may fill the
buffer), then dispatches and starts.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

Key = tuple[int, int]
DOWNLOADED, RUN_END, ARRIVAL = 0, 1, 2
NEVER = -1


@dataclass(frozen=True)
class System:
    """compute[i][k] is the duration of client i's job k, or of one of its steps[i][k] steps if
    `per_step`."""

    compute: Sequence[Sequence[int]]
    steps: Sequence[Sequence[int]]
    download: Sequence[int]
    upload: Sequence[int]
    per_step: bool
    updates: int

    @property
    def clients(self) -> int:
        return len(self.compute)

    def duration(self, client: int, k: int) -> int:
        return self.compute[client][k] * (self.steps[client][k] if self.per_step else 1)


@dataclass(frozen=True)
class Job:
    base: int
    steps: int
    t_dispatch: int
    t_start: int
    t_finish: int
    t_arrive: int
    t_stop: int = NEVER


@dataclass
class Timeline:
    jobs: dict[Key, Job] = field(default_factory=dict)
    updates: list[tuple[int, list[Key]]] = field(default_factory=list)
    """(time, consumed jobs in order with multiplicity)"""

    @property
    def version(self) -> int:
        return len(self.updates)

    def open(self, system: System, client: int, base: int, dispatch: int, start: int) -> Key:
        k = sum(1 for c, _ in self.jobs if c == client)
        finish = start + system.duration(client, k)
        self.jobs[client, k] = Job(base, system.steps[client][k], dispatch, start, finish, finish + system.upload[client])
        return client, k

    def stop(self, key: Key, now: int) -> None:
        """The server calls the job off; what has not happened by now never does."""
        job = self.jobs[key]
        start, finish, arrive = (t if t <= now else NEVER for t in (job.t_start, job.t_finish, job.t_arrive))
        self.jobs[key] = replace(job, t_start=start, t_finish=finish, t_arrive=arrive, t_stop=now)

    def dispatch(self, system: System, client: int, now: int) -> Key:
        """Download, run and upload follow one another."""
        return self.open(system, client, self.version, now, now + system.download[client])


def rounds(system: System, selections: Sequence[Sequence[int]]) -> Timeline:
    """One job per distinct client of a round; the next round starts at the last arrival."""
    out, now = Timeline(), 0
    for selected in selections[: system.updates]:
        keys = {client: out.dispatch(system, client, now) for client in dict.fromkeys(selected)}
        arrivals = sorted((out.jobs[key].t_arrive, client) for client, key in keys.items())
        now = arrivals[-1][0]
        out.updates.append((now, [keys[client] for _, client in arrivals for _ in range(selected.count(client))]))
    return out


def stream(
    system: System, initial: Sequence[int], buffer: int, before_update: bool, choose: Callable[[int, list[int]], int]
) -> Timeline:
    """`choose(arrived, idle clients in ascending order)` names the replacement of an arrived
    client."""
    out = Timeline()
    idle = set(range(system.clients)) - set(initial)
    pending: list[tuple[int, int, int]] = []
    buffered: list[Key] = []

    def start(client: int, now: int) -> None:
        idle.discard(client)
        key = out.dispatch(system, client, now)
        heapq.heappush(pending, (out.jobs[key].t_arrive, *key))

    for client in initial:
        start(client, 0)
    while True:
        now = pending[0][0]
        arrived = []
        while pending and pending[0][0] == now:
            _, client, k = heapq.heappop(pending)
            idle.add(client)
            arrived.append(client)
            buffered.append((client, k))
            if before_update:
                start(choose(client, sorted(idle)), now)
            if len(buffered) == buffer:
                out.updates.append((now, buffered))
                buffered = []
                if out.version == system.updates:
                    return out
        if not before_update:
            for client in arrived:
                start(choose(client, sorted(idle)), now)


def broadcast(system: System, buffer: int, pop: bool) -> Timeline:
    """Every version to every client; an idle client with a model in its receive buffer starts."""
    out = Timeline()
    received: dict[int, int] = {}
    sent: list[int] = []
    idle = set(range(system.clients))
    buffered: list[Key] = []
    events: list[tuple[int, int, int, int]] = []  # (time, what, client, version or k)

    def send(now: int) -> None:
        for client in range(system.clients):
            heapq.heappush(events, (now + system.download[client], DOWNLOADED, client, len(sent)))
        sent.append(now)

    send(0)
    while True:
        now = events[0][0]
        while events and events[0][0] == now:
            _, what, client, number = heapq.heappop(events)
            if what == DOWNLOADED:
                received[client] = number
            elif what == RUN_END:
                heapq.heappush(events, (now + system.upload[client], ARRIVAL, client, number))
            else:
                idle.add(client)
                buffered.append((client, number))
                if len(buffered) == buffer:
                    out.updates.append((now, buffered))
                    buffered = []
                    if out.version == system.updates:
                        return out
                    send(now)
        for client in sorted(idle & received.keys()):
            idle.remove(client)
            base = received.pop(client) if pop else received[client]
            _, k = out.open(system, client, base, sent[base], now)
            heapq.heappush(events, (out.jobs[client, k].t_finish, RUN_END, client, k))


@dataclass
class MailboxModel:
    """Receive buffers as in broadcast; results wait in send buffers for the rounds that draw their
    clients."""

    system: System
    selections: Sequence[Sequence[int]]
    pop: bool
    continuous: bool
    out: Timeline = field(default_factory=Timeline)
    received: dict[int, int] = field(default_factory=dict)
    sent: list[int] = field(default_factory=list)
    running: set[int] = field(default_factory=set)
    stored: dict[int, int] = field(default_factory=dict)
    awaited: set[int] = field(default_factory=set)
    arrived: list[tuple[int, int, int]] = field(default_factory=list)
    events: list[tuple[int, int, int, int]] = field(default_factory=list)  # (time, what, client, version or k)

    def new_round(self, now: int) -> None:
        for client in range(self.system.clients):
            heapq.heappush(self.events, (now + self.system.download[client], DOWNLOADED, client, len(self.sent)))
        self.sent.append(now)
        for client in dict.fromkeys(self.selections[self.out.version]):
            if client in self.stored:
                self.take(client, self.stored.pop(client), now)
            else:
                self.awaited.add(client)

    def take(self, client: int, k: int, now: int) -> None:
        job = replace(self.out.jobs[client, k], t_arrive=now + self.system.upload[client])
        self.out.jobs[client, k] = job
        heapq.heappush(self.events, (job.t_arrive, ARRIVAL, client, k))

    def run_end(self, client: int, k: int, now: int) -> None:
        self.running.remove(client)
        if client in self.awaited:
            self.awaited.remove(client)
            self.take(client, k, now)
        else:
            self.stored[client] = k

    def arrival(self, client: int, k: int, now: int) -> None:
        self.arrived.append((now, client, k))
        selected = self.selections[self.out.version]
        if len(self.arrived) == len(set(selected)):
            self.out.updates.append((now, [(c, k) for _, c, k in sorted(self.arrived) for _ in range(selected.count(c))]))
            self.arrived.clear()
            if self.out.version < self.system.updates:
                self.new_round(now)

    def starts(self, now: int) -> None:
        for client in sorted(self.received.keys() - self.running):
            if self.continuous or client not in self.stored:
                self.running.add(client)
                base = self.received.pop(client) if self.pop else self.received[client]
                _, k = self.out.open(self.system, client, base, self.sent[base], now)
                self.out.jobs[client, k] = replace(self.out.jobs[client, k], t_arrive=NEVER)
                heapq.heappush(self.events, (self.out.jobs[client, k].t_finish, RUN_END, client, k))

    def play(self) -> Timeline:
        self.new_round(0)
        while True:
            now = self.events[0][0]
            while self.events and self.events[0][0] == now:
                _, what, client, number = heapq.heappop(self.events)
                if what == DOWNLOADED:
                    self.received[client] = number
                elif what == RUN_END:
                    self.run_end(client, number, now)
                else:
                    self.arrival(client, number, now)
                    if self.out.version == self.system.updates:
                        return self.out
            self.starts(now)


def mailbox(system: System, selections: Sequence[Sequence[int]], pop: bool, continuous: bool) -> Timeline:
    return MailboxModel(system, selections, pop, continuous).play()


def poll(system: System, selections: Sequence[Sequence[int]], period: int, max_steps: int) -> Timeline:
    """system.compute is of one step. Jobs never polled show what they had done when the plan
    ended."""
    out, now, polled_at = Timeline(), 0, 0
    working: dict[int, tuple[int, int, int]] = {}  # client: k, base, dispatched

    def stop(client: int, time: int, arrive: int) -> Key:
        k, base, dispatched = working.pop(client)
        start = dispatched + system.download[client]
        ends = [start + n * system.compute[client][k] for n in range(1, max_steps + 1)]
        steps = sum(end <= time for end in ends)
        out.jobs[client, k] = Job(base, steps, dispatched, start, ends[-1] if steps == max_steps else time, arrive)
        return client, k

    for client in range(system.clients):
        working[client] = (0, 0, 0)
    for selected in selections[: system.updates]:
        polled_at += period
        while polled_at < now:
            polled_at += period
        keys = [stop(client, polled_at, polled_at + system.upload[client]) for client in selected]
        keys.sort(key=lambda key: (out.jobs[key].t_arrive, key[0]))
        now = out.jobs[keys[-1]].t_arrive
        out.updates.append((now, keys))
        if out.version < system.updates:
            for client, k in keys:
                working[client] = (k + 1, out.version, now)
    for client in list(working):
        stop(client, now, NEVER)
    return out
