"""Dispatch policies: which clients start when, and which arrivals make a server update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from fedbench.types.arrays import Integers


@dataclass(frozen=True, kw_only=True)
class Dispatch:
    """Base of the policies.

    `steps` replaces the scenario's local steps. It is one number for all jobs where the paper fixes
    it, or one integer per client (N,) where the algorithm chooses them, for example by
    `Info.step_seconds`. `prelude` charges clock and ledger for one full-batch gradient of every
    client: once before the first dispatch (True), or at the start of every round (every_round).
    """

    steps: int | tuple[int, ...] | Integers | None = None
    prelude: bool | Literal["every_round"] = False
    starts_from_later_version: ClassVar[bool] = False
    """Whether a client's next job always starts from a version after the update that consumed its
    last job. Only then may `step` overwrite rows of `state.memory`."""

    def at_a_time(self, clients: int) -> int:
        """Returns how many of `clients` clients may work at a time: all of them, unless the policy
        draws a cohort or has a number of its own. A prelude is not counted."""
        return clients


@dataclass(frozen=True, kw_only=True)
class Rounds(Dispatch):
    """Synchronous rounds.

    `select` says who takes part: "all"; a cohort drawn "without_replacement" or "with_replacement";
    "weighted", which draws with replacement and probability p; "scripted", which takes one row of
    `selections` for every round that begins; or "external", where the scheduler asks at the start
    of every round.

    `deadline_seconds`: so long after its start a round is closed with what has arrived. None waits
    for all. `over_selection`: so many more clients than `cohort_size` are drawn, and the first
    `cohort_size` to arrive make the update. If the cohort is not drawn, the round does not wait for
    the last so many of it. Jobs that would come later are called off. `everybody`: the server's
    equation needs every client exactly once in an update. A plan with another update is then
    refused before anything is trained.
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
    """Buffered asynchronous updates: `concurrency` clients always work, and `buffer_size` arrivals
    make an update.

    `max_staleness`: an arrival that is more versions behind is discarded. None lets all count.
    `stop_stale`: a job that has become that stale is called off after the other arrivals of the
    same instant, and its place becomes free. This needs `max_staleness`. `close` says when the
    buffer is full: with `buffer_size` arrivals (count), or when the harmonic mean of the clients'
    shares of it is at least `buffer_size` / N (harmonic). With harmonic, `buffer_size` is any
    number >= 1, and all clients work and restart themselves.

    `routing`: N probabilities, all > 0, with sum 1. `concurrency` then counts tasks, of which a
    client may have several. A task that is done goes with the newest version to a drawn client,
    whether that is busy or not, and a client works on its tasks one after another. The download
    begins at once, and the upload occupies the client. With routing, all clients must always be
    available, no job may be lost, and no client may keep a vector.
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
    """Every version goes to every client, and an idle client that has received a model starts at
    once [DeFedAvg-IID].

    `receive`: an idle client takes its model out of what it has received (pop), or leaves it there
    and may train from it again (peek).
    """

    buffer_size: int = 1
    receive: Literal["pop", "peek"] = "pop"


@dataclass(frozen=True, kw_only=True)
class Mailbox(Dispatch):
    """Clients work as under Broadcast and put their results into a send buffer each. A round takes
    the results of `cohort_size` clients, drawn with replacement, and ends at the last arrival
    [DeFedAvg-nIID].

    `send`: a new result overwrites one that was not taken, whose job is discarded (continuous), or
    a client stays idle until its result is taken (on_demand). `selections` gives the cohort of
    every round instead of drawing it.
    """

    cohort_size: int = 0
    send: Literal["continuous", "on_demand"] = "continuous"
    receive: Literal["pop", "peek"] = "pop"
    selections: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Poll(Dispatch):
    """All clients always work. Every `period_seconds` a poll takes the steps, at most `max_steps`,
    that `cohort_size` distinct clients have finished by then, and these clients start again
    [FAVANO, QuAFL]. Compute durations must be per step.

    A run replaces None by values of its scenario: `max_steps` becomes the local steps, and
    `period_seconds` the mean over the clients of the time that so many steps take. `selections`
    gives the clients of every poll instead of drawing them.
    """

    starts_from_later_version = True

    period_seconds: float | None = None
    max_steps: int | None = None
    cohort_size: int = 0
    selections: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Turns(Dispatch):
    """All clients always work. Updates come in rounds of N, and every client has its turn in one
    update of a round [Ringleader ASGD].

    The first update of a round waits until every client has arrived, and consumes everything that
    has arrived. It is the turn of the client that came last. The next arrival of every other client
    makes an update alone, which is that client's turn. What clients send after their turn is
    collected for the next round. A round begins at the updates with `version % N == 0`.

    `resend` says when a client is sent the newest version: after its turn, and then it goes on with
    it until its next turn (turn); or after every arrival, unless it holds that version already
    (newest). Nothing is sent for a job on a version that the client holds.
    """

    resend: Literal["turn", "newest"] = "turn"
