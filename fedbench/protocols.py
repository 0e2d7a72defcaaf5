"""The contracts: what an algorithm is, and what the engine offers it."""

from __future__ import annotations

import dataclasses
import math
import types as pytypes
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt

from fedbench.errors import UsageError, nearest
from fedbench.types import (
    Batch,
    Dispatch,
    GradientWork,
    Info,
    Job,
    LocalRule,
    Message,
    Reply,
    ServerMemory,
    State,
    Stream,
    Traffic,
    Vector,
    Weights,
    Work,
)


@dataclass(frozen=True)
class Range:
    """Allowed values of a hyper-parameter: `low` and `high`, each included unless it is the `open` end."""

    low: float = -math.inf
    high: float = math.inf
    open: Literal["low", "high"] | None = None

    def __contains__(self, value: float) -> bool:
        excluded = (self.low,) if self.open == "low" else (self.high,) if self.open == "high" else ()
        return self.low <= value <= self.high and value not in excluded and math.isfinite(value)

    def __str__(self) -> str:
        low = "" if self.low == -math.inf else f"{'>' if self.open == 'low' else '>='} {self.low:g}"
        high = "" if self.high == math.inf else f"{'<' if self.open == 'high' else '<='} {self.high:g}"
        return " and ".join(part for part in (low, high) if part)


Rows = npt.NDArray[np.int64]
Logits = npt.NDArray[np.floating[Any]]
Pullback = Callable[[Logits], Vector]

Positive = Annotated[float, Range(low=0, open="low")]
NonNegative = Annotated[float, Range(low=0)]
Fraction = Annotated[float, Range(low=0, high=1)]
BelowOne = Annotated[float, Range(low=0, high=1, open="high")]
Count = Annotated[int, Range(low=1)]
CountOrZero = Annotated[int, Range(low=0)]


class Tools(Protocol):
    """What the engine lends to `init`, `broadcast` and `step`."""

    @property
    def info(self) -> Info: ...

    def gradients(self, clients: Iterable[int], x: Vector) -> Iterator[Vector]:
        """Full-batch gradients (d,) at x, client by client."""
        ...

    @property
    def public_shape(self) -> tuple[int, int]:
        """Public examples P and classes C. This and what follows is for algorithms with requires = {"public_data"}."""
        ...

    def public_batches(self, version: int, size: int, steps: int | None = None) -> Iterator[Rows]:
        """Mini-batches of public rows, keyed by seed and version: one shuffled pass, or `steps` batches, each pass shuffled anew.
        The last batch of a pass may be short."""
        ...

    def public_logits(self, x: Vector, rows: Rows, *, training: bool = False) -> tuple[Logits, Pullback]:
        """Logits (B, C) of these public rows under x and the server's buffers, and the function that takes their gradient (B, C) to
        that of x (d,); it holds until the next call. `training`: layers such as dropout and BatchNorm act as in training."""
        ...


class Random(Protocol):
    """A random stream; see kernels.random."""

    def uniform(self, count: int) -> npt.NDArray[np.float64]: ...

    def normal(self, count: int) -> npt.NDArray[np.float64]: ...

    def below(self, n: int) -> int: ...

    def permutation(self, n: int) -> npt.NDArray[np.int64]: ...


