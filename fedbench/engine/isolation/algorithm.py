"""An algorithm whose code runs in another process. To the engine it is an algorithm like any other;
whatever its methods give comes from there as numbers, arrays and text, and is checked as such."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Mapping
from types import UnionType
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from fedbench.engine.isolation.measured import Measured
from fedbench.engine.isolation.process import Answers, Process
from fedbench.errors import PluginError, UsageError
from fedbench.origins import Elsewhere
from fedbench.protocols import Logits, Pullback, SelectionTools, Tools
from fedbench.types import (
    Array,
    Batch,
    Dispatch,
    GradientWork,
    Info,
    Integers,
    Job,
    LocalRule,
    Message,
    Reply,
    ServerMemory,
    ServerWork,
    State,
    Traffic,
    Vector,
    Weights,
    Work,
)

K = TypeVar("K")
MOST_PER_CLIENT = 100  # times the clients: jobs at a time, of an update, of a cohort
MOST_ROWS = 1 << 22
DRAWS = ("words", "uniform", "normal", "exponential", "below", "permutation")
COLUMNS = ("clients", "steps", "base", "staleness", "n", "p", "first")


class Isolated(Elsewhere):
    """The algorithm of a Process. Hooks that the plug-in leaves as they are in `Algorithm` are not
    asked for, but for those that need its state."""

    process: ClassVar[Process]
    measured: ClassVar[Measured]
    defaults: ClassVar[dict[str, object]]

    @classmethod
    def make(cls, options: Mapping[str, object]) -> Self:
        given, terms = cls._several("make", (dict, list), options)
        algorithm = cls()
        algorithm.__dict__ |= {"given": given, "terms": frozenset(map(str, terms))}
        return algorithm

    @classmethod
    def _called(cls, method: str, kind: type[K], *arguments: object, answers: Answers | None = None) -> K:
        """Returns what a method of the plug-in gives. Raises PluginError if it is not of this
        kind."""
        found = cls.process.call(method, *arguments, answers=answers)
        if not isinstance(found, kind):
            raise cls._unlike(method, kind, found)
        return found

    @classmethod
    def _several(
        cls, method: str, kinds: tuple[type | UnionType, ...], *arguments: object, answers: Answers | None = None
    ) -> list[Any]:
        """Returns the values that a method of the plug-in gives. Raises PluginError if there are
        not as many as kinds, or if one is of another kind."""
        found = cls.process.call(method, *arguments, answers=answers)
        if not (isinstance(found, list) and len(found) == len(kinds) and all(map(isinstance, found, kinds))):
            raise cls._unlike(method, kinds, found)
        return found

    @classmethod
    def _unlike(cls, method: str, kinds: object, found: object) -> PluginError:
        got = [type(one).__name__ for one in found] if isinstance(found, list) else type(found).__name__
        return PluginError(f"algorithm {cls.name}: {method} does not give {kinds}, but {got!s:.200}")

    def options(self) -> dict[str, object]:
        return dict(self.__dict__.get("given", self.defaults))

    @property
    def rule_terms(self) -> frozenset[str]:
        return self.__dict__["terms"]  # type: ignore[no-any-return]

    def dispatch(self, info: Info) -> Dispatch:
        policy = self._declares("dispatch", Dispatch, info)
        if policy.prelude not in (False, True, "every_round"):
            raise PluginError(
                f"algorithm {self.name}: dispatch: prelude must be False, True or 'every_round', got {policy.prelude!r:.80}"
            )
        for name in ("cohort_size", "concurrency", "over_selection", "buffer_size"):
            if (number := getattr(policy, name, 0)) > MOST_PER_CLIENT * info.clients:
                raise PluginError(
                    f"algorithm {self.name}: dispatch: {name} {number!r:.40} is over {MOST_PER_CLIENT} times the clients"
                )
        return policy

    def traffic(self, info: Info) -> Traffic:
        return self._declares("traffic", Traffic, info)

    def gradient_work(self, info: Info) -> GradientWork:
        return self._declares("gradient_work", GradientWork, info)

    def server_work(self, info: Info) -> ServerWork:
        return self._declares("server_work", ServerWork, info)

    def server_memory(self, info: Info) -> ServerMemory:
        return self._declares("server_memory", ServerMemory, info)

    def _declares(self, what: str, kind: type[K], info: Info) -> K:
        """Returns what the plug-in declares. It is asked once, so that it says the same to clock,
        ledger and judge."""
        said = self.__dict__.setdefault("said", {})
        if what not in said:
            said[what] = self._called("declares", kind, what, info.clients, answers=_known(info))
        found: K = said[what]
        return found

    def init(self, x0: Vector, tools: Tools) -> State:
        x, remembers = self._several("init", (np.ndarray, bool), x0, tools.info.clients, answers=self._lent(tools, first=True))
        self.measured.updated()
        return Mirrored(self.process, x=x, **{"memory": _Rows(self.process)} if remembers else {})

    def broadcast(self, state: State, tools: Tools) -> Message:
        number, x = self._several("broadcast", (int, np.ndarray | None), answers=self._lent(tools))
        message = _Numbered(number, x)
        weakref.finalize(message, self.process.release, number)
        return message

    def rule(self, start: Vector, **changes: object) -> LocalRule:
        return self.measured.rule(self._called("rule", LocalRule, start, changes))

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        return self.measured.rule(self._called("local", LocalRule, _number(message), job, memory))

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        self.measured.reply(work)
        given = {"delta": work.delta, "end": work.end, "buffers": work.buffers, **work.by_products}
        remembered, sent = self._several("reply", (np.ndarray | None, dict), _number(message), job, given, memory)
        return Reply(memory=remembered, **{name: np.asarray(array) for name, array in sent.items()})

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        writes = "memory" in state and state.memory.writeable
        lent = {**self._lent(tools), "base_x": batch.base_x}
        state.x = self._called("step", np.ndarray, *_columns(batch), writes, answers=lent)
        self.measured.updated()

    def evaluated(self, state: State) -> Vector:
        return self._called("evaluated", np.ndarray)

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        lent = {**_known(info), "base_x": batch.base_x}
        return self._called("entry_weights", np.ndarray, *_columns(batch), answers=lent)

    def select(self, state: State, available: npt.NDArray[np.int32], round: int, tools: SelectionTools) -> Integers:
        draws = {name: getattr(tools.random, name) for name in DRAWS}
        chosen: Integers = self.process.call("select", available, round, answers={**_known(tools.info), **draws})
        return chosen

    def _lent(self, tools: Tools, *, first: bool = False) -> Answers:
        """Returns the answers to what the plug-in may ask of the engine's tools. `first` is what it
        asks before the first update."""
        last: list[Pullback] = []

        def gradient(client: int, x: Vector) -> Vector:
            self.measured.gradient(client, first=first)
            return next(iter(tools.gradients([client], x)))

        def public_batches(version: int, size: int, steps: int | None) -> list[npt.NDArray[np.int64]]:
            if steps is not None and steps * max(size, 1) > MOST_ROWS:
                raise UsageError(
                    f"public_batches: expected at most {MOST_ROWS:,} rows at a time, got {steps:,} steps of {size:,}"
                )
            return list(tools.public_batches(version, size, steps))

        def public_logits(x: Vector, rows: npt.NDArray[np.int64], training: bool) -> Logits:
            logits, pull = tools.public_logits(x, rows, training=training)
            last[:] = [self.measured.own.pulled(pull, len(rows))]
            return logits

        def pullback(dlogits: Logits) -> Vector:
            return last[0](dlogits)

        return {
            **_known(tools.info),
            "public_shape": lambda: tools.public_shape,
            "gradient": gradient,
            "public_batches": public_batches,
            "public_logits": public_logits,
            "pullback": pullback,
        }

    def warnings(self, state: State) -> list[str]:
        return [str(one) for one in self._called("warnings", list)]


class Mirrored(State):
    """The server's state as the engine has it: the model, and a view of what clients remember. All
    else stays with the plug-in."""

    __slots__ = ("process",)

    def __init__(self, process: Process, **fields: object) -> None:
        super().__init__(**fields)
        object.__setattr__(self, "process", process)


class _Numbered(Message):
    """A message of which only the model is here."""

    __slots__ = ("number",)

    def __init__(self, number: int, x: Vector | None) -> None:
        super().__init__(**{} if x is None else {"x": x})
        object.__setattr__(self, "number", number)

    def frozen(self) -> Message:
        if "x" in self:
            self.x.flags.writeable = False
        return self


class _Rows:
    """What clients remember, in the place of a ClientTable."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.writeable = True

    def __getitem__(self, client: int) -> Vector:
        return np.asarray(self.process.call("row", int(client)))

    def __setitem__(self, client: int, row: Vector) -> None:
        self.process.call("remember", int(client), row)


def _number(message: Message) -> int:
    return message.number  # type: ignore[no-any-return]


def _known(info: Info) -> Answers:
    """Returns the answers to what the plug-in may ask of the clients."""
    names = ("n", "step_seconds", "job_seconds", "public_shape")
    return {name: functools.partial(getattr, info, name) for name in names}


def _columns(batch: Batch) -> tuple[dict[str, Array], int, dict[str, Array]]:
    return {name: getattr(batch, name) for name in COLUMNS}, batch.version, dict(batch.sent)
