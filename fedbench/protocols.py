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
    Linear,
    Log,
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
    Integers,
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
    "Linear",
    "Log",
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

LONGEST_TITLE = 100


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """A published algorithm: hyper-parameters as fields, the paper's equations as methods.

    A subclass is a frozen dataclass in a file of its own, and overrides only what the paper
    changes: at least `dispatch` and `step`. Values are checked at construction against the
    annotations of the fields.

    Defaults make runs comparable. A round draws 10 clients, uniformly and without replacement. A
    buffer holds 10 arrivals. All clients work at the same time. All clients of an update have the
    same weight. An algorithm departs from this only where its equations need it, and
    tests/algorithms/test_defaults.py lists the departures with their reasons. We tune no default
    rate. A rate that a paper has in most of its experiments is the default, and a paper's rate of
    Adam for another model is scaled by `kernels.rate_for`. The other rates that papers tuned are
    presets (fedbench/presets.yaml).

    Attributes
    ----------
    name : str
        The name on the command line and in records.
    full_name : str
        The name as papers write it, such as `FedBuff` for `fedbuff`. A class without one of its own
        is shown by its `name`.
    title : str
        How tables call an algorithm of your own, at most 100 letters. Records keep it, so a table
        has it without the code.
    source : tuple of Cited, or str
        The source of the equations: papers of the bibliography, `cited(nguyen2022="Alg. 1")`, or
        plain text.
    requires : frozenset of str
        What a scenario must have, such as "public_data".
    sends : {"delta", "first_gradient", "mean_gradient"}
        What a job sends if the algorithm has no `reply` of its own, named as in Work and in Batch.
    pooled : bool
        Whether this is a reference that is not federated. Its scenario becomes that of one worker
        who has the examples of all clients.
    alone : bool
        Whether this is a reference in which every client trains alone. Each is judged by its own
        model, which is its row of `state.memory`, and metrics are plain means over all clients.
    clients_remember : bool
        Whether clients keep a vector from job to job, which is their row of `state.memory`. Clients
        that take part only once cannot.
    weighs_steps : bool
        Whether the server weighs the gradients of a job as if its rate were the same in all steps.
        Then a scenario whose rate changes within a job, or that has an optimiser of one's own, is
        refused.
    local_lr : float
        The clients' learning rate.
    weight_decay : float
        Weight decay of local training.
    momentum : float
        Momentum of local SGD, which starts anew in every job.
    optimizer : {"sgd", "adamw"}
        The rule of a local step.

    Raises
    ------
    UsageError
        A value is out of range; the message names field, value and range.

    Examples
    --------
    FedAvg with a server's learning rate, in a few lines:

    >>> from dataclasses import dataclass
    >>> import fedbench as fb
    >>> from fedbench import kernels
    >>> from fedbench.types import Rounds
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Averaging(fb.Algorithm):
    ...     name = "averaging"
    ...     server_lr: fb.protocols.Positive = 1.0
    ...     def dispatch(self, info):
    ...         return Rounds(select="without_replacement", cohort_size=10)
    ...     def step(self, state, batch, tools):
    ...         state.x = state.x + self.server_lr * kernels.mean(batch.delta)
    >>> Averaging(server_lr=0.5).options()["server_lr"]
    0.5
    """

    name: ClassVar[str] = ""
    full_name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    source: ClassVar[str | tuple[Cited, ...]] = ""
    requires: ClassVar[frozenset[str]] = frozenset()
    sends: ClassVar[Literal["delta", "first_gradient", "mean_gradient"]] = "delta"
    pooled: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    clients_remember: ClassVar[bool] = False
    weighs_steps: ClassVar[bool] = False

    local_lr: Positive = option(0.05, "The clients' learning rate.")
    weight_decay: NonNegative = option(0.0, "Weight decay of local training.")
    momentum: BelowOne = option(0.0, "Momentum of local SGD, which starts anew in every job.")
    optimizer: Literal["sgd", "adamw"] = option("sgd", "The rule of a local step: SGD, or AdamW.")

    def __post_init__(self) -> None:
        annotations = hints(type(self))
        for field in dataclasses.fields(self):
            value = checked(self.name or type(self).__name__, field.name, getattr(self, field.name), annotations[field.name])
            object.__setattr__(self, field.name, value)
        title: object = self.title
        if not (isinstance(title, str) and title.isprintable() and title == title.strip() and len(title) <= LONGEST_TITLE):
            raise UsageError(
                f"{self.name}: the class attribute `title` must be at most {LONGEST_TITLE} printable letters, got {title!r:.120}"
            )
        for name in ("momentum", "client_momentum"):
            if self.optimizer == "adamw" and (got := getattr(self, name, 0)):
                raise UsageError(f"{self.name}: {name} must be 0 with adamw, which has its own, got {got:g}")

    @classmethod
    def make(cls, options: dict[str, Any]) -> Self:
        """Returns the algorithm with these options.

        Parameters
        ----------
        options : dict
            Values by the name of the option. The others keep their defaults.

        Returns
        -------
        Algorithm
            The algorithm.

        Raises
        ------
        UsageError
            An option is unknown, and the message has the nearest name; or a value is out of range.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        for given in options:
            if given not in known:
                raise UsageError(f"algorithm {cls.name}: unknown option {given!r}{nearest(given, known)}")
        return cls(**options)

    def options(self) -> dict[str, Any]:
        """Returns every hyper-parameter by name, defaults included, as values for JSON.

        Returns
        -------
        dict
            The values by name.
        """
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    # ---- the equations ----

    def dispatch(self, info: Info) -> Dispatch:
        """Returns the policy: who starts when, and which arrivals make an update.

        Parameters
        ----------
        info : Info
            What is known about the clients.

        Returns
        -------
        Dispatch
            The policy.

        Raises
        ------
        UnwrittenError
            The algorithm has none.
        """
        raise UnwrittenError(f"{type(self).__name__} does not say how it dispatches")

    def traffic(self, info: Info) -> Traffic:
        """Returns what a job moves.

        The ledger always counts it, and the clock charges time for it where the scenario prices
        payloads.

        Parameters
        ----------
        info : Info
            What is known about the clients.

        Returns
        -------
        Traffic
            Model-sized vectors down and up, and exchanges.
        """
        return Traffic()

    def gradient_work(self, info: Info) -> GradientWork:
        """Returns what a job computes, for which the clock and the ledger charge.

        Parameters
        ----------
        info : Info
            What is known about the clients.

        Returns
        -------
        GradientWork
            Gradients in a step, and beside the steps.
        """
        return GradientWork()

    def server_work(self, info: Info) -> ServerWork:
        """Returns what the server itself computes for an update that takes all its arrivals.

        That is the logits of clients' models (`wants` of a job's rule), and what `step` computes
        with Tools.public_logits. The ledger counts it, and the clock charges for it where the
        scenario names the server's speed.

        Parameters
        ----------
        info : Info
            What is known about the clients.

        Returns
        -------
        ServerWork
            Forward passes and gradients, in examples.
        """
        return ServerWork()

    def server_memory(self, info: Info) -> ServerMemory:
        """Returns what the server keeps from update to update, without the memory of clients.

        Parameters
        ----------
        info : Info
            What is known about the clients.

        Returns
        -------
        ServerMemory
            Model-sized vectors, and logits of public examples.
        """
        return ServerMemory()

    def init(self, x0: Vector, tools: Tools) -> State:
        """Returns the server's state before the first update.

        Parameters
        ----------
        x0 : array (d,)
            The first model. The state may keep the array itself.
        tools : Tools
            What the engine lends.

        Returns
        -------
        State
            The state, with the model as `x`.
        """
        return State(x=x0)

    def broadcast(self, state: State, tools: Tools) -> Message:
        """Returns what this version sends to clients. The engine copies and freezes it.

        Parameters
        ----------
        state : State
            The server's state.
        tools : Tools
            What the engine lends.

        Returns
        -------
        Message
            What is sent, with the model as `x`.
        """
        return Message(x=state.x)

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        """Returns the rule of the client's local steps. It is a pure function.

        Parameters
        ----------
        message : Message
            What the version of the job sent.
        job : Job
            The client, the number of its job, the version and the steps.
        memory : array (d,)
            The client's row of `state.memory`; (0,) if clients have none.

        Returns
        -------
        LocalRule
            The rule.
        """
        return self.rule(message.x) if self.sends == "delta" else self.rule(message.x, wants=(self.sends,))

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        """Returns what the job sends, and the client's new memory. It is a pure function.

        Parameters
        ----------
        message : Message
            What the version of the job sent.
        job : Job
            The client, the number of its job, the version and the steps.
        work : Work
            What the local steps produced.
        memory : array (d,)
            The client's row of `state.memory`; (0,) if clients have none.

        Returns
        -------
        Reply
            Arrays by name, which `step` finds as attributes of its batch.
        """
        return Reply(**{self.sends: getattr(work, self.sends)})

    def evaluated(self, state: State) -> Vector:
        """Returns the model that is judged. It is a pure function.

        Curves and final metrics are those of this model, and a record's digest is its. Training
        goes on from `state.x`. A model's buffers, such as BatchNorm's, are those of `state.x`. Of
        an algorithm that is `alone`, the clients' own models are judged instead.

        Parameters
        ----------
        state : State
            The server's state.

        Returns
        -------
        array (d,)
            The model, in the dtype of `state.x`.
        """
        x: Vector = state.x
        return x

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        """Makes a server update by the paper's equation.

        It changes the state in place or gives it new arrays, and never writes into a message. Sums
        over vectors are made by `fedbench.kernels`.

        Parameters
        ----------
        state : State
            The server's state, which is changed.
        batch : Batch
            The arrivals that the update consumes.
        tools : Tools
            What the engine lends.

        Raises
        ------
        UnwrittenError
            The algorithm has no server step.
        """
        raise UnwrittenError(f"{type(self).__name__} has no server step")

    def select(
        self, state: State, available: npt.NDArray[np.int32], round: int, tools: SelectionTools
    ) -> Sequence[int] | Integers:
        """Returns who takes part in the round that begins, if `dispatch` is
        Rounds(select="external").

        It is a pure function. Only here may the choice of clients depend on the model's values.

        Parameters
        ----------
        state : State
            The state at the round's start. Its arrays are read-only.
        available : int32 array (n,)
            The clients that are available now, ascending, n >= 1.
        round : int
            How many rounds began before, also those that made no update.
        tools : SelectionTools
            `info` and `random`.

        Returns
        -------
        sequence of int, or integer array
            Some of `available`. A client that is named twice runs once and counts twice, which is
            not allowed if clients have memory.

        Raises
        ------
        UnwrittenError
            The algorithm does not select.
        """
        raise UnwrittenError(f"{type(self).__name__} does not say whom it selects")

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        """Returns the weights of the entries of an update, which are alike unless the algorithm has
        others.

        An algorithm's `step` uses the same ones. The engine averages model buffers such as
        BatchNorm's with them, divided by their sum.

        Parameters
        ----------
        batch : Batch
            The arrivals that the update consumes.
        info : Info
            What is known about the clients.

        Returns
        -------
        float64 array (K,)
            The weights.
        """
        return np.full(len(batch.clients), 1.0 / len(batch.clients))

    def warnings(self, state: State) -> list[str]:
        """Returns sentences on what went wrong in a run without stopping it. The record keeps them.

        Parameters
        ----------
        state : State
            The last state of the run.

        Returns
        -------
        list of str
            The sentences.
        """
        return []

    @property
    def reference(self) -> bool:
        """Whether this is a yardstick for federated algorithms, which is shown and never ranked."""
        return self.pooled or self.alone

    @property
    def rule_terms(self) -> frozenset[str]:
        """The terms that `local` may use beside plain SGD, of which not every trainer has all.

        They are among momentum, adamw and l1_squared. Weight decay, an l2 prox, a correction and an
        anchor belong to plain SGD here. They follow from the options that are named as in
        LocalRule, and from `client_momentum`, the momentum of some of the clients.
        """
        named = {self.optimizer, getattr(self, "prox_form", "l2")} - {"sgd", "l2"}
        return frozenset(named | ({"momentum"} if self.momentum or getattr(self, "client_momentum", 0) else set()))

    def rule(self, start: Vector, **changes: Any) -> LocalRule:
        """Returns a LocalRule with this algorithm's rate, decay, momentum and optimizer.

        Parameters
        ----------
        start : array (d,)
            The model from which the job starts.
        **changes : object
            Other fields of the rule, or other values for those four.

        Returns
        -------
        LocalRule
            The rule.
        """
        fixed = {"lr": self.local_lr, "weight_decay": self.weight_decay, "momentum": self.momentum, "optimizer": self.optimizer}
        return LocalRule(start=start, **(fixed | changes))


@dataclass(frozen=True, kw_only=True)
class Buffered(Algorithm):
    """The options and the dispatch of FedBuff and its kin: every `buffer_size` arrivals make an
    update.

    Clients work all the time.

    Attributes
    ----------
    buffer_size : int
        How many arrivals make an update (M).
    concurrency : int or None
        How many clients work at a time. None: all.
    restart : {"resample", "self"}
        Who starts in the place of an arrived client: a uniformly drawn idle one, or itself.
    """

    buffer_size: Count = option(10, "How many arrivals make an update (M).")
    concurrency: Count | None = option(None, "How many clients work at a time; none: all.")
    restart: Literal["resample", "self"] = option(
        "resample", "Who starts in the place of an arrived client: a uniformly drawn idle one (resample), or itself (self)."
    )

    def dispatch(self, info: Info) -> Stream:
        return Stream(concurrency=self.concurrency or info.clients, buffer_size=self.buffer_size, restart=self.restart)


@dataclass(frozen=True, kw_only=True)
class Cohort(Algorithm):
    """The options and the dispatch of FedAvg and its kin: a round trains a cohort of clients.

    All results of the round make an update.

    Attributes
    ----------
    cohort_size : int
        How many clients a round draws.
    sampling : {"without_replacement", "all"}
        Who takes part in a round: clients drawn uniformly without replacement, or all that are
        there.
    """

    cohort_size: Count = option(10, "How many clients a round draws.")
    sampling: Literal["without_replacement", "all"] = option(
        "without_replacement", "Who takes part in a round: clients drawn uniformly without replacement, or all that are there."
    )

    def dispatch(self, info: Info) -> Rounds:
        return Rounds(select=self.sampling, cohort_size=self.cohort_size)


@dataclass(frozen=True, kw_only=True)
class RepeatingCohort(Cohort):
    """A cohort that may have a client several times, which is not allowed if clients keep a vector.

    Attributes
    ----------
    sampling : {"without_replacement", "with_replacement", "all", "weighted"}
        Who takes part in a round: as in Cohort, or clients drawn with replacement, uniformly or
        with probability p_i (weighted).
    """

    sampling: Literal["without_replacement", "with_replacement", "all", "weighted"] = option(  # type: ignore[assignment]
        "without_replacement",
        "Who takes part in a round: clients drawn uniformly without or with replacement, all, or drawn with replacement and "
        "probability p_i (weighted).",
    )
