"""The vocabulary: what flows between scheduler, engine and algorithms.

Shapes: N clients, d parameters, K consumed entries of one update. A *vector* is a one-dimensional C-contiguous array of the
run's dtype; float32 is the product, float64 is conformance and theory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.floating[Any]]
Weights = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]

Want = Literal["first_gradient", "mean_gradient", "full_gradient", "public_logits"]


class Bag:
    """Named values. A name that was not given at construction is refused, so a typing error cannot create a new one."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(sorted(self.__dict__))}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(sorted(self.__dict__))}")
        self.__dict__[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__

    def items(self) -> Iterator[tuple[str, Any]]:
        return iter(self.__dict__.items())


class State(Bag):
    """What the server owns: `x` (d,) always, `memory` (ClientTable) if clients remember, anything else by name."""


class Message(Bag):
    """What one version sends to the clients that start from it."""

    def frozen(self) -> Message:
        """A deep copy whose arrays are read-only; the engine keeps it as long as a job may start from it."""
        return Message(**{name: frozen(value) for name, value in self.items()})


class Reply:
    """What a job sends, by name (vectors, or arrays of one shape for all jobs), and the client's new memory (None: unchanged)."""

    def __init__(self, *, memory: Vector | None = None, **sent: npt.NDArray[Any]) -> None:
        self.memory = memory
        self.sent = sent


def frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.flags.writeable = False
    return value


@dataclass(frozen=True, slots=True)
class Job:
    """One local training: `k` is the client's own job counter from 0, `base` the version that it starts from."""

    client: int
    k: int
    base: int
    steps: int


@dataclass(frozen=True, kw_only=True)
class LocalRule:
    """What a client does, as data:

        h = g(y) - g(anchor) + weight_decay * y;  u = momentum * u + h;  y <- y - lr * (u + prox * (y - start) + correction)

    `prox_form` "l1_squared" replaces prox * (y - start) by 2 * prox * |y - start|_1 * sign(y - start). Terms that are off are skipped.
    """

    start: Vector
    lr: float
    weight_decay: float = 0.0
    momentum: float = 0.0
    optimizer: Literal["sgd", "adamw"] = "sgd"
    prox: float = 0.0
    prox_form: Literal["l2", "l1_squared"] = "l2"
    correction: Vector | None = None
    anchor: Vector | None = None
    wants: tuple[Want, ...] = ()


class Work:
    """What a job produced: `delta` = end - start, always; `end`; the by-products that its rule wanted; and the model's `buffers`
    at the end (m,). `server_seconds`: of host time, what the server itself has to do for this job.

    `first_gradient` and `mean_gradient` are of h above, without prox and correction; zeros if steps = 0. `full_gradient` is the
    gradient over all examples of the client at the start. `public_logits` are those of the end model. A by-product that was not
    wanted is refused.
    """

    def __init__(
        self, *, delta: Vector, end: Vector, buffers: Vector, server_seconds: float = 0.0, **by_products: npt.NDArray[Any]
    ) -> None:
        self.delta, self.end, self.buffers = delta, end, buffers
        self.server_seconds = server_seconds
        self.by_products = by_products

    def _wanted(self, name: Want) -> npt.NDArray[Any]:
        if name not in self.by_products:
            raise KeyError(f"work has no {name}: the LocalRule must want it, wants=({name!r},)")
        return self.by_products[name]

    @property
    def first_gradient(self) -> Vector:
        return self._wanted("first_gradient")

    @property
    def mean_gradient(self) -> Vector:
        return self._wanted("mean_gradient")

    @property
    def full_gradient(self) -> Vector:
        return self._wanted("full_gradient")

    @property
    def public_logits(self) -> npt.NDArray[Any]:
        return self._wanted("public_logits")


class Info:
    """What an algorithm may know beforehand: N `clients`, examples `n` (N,), objective weights `p` (N,), which sum to 1, and the
    speeds: `step_seconds` (N,), the mean virtual seconds that one local step takes every client.

    `n` and `step_seconds` may be functions that are called when somebody first asks: a plan needs no shards unless its policy does.
    `p` defaults to n_i / sum n_j, `step_seconds` to 1 for everybody.
    """

    def __init__(
        self,
        clients: int,
        n: Weights | Callable[[], Weights],
        p: Weights | None = None,
        step_seconds: Weights | Callable[[], Weights] | None = None,
    ) -> None:
        self.clients = clients
        self._n = n
        self._p = p
        self._step_seconds = step_seconds

    @functools.cached_property
    def n(self) -> Weights:
        return self._n() if callable(self._n) else self._n

    @functools.cached_property
    def p(self) -> Weights:
        return self._p if self._p is not None else self.n / self.n.sum()

    @functools.cached_property
    def step_seconds(self) -> Weights:
        if self._step_seconds is None:
            return np.ones(self.clients)
        return self._step_seconds() if callable(self._step_seconds) else self._step_seconds


class Traffic(NamedTuple):
    """What one job moves, in vectors of the model's size: `down` to the client and `up` to the server, in so many `exchanges`, each
    of which pays the network's latency both ways. A fraction is a message that was made smaller: a tenth of the entries sent, or
    8 bits a value, which is 0.25."""

    down: float = 1
    up: float = 1
    exchanges: int = 1


class GradientWork(NamedTuple):
    """What one job computes, in gradients: `per_step` mini-batch gradients in every local step, and `full` gradients over all examples
    of the client beside its steps. A full gradient is as many mini-batch gradients as batches cover the examples."""

    per_step: int = 1
    full: int = 0


class ServerMemory(NamedTuple):
    """What the server keeps from update to update, in vectors of the model's size: its `own` (x, moments, ..), `per_client`, and
    `per_version` that a client is still training from."""

    own: int = 1
    per_client: int = 0
    per_version: int = 0


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One row per consumed entry, in arrival order, repeated by multiplicity; every name of the Reply is an attribute (K, ..).

    `staleness` is the version before the update minus `base`; `first` is False for a repeat; `given` is what a conformance
    vector prescribes for this update.
    """

    clients: Integers
    steps: Integers
    base: Integers
    staleness: Integers
    n: Weights
    p: Weights
    first: npt.NDArray[np.bool_]
    version: int
    sent: Mapping[str, npt.NDArray[Any]]
    base_x: Callable[[int], Vector]
    given: Mapping[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        sent: Mapping[str, npt.NDArray[Any]] = object.__getattribute__(self, "sent")
        if name in sent:
            return sent[name]
        raise AttributeError(f"batch has no {name!r}; the jobs sent {', '.join(sorted(sent))}")


# ---- dispatch: who starts when, and which arrivals make a server update -------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Dispatch:
    """Base of the policies. `steps` takes the place of the scenario's local steps: one number for all jobs, where the paper fixes it,
    or one per client, ints (N,), where the algorithm chooses them, for example by `Info.step_seconds`. `prelude` charges clock and
    ledger for one full-batch gradient of every client: before the first dispatch (True), or at every round's start (every_round)."""

    steps: int | tuple[int, ...] | Integers | None = None
    prelude: bool | Literal["every_round"] = False
    starts_from_later_version: ClassVar[bool] = False
    """Does a client's next job always start from a version after the update that consumed its last? Only then may `step` overwrite
    rows of `state.memory`."""


@dataclass(frozen=True, kw_only=True)
class Rounds(Dispatch):
    """Synchronous rounds. `select`: all; without_replacement; with_replacement; weighted (with replacement, probability p);
    scripted (`selections`, one row per round begun); external (the scheduler asks at every round's start).

    `deadline_seconds`: a round is closed so long after its start with what has arrived (None: it waits for all). `over_selection`:
    so many more than `cohort_size` are drawn, and the first `cohort_size` to arrive make the update; of a cohort that is not drawn,
    so many are not waited for. Jobs that come later are called off. `everybody`: the server's equation needs every client exactly
    once in an update; a plan with another update is refused before anything is trained.
    """

    starts_from_later_version = True

    select: Literal["all", "without_replacement", "with_replacement", "weighted", "scripted", "external"] = "all"
    cohort_size: int = 0
    selections: tuple[tuple[int, ...], ...] = ()
    deadline_seconds: float | None = None
    over_selection: int = 0
    everybody: bool = False


@dataclass(frozen=True, kw_only=True)
class Stream(Dispatch):
    """Buffered asynchronous: `concurrency` clients always work, `buffer_size` arrivals make an update."""

    concurrency: int
    buffer_size: int = 1
    restart: Literal["resample", "self"] = "resample"
    order: Literal["after_update", "before_update"] = "after_update"
    initial: tuple[int, ...] = ()
    replacements: tuple[int, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Broadcast(Dispatch):
    """Every version goes to every client; idle clients with a model start at once [DeFedAvg-IID]."""

    buffer_size: int = 1
    receive: Literal["pop", "peek"] = "pop"


@dataclass(frozen=True, kw_only=True)
class Mailbox(Dispatch):
    """Clients run as under Broadcast, each into a send buffer; a round takes the results of `cohort_size` clients, drawn with
    replacement, and ends at the last arrival [DeFedAvg-nIID].

    `send`: continuous (a new result overwrites an untaken one, whose job is discarded) or on_demand (a client stays idle until
    its result is taken). `selections`: the cohort of every round, instead of drawn ones.
    """

    cohort_size: int = 0
    send: Literal["continuous", "on_demand"] = "continuous"
    receive: Literal["pop", "peek"] = "pop"
    selections: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Poll(Dispatch):
    """All clients always work; a poll every `period_seconds` takes the steps, at most `max_steps`, that `cohort_size` distinct
    clients have finished by then, and these start again [FAVANO, QuAFL]. Compute durations must be per step.

    A run fills in what is None from its scenario: `max_steps` the local steps, `period_seconds` the mean over the clients of the
    time that so many steps take. `selections`: the clients of every poll, instead of drawn ones.
    """

    starts_from_later_version = True

    period_seconds: float | None = None
    max_steps: int | None = None
    cohort_size: int = 0
    selections: tuple[tuple[int, ...], ...] = ()
