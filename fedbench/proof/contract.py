"""Checks the contract of algorithms, whoever wrote them. The engine runs them on a small problem.

An algorithm that passes runs under every scenario as a built-in one does: its runs can be repeated
and resumed, and do not depend on how jobs are cut into waves.
"""

from __future__ import annotations

import functools
import inspect
import pickle
import tempfile
import typing
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import ClassVar, cast

import numpy as np

from fedbench.engine.checkpoint import restore, save
from fedbench.engine.declared import returned
from fedbench.engine.evaluate import GridEvaluator
from fedbench.engine.execute import Execution
from fedbench.kernels.timing import NANOSECONDS
from fedbench.proof.compare import bits
from fedbench.proof.costs import costs_declared
from fedbench.proof.findings import Finding, expect, findings
from fedbench.proof.testbed import UPDATES, Trace, World, Wrapped
from fedbench.protocols import Algorithm, Tools
from fedbench.scenarios.grid import EvenGrid
from fedbench.tables import ClientTable
from fedbench.types import Batch, Job, LocalRule, Message, Reply, State, Vector, Work


class Watched(Wrapped[Algorithm]):
    """An algorithm whose methods are watched: pure ones are called twice, and inputs cannot be
    written."""

    @classmethod
    def run(cls, world: World) -> tuple[list[Vector], State]:
        """Returns what a run of the world's algorithm gives if it is watched."""
        return world.run(cast(Algorithm, cls(world.algorithm)))

    def broadcast(self, state: State, tools: Tools) -> Message:
        before = bits(state)
        message = returned(self.inner, "broadcast", Message, self.inner.broadcast(state, tools))
        expect(bits(state) == before, "broadcast changes the state; only step may")
        return message

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        first, second = (self.inner.local(message, job, memory) for _ in range(2))
        same = all(bits(getattr(first, f.name)) == bits(getattr(second, f.name)) for f in fields(LocalRule))
        expect(same, "local gives another rule when it is called again; it must be pure")
        return first

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        first, second = (returned(self.inner, "reply", Reply, self.inner.reply(message, job, work, memory)) for _ in range(2))
        same = bits([first.sent, first.memory]) == bits([second.sent, second.memory])
        expect(same, "reply gives another answer when it is called again")
        for name, array in first.sent.items():
            kept = array.shape != work.delta.shape or array.dtype == work.delta.dtype
            expect(kept, f"reply sends {name} as {array.dtype}, expected {work.delta.dtype}, the dtype of the run")
        return first

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        for array in (*(getattr(batch, f.name) for f in fields(Batch)), *batch.sent.values()):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        self.inner.step(state, batch, tools)


def same_run(one: tuple[list[Vector], State], other: tuple[list[Vector], State], otherwise: str) -> None:
    """Raises Broken unless two runs have the same bits in all versions and in the last state.
    `otherwise` is what it says then."""
    for version, (a, b) in enumerate(zip(one[0], other[0], strict=True), 1):
        expect(a.tobytes() == b.tobytes(), f"{otherwise}: x differs from version {version} on, {a} and {b}")
    mine, theirs = ({name: bits(value) for name, value in state.items()} for _, state in (one, other))
    expect(
        mine == theirs, f"{otherwise}: x is the same, the state's {', '.join(n for n in mine if mine[n] != theirs.get(n))} not"
    )


def annotated(cls: type) -> list[str]:
    """Returns the names that a class itself annotates, but for those of the whole class."""
    own, meant = vars(cls).get("__annotations__", {}), typing.get_type_hints(cls)
    return [name for name in own if typing.get_origin(meant[name]) is not ClassVar and meant[name] is not ClassVar]


# ---- the checks; each raises Broken, or returns in words what it saw ----


def declared(algorithm: Algorithm) -> str:
    """The algorithm has a name, a source and a description, and can be sent to another process."""
    text = inspect.getdoc(type(algorithm)) or ""
    expect(
        bool(algorithm.source),
        "class attribute source: expected where the equations are from, such as a paper or a page, got none",
    )
    expect("Source" in text, "docstring: expected the equations and a line that begins with Source:")
    for cls in type(algorithm).__mro__:
        fields = [] if "__dataclass_fields__" in vars(cls) else annotated(cls)
        expect(
            not fields,
            f"class {cls.__name__}: its annotated field{'s' * (len(fields) > 1)} {', '.join(fields)} would be no option, "
            "since @dataclass(frozen=True) is missing above the class",
        )
    again = type(algorithm).make(algorithm.options())
    expect(again == algorithm and pickle.loads(pickle.dumps(algorithm)) == algorithm, "options: another algorithm comes back")
    needs = f", needs {', '.join(sorted(algorithm.requires))}" if algorithm.requires else ""
    return f"{algorithm.name}, {len(algorithm.options())} options{needs}"


