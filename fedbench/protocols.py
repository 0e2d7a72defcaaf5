"""The interface of an algorithm: its options, its equations, and what it declares of itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from fedbench.bibliography import Cited
from fedbench.errors import UnwrittenError, UsageError, nearest
from fedbench.options import (
    BelowOne,
    Count,
    CountOrZero,
    Fraction,
    NonNegative,
    Positive,
    Range,
    checked,
    hints,
    option,
)
from fedbench.tools import Logits, Objective, PublicObjective, Pullback, Random, RowIndices, SelectionTools, Tools
from fedbench.types import (
    Batch,
    Dispatch,
    GradientWork,
    Info,
    Job,
    LocalRule,
    Message,
    Reply,
    Rounds,
    ServerMemory,
    ServerWork,
    State,
    Stream,
    Traffic,
    Vector,
    Weights,
    Work,
)

__all__ = [
    "Algorithm",
    "BelowOne",
    "Buffered",
    "Cohort",
    "Count",
    "CountOrZero",
    "Fraction",
    "Logits",
    "NonNegative",
    "Objective",
    "Positive",
    "PublicObjective",
    "Pullback",
    "Random",
    "Range",
    "RepeatingCohort",
    "RowIndices",
    "SelectionTools",
    "Tools",
    "option",
]


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """A published algorithm: hyper-parameters as fields, the paper's equations as methods.

    Subclasses are frozen dataclasses, one file each, and override only what the paper changes.
    Values are checked at construction against the annotations of the fields (UsageError names
    field, value and range).

    Defaults make runs comparable. A round draws 10 clients, uniformly and without replacement. A
    buffer holds 10 arrivals. All clients work at the same time. All clients of an update have the
    same weight. An algorithm departs from this only where its equations need it, and
    tests/algorithms/test_defaults.py lists the departures with their reasons. We tune no default
    rate. A rate that a paper has in most of its experiments is the default, and a paper's rate of
    Adam for another model is scaled by `kernels.rate_for`. The other rates that papers tuned are
    presets (fedbench/presets.yaml). `fedbench info NAME` shows the source of each default.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str | tuple[Cited, ...]] = ""
    """The source of the equations: papers of the bibliography, `cited(nguyen2022="Alg. 1")`, or
    plain text."""
    requires: ClassVar[frozenset[str]] = frozenset()
    sends: ClassVar[Literal["delta", "first_gradient", "mean_gradient"]] = "delta"
    """What a job sends if the algorithm has no `reply` of its own, named as in Work and in the
    update's Batch."""
    pooled: ClassVar[bool] = False
    """Whether this is a reference that is not federated. Its scenario becomes that of one worker
    who has the examples of all clients."""
    clients_remember: ClassVar[bool] = False
    """Whether clients keep a vector from job to job, which is their row of `state.memory`. Clients
    that take part only once cannot."""

    local_lr: Positive = option(0.05, "The clients' learning rate.")
    weight_decay: NonNegative = option(0.0, "Weight decay of local training.")
    momentum: BelowOne = option(0.0, "Momentum of local SGD, which starts anew in every job.")
    optimizer: Literal["sgd", "adamw"] = option("sgd", "The rule of a local step: SGD, or AdamW.")

    def __post_init__(self) -> None:
        annotations = hints(type(self))
        for field in dataclasses.fields(self):
            value = checked(self.name or type(self).__name__, field.name, getattr(self, field.name), annotations[field.name])
            object.__setattr__(self, field.name, value)

    @classmethod
    def make(cls, options: dict[str, Any]) -> Self:
        """Returns the algorithm with these options. UsageError with the nearest name if an option
        is unknown."""
        known = {field.name for field in dataclasses.fields(cls)}
        for given in options:
            if given not in known:
                raise UsageError(f"algorithm {cls.name}: unknown option {given!r}{nearest(given, known)}")
        return cls(**options)

    def options(self) -> dict[str, Any]:
        """Returns every hyper-parameter by name, defaults included, as values for JSON."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    # ---- the equations ----

    def dispatch(self, info: Info) -> Dispatch:
        """Returns the policy that says who starts when and which arrivals make an update. Every
        algorithm has one."""
        raise UnwrittenError(f"{type(self).__name__} does not say how it dispatches")

    def traffic(self, info: Info) -> Traffic:
        """Returns what a job moves. The ledger always counts it, and the clock charges time for it
        where the scenario prices payloads."""
        return Traffic()

    def gradient_work(self, info: Info) -> GradientWork:
        """Returns what a job computes. The clock and the ledger charge for it."""
        return GradientWork()

    def server_work(self, info: Info) -> ServerWork:
        """Returns what the server itself computes for an update that takes all its arrivals: the
        logits of clients' models (`wants` of a job's rule), and what `step` computes with
        Tools.public_logits. The ledger counts it, and the clock charges for it where the scenario
        names the server's speed."""
        return ServerWork()

    def server_memory(self, info: Info) -> ServerMemory:
        """Returns what the server keeps from update to update, without the memory of clients."""
        return ServerMemory()

    def init(self, x0: Vector, tools: Tools) -> State:
        """Returns the server's state before the first update. It may keep the array x0 (d,)
        itself."""
        return State(x=x0)

    def broadcast(self, state: State, tools: Tools) -> Message:
        """Returns what this version sends to clients. The engine copies and freezes it."""
        return Message(x=state.x)

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        """Returns the rule of the client's local steps. A pure function. `memory` is the client's
        row of `state.memory`, and an empty array (0,) if clients have none."""
        return self.rule(message.x) if self.sends == "delta" else self.rule(message.x, wants=(self.sends,))

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        """Returns what the job sends, and the client's new memory. A pure function."""
        return Reply(**{self.sends: getattr(work, self.sends)})

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        """Makes a server update by the paper's equation. It changes the state in place or gives it
        new arrays, and never writes into a message."""
        raise UnwrittenError(f"{type(self).__name__} has no server step")

    def select(
        self, state: State, available: npt.NDArray[np.int32], round: int, tools: SelectionTools
    ) -> Sequence[int] | npt.NDArray[np.integer[Any]]:
        """Returns who takes part in the round that begins, if `dispatch` is
        Rounds(select="external"). A pure function. Only here may the choice of clients depend on
        the model's values.

        Args:
            state: the state at the round's start. Its arrays are read-only.
            available: the clients that are available now (n,), ascending, n >= 1.
            round: how many rounds began before, also those that made no update.
            tools: `info` and `random`.

        Returns:
            Some of `available`. A client that is named twice runs once and counts twice, which is
            not allowed if clients have memory.
        """
        raise UnwrittenError(f"{type(self).__name__} does not say whom it selects")

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        """Returns the weights (K,) of the entries of an update, which are alike unless the
        algorithm has others, which its `step` then uses too. The engine averages model buffers such
        as BatchNorm's with these weights, divided by their sum."""
        return np.full(len(batch.clients), 1.0 / len(batch.clients))

    def warnings(self, state: State) -> list[str]:
        """Returns sentences on what went wrong in a run without stopping it, given its last state.
        The record keeps them."""
        return []

    @property
    def rule_terms(self) -> frozenset[str]:
        """The terms that `local` may use beside plain SGD with weight decay, an l2 prox, a
        correction and an anchor: momentum, adamw, l1_squared. Not every trainer has them. They
        follow from the options that are named as in LocalRule."""
        named = {self.optimizer, getattr(self, "prox_form", "l2")} - {"sgd", "l2"}
        return frozenset(named | ({"momentum"} if self.momentum else set()))

    def rule(self, start: Vector, **changes: Any) -> LocalRule:
        """Returns a LocalRule with this algorithm's rate, decay, momentum and optimizer, but for
        the fields in `changes`."""
        fixed = {"lr": self.local_lr, "weight_decay": self.weight_decay, "momentum": self.momentum, "optimizer": self.optimizer}
        return LocalRule(start=start, **(fixed | changes))


