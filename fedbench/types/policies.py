"""Dispatch: who starts when, and which arrivals make a server update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from fedbench.types.arrays import Integers


@dataclass(frozen=True, kw_only=True)
class Dispatch:
    """Base of the policies. `steps` takes the place of the scenario's local steps: one number for
    all jobs, where the paper fixes it, or one per client, ints (N,), where the algorithm chooses
    them, for example by `Info.step_seconds`. `prelude` charges clock and ledger for one full-batch
    gradient of every client: before the first dispatch (True), or at every round's start
    (every_round)."""

    steps: int | tuple[int, ...] | Integers | None = None
    prelude: bool | Literal["every_round"] = False
    starts_from_later_version: ClassVar[bool] = False
    """Does a client's next job always start from a version after the update that consumed its last?
    Only then may `step` overwrite rows of `state.memory`."""

    def at_a_time(self, clients: int) -> int:
        """Returns how many of so many clients may work at a time: all of them, unless the policy
        draws a cohort or says a number. A prelude is not counted."""
        return clients


@dataclass(frozen=True, kw_only=True)
class Rounds(Dispatch):
    """Synchronous rounds. `select`: all; without_replacement; with_replacement; weighted (with
    replacement, probability p); scripted (`selections`, one row per round begun); external (the
    scheduler asks at every round's start).

    `deadline_seconds`: a round is closed so long after its start with what has arrived (None: it
    waits for all). `over_selection`: so many more than `cohort_size` are drawn, and the first
    `cohort_size` to arrive make the update; of a cohort that is not drawn, so many are not waited
    for. Jobs that come later are called off. `everybody`: the server's equation needs every client
    exactly once in an update; a plan with another update is refused before anything is trained.
    """

    starts_from_later_version = True

    select: Literal["all", "without_replacement", "with_replacement", "weighted", "scripted", "external"] = "all"
    cohort_size: int = 0
    selections: tuple[tuple[int, ...], ...] = ()
    deadline_seconds: float | None = None
    over_selection: int = 0
    everybody: bool = False

    def at_a_time(self, clients: int) -> int:
        drawn = max(map(len, self.selections), default=self.cohort_size) + self.over_selection
        return clients if self.select == "all" or drawn == 0 else min(clients, drawn)


@dataclass(frozen=True, kw_only=True)
class Stream(Dispatch):
    """Buffered asynchronous: `concurrency` clients always work, `buffer_size` arrivals make an
    update.

    `max_staleness`: an arrival that is more versions behind is discarded (None: all count).
    `stop_stale`: a job that has become so stale is called off when the arrivals of the instant are
    over, and its place is free; it needs `max_staleness`. `close`: the buffer is full with
    `buffer_size` arrivals (count), or when the harmonic mean of the clients' shares of it is at
    least `buffer_size` / N (harmonic): `buffer_size` is any number >= 1 then, and all clients work
    and restart themselves.

    `routing`: N probabilities, all > 0, with sum 1. `concurrency` then counts tasks, of which a
    client may have several: a task that is done goes, with the newest version, to a drawn client,
    busy or not, and a client works on its tasks one after another. The download begins at once, the
    upload occupies the client. Nobody may be away, no job lost, and no client keep a vector.
    """

    concurrency: int
    buffer_size: float = 1
    restart: Literal["resample", "self"] = "resample"
    order: Literal["after_update", "before_update"] = "after_update"
    max_staleness: int | None = None
    stop_stale: bool = False
    close: Literal["count", "harmonic"] = "count"
    initial: tuple[int, ...] = ()
    replacements: tuple[int, ...] | None = None
    routing: tuple[float, ...] | None = None

    def at_a_time(self, clients: int) -> int:
        return min(clients, self.concurrency)


@dataclass(frozen=True, kw_only=True)
class Broadcast(Dispatch):
    """Every version goes to every client; idle clients with a model start at once
    [DeFedAvg-IID]."""

    buffer_size: int = 1
    receive: Literal["pop", "peek"] = "pop"


@dataclass(frozen=True, kw_only=True)
class Mailbox(Dispatch):
    """Clients run as under Broadcast, each into a send buffer; a round takes the results of
    `cohort_size` clients, drawn with replacement, and ends at the last arrival [DeFedAvg-nIID].

    `send`: continuous (a new result overwrites an untaken one, whose job is discarded) or on_demand
    (a client stays idle until its result is taken). `selections`: the cohort of every round,
    instead of drawn ones.
    """

    cohort_size: int = 0
    send: Literal["continuous", "on_demand"] = "continuous"
    receive: Literal["pop", "peek"] = "pop"
    selections: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Poll(Dispatch):
    """All clients always work; a poll every `period_seconds` takes the steps, at most `max_steps`,
    that `cohort_size` distinct clients have finished by then, and these start again [FAVANO,
    QuAFL]. Compute durations must be per step.

    A run fills in what is None from its scenario: `max_steps` the local steps, `period_seconds` the
    mean over the clients of the time that so many steps take. `selections`: the clients of every
    poll, instead of drawn ones.
    """

    starts_from_later_version = True

    period_seconds: float | None = None
    max_steps: int | None = None
    cohort_size: int = 0
    selections: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Turns(Dispatch):
    """All clients always work; updates come in rounds of N, and every client has its turn in one of
    them [Ringleader ASGD].

    A round's first update waits until everybody has arrived, and consumes all that has; it is the
    turn of the client that came last. The next arrival of every other client makes an update alone,
    and is its turn. What clients send after their turn is collected for the next round. `version %
    N == 0` at an update: a round begins.

    `resend`: after its turn a client is sent the newest version, and goes on with it until its next
    turn (turn), or every arrival is, unless its client holds it (newest). Nothing is sent for a job
    on a version that the client holds.
    """

    resend: Literal["turn", "newest"] = "turn"
