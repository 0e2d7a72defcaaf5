"""Dispatch policies: which clients start when, and which arrivals make a server update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from fedbench.types.arrays import Integers


@dataclass(frozen=True, kw_only=True)
class Dispatch:
    """Base of the policies: which clients start when, and which arrivals make an update.

    Attributes
    ----------
    steps : int, integer array (N,), tuple of int, or None
        Replaces the scenario's local steps: one number for all jobs where the paper fixes it, or
        one per client where the algorithm chooses them, for example by `Info.step_seconds`.
    prelude : bool or "every_round"
        Charges clock and ledger for one full-batch gradient of every client: once before the first
        dispatch (True), or at the start of every round.
    starts_from_later_version : bool
        Whether a client's next job always starts from a version after the update that consumed its
        last job. Only then may `step` overwrite rows of `state.memory`.
    """

    steps: int | tuple[int, ...] | Integers | None = None
    prelude: bool | Literal["every_round"] = False
    starts_from_later_version: ClassVar[bool] = False
    """Whether a client's next job always starts from a version after the update that consumed its
    last job. Only then may `step` overwrite rows of `state.memory`."""

    def at_a_time(self, clients: int) -> int:
        """Returns how many clients may work at a time.

        That is all of them, unless the policy draws a cohort or has a number of its own. A prelude
        is not counted.

        Parameters
        ----------
        clients : int
            The number of clients N.

        Returns
        -------
        int
            The largest number of clients at work.
        """
        return clients


@dataclass(frozen=True, kw_only=True)
class Rounds(Dispatch):
    """Synchronous rounds.

    Attributes
    ----------
    select : str
        Who takes part: "all"; a cohort drawn "without_replacement" or "with_replacement";
        "weighted", drawn with replacement and probability p; "scripted", one row of `selections` a
        round; or "external", where the scheduler asks at the start of every round.
    cohort_size : int
        How many clients a round draws.
    selections : tuple of tuple of int
        The clients of every round, for "scripted".
    deadline_seconds : float or None
        So long after its start a round is closed with what has arrived. None waits for all.
    over_selection : int
        So many more clients than `cohort_size` are drawn, and the first `cohort_size` to arrive
        make the update. If the cohort is not drawn, the round does not wait for the last so many of
        it. Jobs that would come later are called off.
    everybody : bool
        The server's equation needs every client exactly once in an update. A plan with another
        update is then refused before anything is trained.
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
    """Buffered asynchronous updates: `concurrency` clients always work.

    Every `buffer_size` arrivals make an update. With `routing`, a task that is done goes with the
    newest version to a drawn client, whether that is busy or not, and a client works on its tasks
    one after another. The download begins at once, and the upload occupies the client. All clients
    must then always be available, no job may be lost, and no client may keep a vector.

    Attributes
    ----------
    concurrency : int
        How many clients work at a time. With `routing` it counts tasks, of which a client may have
        several.
    buffer_size : float
        How many arrivals make an update. With `close` "harmonic" it is any number >= 1.
    restart : {"resample", "self"}
        Who starts in the place of an arrived client: a drawn idle one, or itself.
    order : {"after_update", "before_update"}
        Whether replacements start after all arrivals of an instant and their updates, or at each
        arrival, before the update that it completes.
    max_staleness : int or None
        An arrival that is more versions behind is discarded. None lets all count.
    stop_stale : bool
        A job that has become staler than `max_staleness`, which must be given, is called off after
        the other arrivals of the same instant, and its place becomes free.
    close : {"count", "harmonic"}
        When the buffer is full: with `buffer_size` arrivals, or when the harmonic mean of the
        clients' shares of it is at least `buffer_size` / N. With "harmonic" all clients work and
        restart themselves.
    initial : tuple of int
        The clients that start first, instead of drawn ones.
    replacements : tuple of int or None
        The clients that start one after another in the places of arrived ones, instead of drawn
        ones.
    routing : tuple of float or None
        The probability of every client to get the next task: N numbers > 0 with sum 1.
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
    """Every version goes to every client, and an idle client that has received one starts at once
    [DeFedAvg-IID].

    Attributes
    ----------
    buffer_size : int
        How many arrivals make an update.
    receive : {"pop", "peek"}
        An idle client takes its model out of what it has received, or leaves it there and may train
        from it again.
    """

    buffer_size: int = 1
    receive: Literal["pop", "peek"] = "pop"


@dataclass(frozen=True, kw_only=True)
class Mailbox(Dispatch):
    """Clients work as under Broadcast and put their results into a send buffer each
    [DeFedAvg-nIID].

    A round takes the results of `cohort_size` clients, drawn with replacement, and ends at the last
    arrival.

    Attributes
    ----------
    cohort_size : int
        How many clients a round draws.
    send : {"continuous", "on_demand"}
        A new result overwrites one that was not taken, whose job is discarded; or a client stays
        idle until its result is taken.
    receive : {"pop", "peek"}
        As under Broadcast.
    selections : tuple of tuple of int
        The clients of every round, instead of drawn ones.
    """

    cohort_size: int = 0
    send: Literal["continuous", "on_demand"] = "continuous"
    receive: Literal["pop", "peek"] = "pop"
    selections: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Poll(Dispatch):
    """All clients always work, and a periodic poll takes the steps that they have done [FAVANO,
    QuAFL].

    A poll takes the steps, at most `max_steps`, that `cohort_size` distinct clients have finished
    by then, and these clients start again. Compute durations must be per step.

    Attributes
    ----------
    period_seconds : float or None
        Virtual seconds from poll to poll. A run replaces None by the mean over the clients of the
        time that `max_steps` steps take.
    max_steps : int or None
        The most local steps that a client does between two polls. A run replaces None by the
        scenario's local steps.
    cohort_size : int
        How many clients a poll draws.
    selections : tuple of tuple of int
        The clients of every poll, instead of drawn ones.
    """

    starts_from_later_version = True

    period_seconds: float | None = None
    max_steps: int | None = None
    cohort_size: int = 0
    selections: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Turns(Dispatch):
    """All clients always work, and every client has its turn in one update of a round of N
    [Ringleader ASGD].

    The first update of a round waits until every client has arrived, and consumes everything that
    has arrived. It is the turn of the client that came last. The next arrival of every other client
    makes an update alone, which is that client's turn. What clients send after their turn is
    collected for the next round. A round begins at the updates with `version % N == 0`.

    Attributes
    ----------
    resend : {"turn", "newest"}
        When a client is sent the newest version: after its turn, and then it goes on with it until
        its next turn; or after every arrival, unless it holds that version already. Nothing is sent
        for a job on a version that the client holds.
    """

    resend: Literal["turn", "newest"] = "turn"