@dataclass(frozen=True, kw_only=True)
class Buffered(Algorithm):
    """The options and the dispatch that FedBuff and similar algorithms share: clients work all the
    time, and every `buffer_size` arrivals make an update."""

    buffer_size: Count = option(10, "How many arrivals make an update (M).")
    concurrency: Count | None = option(None, "How many clients work at a time; none: all.")
    restart: Literal["resample", "self"] = option(
        "resample", "Who starts in the place of an arrived client: a uniformly drawn idle one (resample), or itself (self)."
    )

    def dispatch(self, info: Info) -> Stream:
        return Stream(concurrency=self.concurrency or info.clients, buffer_size=self.buffer_size, restart=self.restart)


@dataclass(frozen=True, kw_only=True)
class Cohort(Algorithm):
    """The options and the dispatch that FedAvg and similar algorithms share: a round trains a
    cohort of clients, and all its results make an update."""

    cohort_size: Count = option(10, "How many clients a round draws.")
    sampling: Literal["without_replacement", "all"] = option(
        "without_replacement", "Who takes part in a round: clients drawn uniformly without replacement, or all that are there."
    )

    def dispatch(self, info: Info) -> Rounds:
        return Rounds(select=self.sampling, cohort_size=self.cohort_size)


@dataclass(frozen=True, kw_only=True)
class RepeatingCohort(Cohort):
    """A cohort that may have a client several times, which is not allowed if clients keep a
    vector."""

    sampling: Literal["without_replacement", "with_replacement", "all", "weighted"] = option(  # type: ignore[assignment]
        "without_replacement",
        "Who takes part in a round: clients drawn uniformly without or with replacement, all, or drawn with replacement and "
        "probability p_i (weighted).",
    )