class SelectionTools(Protocol):
    """What the engine lends to `select`. `random` is keyed by seed and round."""

    @property
    def info(self) -> Info: ...

    @property
    def random(self) -> Random: ...


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """A published algorithm: hyper-parameters as fields, the paper's equations as methods.

    Subclasses are frozen dataclasses, one file each, and override only what the paper changes. Values are checked at
    construction against the annotations of the fields (UsageError names field, value and range).
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    requires: ClassVar[frozenset[str]] = frozenset()
    pooled: ClassVar[bool] = False
    """A reference that is not federated: the scenario becomes that of one worker with everybody's examples."""

    local_lr: Positive = 0.05
    weight_decay: NonNegative = 0.0
    momentum: BelowOne = 0.0
    optimizer: Literal["sgd", "adamw"] = "sgd"

    def __post_init__(self) -> None:
        annotations = hints(type(self))
        for field in dataclasses.fields(self):
            value = checked(self.name or type(self).__name__, field.name, getattr(self, field.name), annotations[field.name])
            object.__setattr__(self, field.name, value)

    @classmethod
    def make(cls, options: dict[str, Any]) -> Self:
        """From named options; an unknown one is a UsageError with the nearest match."""
        known = {field.name for field in dataclasses.fields(cls)}
        for option in options:
            if option not in known:
                raise UsageError(f"algorithm {cls.name}: unknown option {option!r}{nearest(option, known)}")
        return cls(**options)

    def options(self) -> dict[str, Any]:
        """Every hyper-parameter by name, defaults included; JSON-able."""
        return dataclasses.asdict(self)

    # ---- the equations ----

    def dispatch(self, info: Info) -> Dispatch:
        """Who starts when, and which arrivals make an update. Every algorithm says this."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it dispatches")

    def traffic(self, info: Info) -> Traffic:
        """What a job moves. The clock pays for it where the scenario prices payloads; the ledger always counts it."""
        return Traffic()

    def gradient_work(self, info: Info) -> GradientWork:
        """What a job computes. The clock and the ledger charge for it."""
        return GradientWork()

    def server_memory(self, info: Info) -> ServerMemory:
        """What the server keeps from update to update, without what clients remember themselves and without public logits."""
        return ServerMemory()

    def init(self, x0: Vector, tools: Tools) -> State:
        """The server's state before the first update; x0 (d,) may be kept."""
        return State(x=x0)

    def broadcast(self, state: State, tools: Tools) -> Message:
        """What this version sends; the engine copies and freezes it."""
        return Message(x=state.x)

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        """What the client does. Pure. `memory` is the client's row of state.memory, empty (0,) if clients have none."""
        return self.rule(message.x)

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        """What the job sends, and the client's new memory. Pure."""
        return Reply(delta=work.delta)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        """The server's equation: rebinds or writes the state, never a message."""
        raise NotImplementedError(f"{type(self).__name__} has no server step")

    def select(
        self, state: State, available: npt.NDArray[np.int32], round: int, tools: SelectionTools
    ) -> Sequence[int] | npt.NDArray[np.integer[Any]]:
        """Who takes part in the round that begins, if `dispatch` is Rounds(select="external"). Pure. Here alone may the model's values
        say who takes part.

        Args:
            state: as it is at the round's start; its arrays are read-only.
            available: the clients that are there now (n,), ascending, n >= 1.
            round: how many rounds began before, also those that made no update.
            tools: `info` and `random`.

        Returns:
            Some of `available`. A client named twice runs once and counts twice, which clients with memory cannot.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say whom it selects")

    def buffer_weights(self, batch: Batch, info: Info) -> Weights:
        """Weights (K,) with which the engine averages model buffers such as BatchNorm's; they sum to 1."""
        return np.full(len(batch.clients), 1.0 / len(batch.clients))

    @property
    def rule_terms(self) -> frozenset[str]:
        """What `local` may use of a LocalRule beyond plain SGD with weight decay, an l2 prox and a correction: momentum, adamw,
        l1_squared, anchor. Not every trainer takes them. Options that are called as in LocalRule count by themselves."""
        named = {self.optimizer, getattr(self, "prox_form", "l2")} - {"sgd", "l2"}
        return frozenset(named | ({"momentum"} if self.momentum else set()))

    def rule(self, start: Vector, **changes: Any) -> LocalRule:
        """A LocalRule with this algorithm's rate, decay, momentum and optimizer, and the given changes."""
        fixed = {"lr": self.local_lr, "weight_decay": self.weight_decay, "momentum": self.momentum, "optimizer": self.optimizer}
        return LocalRule(start=start, **(fixed | changes))