def dtype_kept(algorithm: Algorithm) -> str:
    """float32 stays float32 and float64 stays float64, in the model and in all vectors of its
    size."""
    for dtype in ("float32", "float64"):
        world = World(algorithm, dtype)
        _, state = Watched.run(world)
        for name, value in state.items():
            rows = value.default if isinstance(value, ClientTable) else value
            wrong = (
                isinstance(rows, np.ndarray) and rows.dtype.kind == "f" and rows.shape == world.x0.shape and rows.dtype != dtype
            )
            expect(not wrong, f"state.{name} has become {getattr(rows, 'dtype', '')} in a run of {dtype}")
    return "float32, float64"


def inputs_kept(algorithm: Algorithm) -> str:
    """Messages, batches and memory are not written, and local, reply and broadcast are pure."""
    world = World(algorithm, "float32")
    same_run(world.run(), Watched.run(world), "another run comes out when local and reply are called twice")
    return "messages, batches and memory"


class Judging:
    """An observer that asks twice for the model that is judged, before every update."""

    def before_update(self, execution: Execution, version: int, time_ns: int) -> None:
        state = bits(execution.state)
        first, second = (bits(execution.judged().x) for _ in range(2))
        expect(first == second, "evaluated gives another model when it is called again; it must be pure")
        expect(bits(execution.state) == state, "evaluated changes the state; only step may")

    def after_update(self, execution: Execution, version: int, time_ns: int) -> None:
        pass


def judged_model(algorithm: Algorithm) -> str:
    """The model that is judged has the dtype of the run, and asking for it changes nothing."""
    for dtype in ("float32", "float64"):
        world = World(algorithm, dtype)
        execution = world.execution()
        execution.run(world.plan(execution), [Judging()])
    return "another than x" if type(algorithm).evaluated is not Algorithm.evaluated else "x"


def finite(algorithm: Algorithm) -> str:
    x = World(algorithm, "float32").run()[0]
    expect(len(x) == UPDATES, f"expected {UPDATES} updates, got {len(x)}")
    return f"{UPDATES} updates"


def repeats(algorithm: Algorithm) -> str:
    """A second run of the same object gives the same, so a run leaves nothing behind in it."""
    world = World(algorithm, "float32")
    same_run(world.run(), world.run(), "a second run differs from the first")
    return "two runs, same bits"


def waves_invisible(algorithm: Algorithm) -> str:
    world = World(algorithm, "float32")
    whole = world.run()
    for size in (1, 2, 3):
        same_run(whole, world.run(wave_size=size), f"with at most {size} jobs at a time the run differs")
    return "waves of 1, 2, 3 and as many as fit"


def resumes(algorithm: Algorithm) -> str:
    """A run that is saved between two updates and restored into a new execution goes on the
    same."""
    world = World(algorithm, "float32")
    whole = world.run()
    places = []
    with tempfile.TemporaryDirectory() as folder:
        file, evaluator = Path(folder) / "checkpoint.bin", GridEvaluator(lambda models: [], EvenGrid(NANOSECONDS))
        execution = world.execution()
        for chunk in world.plan(execution):
            execution.run([chunk])
            save(file, "contract", execution, evaluator)
            again, rest = world.execution(), Trace()
            restore(file, "contract", again, evaluator)
            again.run(world.plan(again), [rest])
            at = execution.version
            same_run((whole[0][at:], whole[1]), (rest.x, again.state), f"restored after update {at} the run differs")
            places.append(str(at))
    return f"saved and restored after updates {', '.join(places)}"


def learns(algorithm: Algorithm) -> str:
    world = World(algorithm, "float64")
    x = world.run()[0]
    before, after = (world.problem.metrics(point)["train_loss"] for point in (world.x0, x[-1]))
    expect(
        after < before,
        f"the loss of a convex problem does not fall in {UPDATES} updates: {before:.4g} before, {after:.4g} after",
    )
    return f"loss {before:.4g} -> {after:.4g} in {UPDATES} updates"


CHECKS: dict[str, Callable[[Algorithm], str]] = {
    "declared": declared,
    "dtype kept": dtype_kept,
    "inputs kept": inputs_kept,
    "judged model": judged_model,
    "finite": finite,
    "repeatable": repeats,
    "waves invisible": waves_invisible,
    "resumable": resumes,
    "loss falls": learns,
    "costs declared": costs_declared,
}


def check(algorithm: Algorithm) -> Iterator[Finding]:
    """Yields one finding for every check."""
    return findings({name: functools.partial(body, algorithm) for name, body in CHECKS.items()})
