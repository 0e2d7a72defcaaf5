"""Compares the costs that an algorithm declares with what a run of it sends, computes and keeps."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, cast

import numpy as np

from fedbench.engine import declared
from fedbench.engine.passes import Passes, gradients_of
from fedbench.kernels import TeacherMean
from fedbench.proof.findings import expect
from fedbench.proof.testbed import UPDATES, World, Wrapped
from fedbench.protocols import Algorithm, Logits, Pullback, RowIndices, Tools
from fedbench.tables import ClientTable
from fedbench.types import Batch, Job, LocalRule, Message, Reply, ServerMemory, State, Traffic, Vector, Work
from fedbench.written import counted

BITS_PER_VALUE = 32


class Asked(Wrapped[Tools]):
    """Tools that note in which method of the algorithm full gradients of clients are asked for, and
    count what the server computes with them itself."""

    def __init__(self, tools: Tools, place: str, places: set[str], passes: Passes) -> None:
        super().__init__(tools)
        self.place, self.places, self.passes = place, places, passes

    def gradients(self, clients: Iterable[int], x: Vector) -> Iterator[Vector]:
        self.places.add(self.place)
        return self.inner.gradients(clients, x)

    def public_logits(self, x: Vector, rows: RowIndices, *, training: bool = False) -> tuple[Logits, Pullback]:
        logits, pullback = self.inner.public_logits(x, rows, training=training)
        return logits, self.passes.pulled(pullback, len(rows))


class Metered(Wrapped[Algorithm]):
    """An algorithm whose costs are measured while it runs.

    Attributes:
        down, up: the largest number of values that are not zero in the model-sized vectors of a
            message, or of a reply, divided by the size of the model.
        dense_down, dense_up: the largest number of these vectors.
        per_step, full: the gradients of a job that its local rule asks for.
        gradients_in: the methods that ask for full gradients of clients.
        looks_back: whether the server needs models of old versions.
        before, passes: what the server computes in `init`, and in all that follows.
    """

    def __init__(self, algorithm: Algorithm, public_examples: int) -> None:
        super().__init__(algorithm)
        self.public_examples = public_examples
        self.down = self.up = 0.0
        self.dense_down = self.dense_up = 0
        self.per_step, self.full = 1, 0
        self.gradients_in: set[str] = set()
        self.looks_back = False
        self.before, self.passes = Passes(), Passes()

    def init(self, x0: Vector, tools: Tools) -> State:
        return self.inner.init(x0, cast(Tools, Asked(tools, "init", self.gradients_in, self.before)))

    def broadcast(self, state: State, tools: Tools) -> Message:
        message = self.inner.broadcast(state, cast(Tools, Asked(tools, "broadcast", self.gradients_in, self.passes)))
        sent = model_sized(dict(message.items()), len(state.x))
        self.dense_down, self.down = max(self.dense_down, len(sent)), max(self.down, filled(sent))
        return message

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        rule = self.inner.local(message, job, memory)
        asked = gradients_of(rule)
        self.per_step, self.full = max(self.per_step, asked.per_step), max(self.full, asked.full)
        if "public_logits" in rule.wants:  # the server computes them, from the old model and the Delta
            self.looks_back = True
            self.passes.forward += self.public_examples
        return rule

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        reply = self.inner.reply(message, job, work, memory)
        sent = model_sized(reply.sent, len(work.delta))
        self.dense_up, self.up = max(self.dense_up, len(sent)), max(self.up, filled(sent))
        return reply

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        def base_x(entry: int) -> Vector:
            self.looks_back = True
            return batch.base_x(entry)

        asked = cast(Tools, Asked(tools, "step", self.gradients_in, self.passes))
        self.inner.step(state, dataclasses.replace(batch, base_x=base_x), asked)


def costs_declared(algorithm: Algorithm) -> str:
    """The clock and the ledger charge for everything that is sent, computed and kept, and for
    nothing else."""
    world = World(algorithm, "float32")
    metered = Metered(algorithm, world.info.public_shape[0])
    _, state = world.run(cast(Algorithm, metered))
    traffic = declared.traffic(algorithm, world.info)
    if not algorithm.pooled:
        _check_traffic(traffic, metered)
    _check_gradients(world, metered)
    _check_server_work(world, metered)
    memory = declared.server_memory(algorithm, world.info)
    kept = ServerMemory(*kept_in(state), per_version=memory.per_version, public_logits=logits_in(state))
    remembers = "memory" in state
    expect(
        algorithm.clients_remember == remembers,
        f"clients_remember: says {algorithm.clients_remember}, the state has {'a' if remembers else 'no'} memory of clients",
    )
    expect(memory == kept, f"server_memory: says {_named(memory)}, the state has {_named(kept)}")
    looks = "needs models of old versions" if metered.looks_back else "needs no model of an old version"
    expect(
        bool(memory.per_version) == metered.looks_back,
        f"server_memory: says per_version={memory.per_version}, the server {looks}",
    )
    exchanges = counted(traffic.exchanges, "exchange")
    work, server = _named(declared.gradient_work(algorithm, world.info)), declared.server_work(algorithm, world.info)
    computes = f"; server: {_named(server)}" if any(server) else ""
    return f"{traffic.down:g} down, {traffic.up:g} up, {exchanges}; {work}{computes}; {_named(memory)}"


def _check_traffic(traffic: Traffic, metered: Metered) -> None:
    """Compares the declared traffic with messages and replies. A whole number pays for so many
    vectors. A fraction pays for fewer values, or for fewer bits of each, but at least one. A reply
    of several exchanges may have vectors that only some of the clients send."""
    for way, what, says, dense, does in (
        ("down", "message", traffic.down, metered.dense_down, metered.down),
        ("up", "reply", traffic.up, metered.dense_up, metered.up),
    ):
        if float(says).is_integer():
            expect(dense <= says or traffic.exchanges > 1, f"traffic: says {says:g} vectors {way} a job, {what} has {dense}")
        else:
            expect(
                does <= BITS_PER_VALUE * says,
                f"traffic: says {says:g} vectors {way} a job, {what} has the values of {does:.3g}, less than a bit for each",
            )


def _check_gradients(world: World, metered: Metered) -> None:
    work = declared.gradient_work(world.algorithm, world.info)
    does = type(work)(metered.per_step, metered.full)
    expect(work == does, f"gradient_work: says {_named(work)}, the local rule asks for {_named(does)}")
    needed = "every_round" if metered.gradients_in & {"broadcast", "step"} else "init" in metered.gradients_in
    places = ", ".join(sorted(metered.gradients_in)) or "nobody"
    says = world.dispatch.prelude
    expect(says == needed, f"dispatch: says prelude={says!r}, full gradients of clients are asked for by {places}: {needed!r}")


def _check_server_work(world: World, metered: Metered) -> None:
    """Compares what the server computes in a run of UPDATES updates."""
    work = declared.server_work(world.algorithm, world.info)
    says = work._replace(forward=UPDATES * work.forward, gradients=UPDATES * work.gradients)
    does = type(work)(metered.passes.forward, metered.passes.gradients, metered.before.forward, metered.before.gradients)
    expect(
        says == does,
        f"server_work: says {_named(work)} (examples an update, and before the first job), which is {_named(says)} in {UPDATES} "
        f"updates; the server computes {_named(does)}",
    )


def model_sized(named: Mapping[str, object], dim: int) -> list[Vector]:
    """Returns the values that are vectors of the model's size."""
    return [value for value in named.values() if isinstance(value, np.ndarray) and value.shape == (dim,)]


def filled(vectors: list[Vector]) -> float:
    """Returns how many values are not zero, divided by the size of a vector."""
    return float(sum(np.count_nonzero(vector) / len(vector) for vector in vectors))


def kept_in(state: State) -> tuple[int, int]:
    """Returns the numbers of model-sized vectors in a state: the server's own, and those per
    client. The memory of clients does not count."""
    own = per_client = 0
    for name, value in state.items():
        if name == "memory":
            continue
        if isinstance(value, ClientTable):
            per_client += value.default.shape == state.x.shape
        else:
            own += sum(_vectors(part, len(state.x)) for part in (value if isinstance(value, list | tuple) else (value,)))
    return own, per_client


def logits_in(state: State) -> int:
    """Returns how many logits of public examples are in a state."""
    return sum(value.bytes // value.dtype.itemsize for _, value in state.items() if isinstance(value, TeacherMean))


def _vectors(value: object, dim: int) -> int:
    if isinstance(value, np.ndarray) and value.ndim > 0 and value.shape[-1] == dim and value.dtype.kind == "f":
        return value.size // dim
    return 0


def _named(costs: NamedTuple) -> str:
    return ", ".join(f"{field}={value:g}" for field, value in costs._asdict().items())