@dataclass(frozen=True, kw_only=True)
class Buffered(Algorithm):
    """What FedBuff and its kin share: `concurrency` clients always work (None: all), `buffer_size` arrivals make an update, and an
    arrived client is replaced by a uniformly drawn idle one (restart resample) or by itself (self)."""

    buffer_size: Count = 10
    concurrency: Count | None = None
    restart: Literal["resample", "self"] = "resample"

    def dispatch(self, info: Info) -> Stream:
        return Stream(concurrency=self.concurrency or info.clients, buffer_size=self.buffer_size, restart=self.restart)


class Objective(Protocol):
    """A differentiable objective per client, in numpy: what the reference trainer needs. Row selections are `rows` of the
    client's examples; None means all of them."""

    @property
    def clients(self) -> int: ...

    @property
    def dim(self) -> int: ...

    def n(self) -> Weights: ...

    def p(self) -> Weights: ...

    def gradient(self, client: int, x: Vector, rows: Rows | None = None) -> Vector: ...

    def metrics(self, x: Vector) -> dict[str, float]: ...


@typing.runtime_checkable
class PublicObjective(Protocol):
    """An objective with public data: what the reference trainer needs beside `Objective` for algorithms that require them."""

    @property
    def public(self) -> npt.NDArray[Any] | None:
        """Features (P, D)."""
        ...

    @property
    def classes(self) -> int: ...

    def logits(self, x: Vector, rows: npt.NDArray[Any]) -> Logits:
        """(B, C) for features (B, D)."""
        ...

    def pullback(self, rows: npt.NDArray[Any], dlogits: Logits) -> Vector:
        """The gradient (d,) from that of the logits of features (B, D)."""
        ...


def hints(cls: type) -> dict[str, Any]:
    """Annotations of a class's fields, ranges included."""
    return typing.get_type_hints(cls, include_extras=True)


def checked(owner: str, name: str, value: Any, hint: Any) -> Any:
    """The value in its canonical type (an int for a float field becomes a float), or a UsageError that says what is allowed."""
    for option in (
        typing.get_args(hint) if isinstance(hint, pytypes.UnionType) or typing.get_origin(hint) is typing.Union else (hint,)
    ):
        fits, canonical = _fits(value, option)
        if fits:
            return canonical
    raise UsageError(f"{owner}: {name} must be {describe(hint)}, got {value!r}")


def _fits(value: Any, hint: Any) -> tuple[bool, Any]:
    allowed: Range | None = None
    if typing.get_origin(hint) is Annotated:
        hint, allowed = typing.get_args(hint)[:2]
    if typing.get_origin(hint) is Literal:
        return any(value == choice and type(value) is type(choice) for choice in typing.get_args(hint)), value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    kind = typing.get_origin(hint) or hint
    if kind is tuple and isinstance(value, list):
        value = tuple(tuple(item) if isinstance(item, list) else item for item in value)
    fits = (value is None if hint is type(None) else isinstance(value, kind)) and not (kind is int and isinstance(value, bool))
    return fits and (allowed is None or value in allowed), value


def describe(hint: Any) -> str:
    """An annotation in words: `a number > 0`, `one of 'none', 'sqrt'`, ..."""
    if isinstance(hint, pytypes.UnionType) or typing.get_origin(hint) is typing.Union:
        return " or ".join(describe(option) for option in typing.get_args(hint))
    if typing.get_origin(hint) is Annotated:
        kind, allowed = typing.get_args(hint)[:2]
        return f"{describe(kind)} {allowed}"
    if typing.get_origin(hint) is Literal:
        return "one of " + ", ".join(repr(choice) for choice in typing.get_args(hint))
    return {float: "a number", int: "an integer", bool: "true or false", type(None): "none", str: "text"}.get(hint, str(hint))
