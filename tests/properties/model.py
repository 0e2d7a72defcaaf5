"""Rounds, Stream and Turns with absence, drop-out, deadlines, over-selection and a server whose
work takes time, in plain Python: slow, and easy to check by eye.

Times are integers (nanoseconds); windows are lists of (on, off). Time is walked from one instant of
interest to the next, and every question about windows is answered from the list. Choices are
scripted: the model is told who is drawn.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

NEVER = -1
CAP = 250
"""Jobs after which the model gives up."""
Windows = list[tuple[int, int]]
Key = tuple[int, int]


@dataclass
class Job:
    base: int
    t_dispatch: int
    t_start: int
    t_finish: int
    t_arrive: int
    t_lost: int = NEVER

    def times(self) -> tuple[int, ...]:
        return self.t_dispatch, self.t_start, self.t_finish, self.t_arrive, self.t_lost

    def cut(self, time: int) -> None:
        """What has not happened by `time` never does."""
        for name in ("t_start", "t_finish", "t_arrive", "t_lost"):
            if getattr(self, name) > time:
                setattr(self, name, NEVER)

    @property
    def end(self) -> int:
        return self.t_lost if self.t_lost != NEVER else self.t_arrive


@dataclass
class World:
    """`compute[i]`: the durations of client i's jobs, again and again. `drop(client, k)`: None, or
    which share of its run a job is lost after."""

    windows: list[Windows]
    paused: bool
    compute: list[list[int]]
    download: int
    upload: int
    drop: Callable[[int, int], float | None]
    start: int
    updates: int
    server: int = 0
    jobs: dict[Key, Job] = field(default_factory=dict)
    done: list[tuple[int, list[Key]]] = field(default_factory=list)
    next_k: dict[int, int] = field(default_factory=dict)
    sent: int = 0

    def stays(self, client: int, time: int) -> Windows:
        """The windows that end after `time`."""
        return self.windows[client][bisect.bisect_right(self.windows[client], time, key=lambda window: window[1]) :]

    def next_on(self, client: int, time: int) -> int | None:
        stays = self.stays(client, time)
        return max(time, stays[0][0]) if stays else None

    def is_on(self, client: int, time: int) -> bool:
        return self.next_on(client, time) == time

    def work(self, client: int, time: int, duration: int) -> int | None:
        """The end of work that begins at `time`; None: never."""
        if duration == 0 or not self.paused:
            return time + duration
        for on, off in self.stays(client, time):
            begin = max(on, time)
            if duration <= off - begin:
                return begin + duration
            duration -= off - begin
        return None

    def leaves(self, client: int, time: int) -> int:
        return self.windows[client][-1][1] if self.paused else self.stays(client, time)[0][1]

    def dispatch(self, client: int, now: int, held: int | None = None) -> Key:
        """From the newest version, which is sent, or from one that the client holds."""
        self.sent += held is None
        k = self.next_k[client] = self.next_k.get(client, -1) + 1
        forever = 1 << 62
        ends = [now]
        download = self.download if held is None else 0
        for duration in (download, self.compute[client][k % len(self.compute[client])], self.upload):
            end = self.work(client, ends[-1], duration) if ends[-1] < forever else None
            ends.append(forever if end is None else end)
        job = Job(self.version(now) if held is None else held, *ends)
        share = self.drop(client, k)
        losses = [self.leaves(client, now)] if self.leaves(client, now) < job.t_arrive else []
        if share is not None and job.t_finish < forever:
            losses.append(job.t_start + int(share * (job.t_finish - job.t_start)))
        if losses:
            job.t_lost = min(losses)
            job.cut(job.t_lost)
        self.jobs[client, k] = job
        return client, k

    def next_moment(self, now: int, waiting: dict[int, int], working: dict[int, Key]) -> int | None:
        """When the next job ends or the next client that waits is there; None: never. `waiting[i]`:
        since when client i does."""
        starts = [self.next_on(client, max(now, since)) for client, since in waiting.items()]
        return min([t for t in starts if t is not None] + [self.jobs[key].end for key in working.values()], default=None)

    def update(self, now: int, keys: list[Key]) -> None:
        """The server begins when it has done the updates before, and the version is there when it
        is done."""
        self.done.append((max(now, self.done[-1][0] if self.done else 0) + self.server, keys))

    def version(self, now: int) -> int:
        """How many versions are done; that of the very instant is one of them."""
        return sum(time <= now for time, _ in self.done)

    def is_over(self, now: int) -> bool:
        return self.version(now) >= self.updates or len(self.jobs) > CAP


def rounds(world: World, script: Sequence[Sequence[int]], deadline: int | None, over_selection: int) -> int | None:
    """Plays the rounds; the time at which it stalls, or None."""
    now = world.start
    for row in script:
        returns = [time for time in (world.next_on(client, now) for client in row) if time is not None]
        if not returns:
            return now
        now = min(returns)
        cohort = [client for client in row if world.is_on(client, now)]
        keys = [world.dispatch(client, now) for client in dict.fromkeys(cohort)]
        arrivals = sorted((world.jobs[key].t_arrive, key) for key in keys if world.jobs[key].t_lost == NEVER)
        if deadline is not None:
            arrivals = [arrival for arrival in arrivals if arrival[0] <= now + deadline]
        entries = [arrival for arrival in arrivals for _ in range(cohort.count(arrival[1][0]))][: len(row) - over_selection]
        if len(entries) == len(row) - over_selection:
            close = entries[-1][0]
        else:
            close = max(world.jobs[key].end for key in keys)
            close = close if deadline is None else min(close, now + deadline)
        for key in keys:
            if key not in [key for _, key in entries]:
                world.jobs[key].cut(close)
        if entries:
            world.update(close, [key for _, key in entries])
            close = world.done[-1][0]
        if world.is_over(close):
            return None
        now = close
    raise AssertionError("the script is too short")


def stream(world: World, initial: Sequence[int], buffer: int, before_update: bool) -> int | None:
    """Every client restarts itself, and keeps its place while it is away; the time at which it
    stalls, or None."""
    now = world.start
    waiting = dict.fromkeys(initial, now)  # client: since when its place is free
    working: dict[int, Key] = {}
    buffered: list[Key] = []
    while not world.is_over(now):
        moment = world.next_moment(now, waiting, working)
        if moment is None:
            end = max([now, *(time for time, _ in world.done)])
            return None if world.is_over(end) else end
        now = moment
        if world.is_over(now):  # a version is done before all else of an instant
            return None
        over = sorted(client for client, key in working.items() if world.jobs[key].end == now)
        over.sort(key=lambda client: world.jobs[working[client]].t_lost == NEVER)  # losses before arrivals
        for client in over:
            key = working.pop(client)
            if world.jobs[key].t_lost == NEVER:
                buffered.append(key)
            if before_update and world.is_on(client, now):
                working[client] = world.dispatch(client, now)
            else:
                waiting[client] = now
            if len(buffered) == buffer:
                world.update(now, buffered)
                buffered = []
                if world.is_over(now):
                    return None
        for client in [client for client in waiting if world.is_on(client, now)]:
            del waiting[client]
            working[client] = world.dispatch(client, now)
    return None


@dataclass
class Round:
    """Whose turn is to come, what was sent for the next first update, and which version every
    client holds."""

    everybody: set[int]
    collecting: bool = True
    seen: set[int] = field(default_factory=set)
    owed: set[int] = field(default_factory=set)
    pool: list[Key] = field(default_factory=list)
    held: dict[int, int] = field(default_factory=dict)
    """Who is not named is to be sent the newest version."""

    def receive(self, key: Key) -> list[Key]:
        """The jobs of which this arrival makes an update, which is its client's turn; none if it is
        collected."""
        client, update = key[0], list[Key]()
        if not self.collecting and client in self.owed:
            update = [key]
            self.owed.remove(client)
        else:
            self.pool.append(key)
            self.seen.add(client)
            if self.collecting and self.seen == self.everybody:
                update, self.pool = self.pool, []
                self.owed, self.seen = self.everybody - {client}, set()
                self.collecting = False
        if not self.collecting and not self.owed:
            self.collecting = True
        if update:
            self.held.pop(client)
        return update

    def resend(self, clients: list[int], version: int) -> None:
        """The newest version goes to these clients, unless they hold it."""
        for client in clients:
            if self.held.get(client) != version:
                self.held.pop(client, None)


def turns(world: World, newest: bool) -> int | None:
    """Rounds in which every client has one turn; the time at which it stalls, or None."""
    now, table = world.start, Round(set(range(len(world.windows))))
    waiting = dict.fromkeys(sorted(table.everybody), now)
    working: dict[int, Key] = {}
    while not world.is_over(now):
        moment = world.next_moment(now, waiting, working)
        if moment is None:
            return now
        now = moment
        over = [working.pop(client) for client in sorted(working) if world.jobs[working[client]].end == now]
        for key in over:
            if world.jobs[key].t_start == NEVER:  # its client did not receive what was sent
                table.held.pop(key[0])
        arrived = [key for key in over if world.jobs[key].t_lost == NEVER]
        for key in arrived:
            if update := table.receive(key):
                world.update(now, update)
            if world.is_over(now):
                return None
        if newest:
            table.resend([client for client, _ in arrived], len(world.done))
        waiting |= dict.fromkeys([client for client, _ in over], now)
        for client in [client for client in waiting if world.is_on(client, now)]:
            del waiting[client]
            working[client] = world.dispatch(client, now, table.held.get(client))
            table.held.setdefault(client, len(world.done))
    return None
