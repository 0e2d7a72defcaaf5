"""`fedbench test`: the built-in algorithms keep the contract, and every way of breaking it is found
by the check that is meant to."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from fedbench import registry
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.errors import UsageError
from fedbench.proof.contract import CHECKS, check
from fedbench.protocols import Algorithm, Tools
from fedbench.tables import ClientTable
from fedbench.types import (
    Batch,
    GradientWork,
    Info,
    Job,
    LocalRule,
    Message,
    Reply,
    ServerMemory,
    State,
    Traffic,
    Vector,
    Work,
)
from tests.cli.commands import fedbench


@pytest.mark.parametrize("name", registry.names("algorithm"))
def test_built_in_algorithms_keep_it(name: str) -> None:
    assert [f"{f.check}: {f.detail}" for f in check(registry.algorithm(name)) if f.status == "fail"] == []


@dataclass(frozen=True, kw_only=True)
class Base(FedBuff):
    """FedBuff with a deliberate mistake.

    Source: none.
    """

    name = "broken"


class NoSource(Base):
    """Says nothing about where it comes from."""


class Widens(Base):
    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        super().step(state, batch, tools)
        state.x = state.x * np.float64(1)


class WidensItsMomentum(Base):
    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, m=np.zeros_like(x0))

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        super().step(state, batch, tools)
        state.m = np.full_like(state.x, 0.5, np.float64)


class SendsDoubles(Base):
    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        return Reply(delta=work.delta.astype(np.float64))


class WritesItsBatch(Base):
    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        batch.delta[:] *= 2
        super().step(state, batch, tools)


class WritesItsMessage(Base):
    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        message.x[0] = 0
        return self.rule(message.x)


class CountsItsCalls(Base):
    calls: ClassVar[list[int]] = []

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        self.calls.append(job.client)
        return self.rule(message.x, lr=self.local_lr / len(self.calls))


class Overflows(Base):
    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x * 1e20


class RemembersInTheObject(Base):
    steps: ClassVar[list[int]] = []

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        self.steps.append(batch.version)
        state.x = state.x + batch.delta.mean(axis=0) / len(self.steps)


class BroadcastWrites(Base):
    def broadcast(self, state: State, tools: Tools) -> Message:
        state.x = state.x * 0.999
        return Message(x=state.x)


class JudgedInDoubles(Base):
    def evaluated(self, state: State) -> Vector:
        return state.x / np.float64(1)


class JudgedByATick(Base):
    ticks: ClassVar[list[int]] = []

    def evaluated(self, state: State) -> Vector:
        self.ticks.append(0)
        return state.x + np.float32(len(self.ticks))


class JudgingWrites(Base):
    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, average=x0.copy())

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=2)

    def evaluated(self, state: State) -> Vector:
        state.average[:] = (state.average + state.x) / 2
        return np.zeros_like(state.x)


class Climbs(Base):
    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        before = state.x
        super().step(state, batch, tools)
        state.x = before - (state.x - before)


class SendsMoreThanItSays(Base):
    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        return Reply(delta=work.delta, end=work.end)


class TalksMoreThanItSays(Base):
    def broadcast(self, state: State, tools: Tools) -> Message:
        return Message(x=state.x, again=state.x)


class TalksInTuples(Base):
    def traffic(self, info: Info) -> Traffic:
        return (1, 1, 1)  # type: ignore[return-value]


class ClaimsLessThanABit(Base):
    def traffic(self, info: Info) -> Traffic:
        return Traffic(up=0.03)


class ComputesForNothing(Base):
    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        return self.rule(message.x, anchor=message.x, wants=("full_gradient",))


class ClaimsWork(Base):
    def gradient_work(self, info: Info) -> GradientWork:
        return GradientWork(full=1)


class AsksBeforehand(Base):
    def init(self, x0: Vector, tools: Tools) -> State:
        list(tools.gradients([0], x0))
        return State(x=x0)


class AsksEveryRound(Base):
    def broadcast(self, state: State, tools: Tools) -> Message:
        list(tools.gradients([0], state.x))
        return Message(x=state.x)


class KeepsMomentum(Base):
    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, m=np.zeros_like(x0))


class ForgetsToSayThatClientsRemember(Base):
    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, memory=ClientTable(tools.info.clients, np.zeros_like(x0)))


class ClaimsThatClientsRemember(Base):
    clients_remember = True


class KeepsATable(Base):
    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, h=ClientTable(tools.info.clients, np.zeros_like(x0)))


class LooksBack(Base):
    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        batch.base_x(0)
        super().step(state, batch, tools)


BROKEN: dict[type[Algorithm], tuple[str, str]] = {
    NoSource: ("declared", "a line that begins with Source:"),
    Widens: ("dtype kept", "x must stay float32 (5,), got float64"),
    WidensItsMomentum: ("dtype kept", "state.m has become float64 in a run of float32"),
    SendsDoubles: ("dtype kept", "reply sends delta as float64, expected float32"),
    WritesItsBatch: ("inputs kept", "ValueError: output array is read-only"),
    WritesItsMessage: ("finite", "assignment destination is read-only"),
    CountsItsCalls: ("inputs kept", "local gives another rule when it is called again"),
    Overflows: ("finite", "Diverged: version 2 is not finite"),
    RemembersInTheObject: ("repeatable", "a second run differs from the first: x differs from version 1 on"),
    BroadcastWrites: ("inputs kept", "broadcast changes the state; only step may"),
    JudgedInDoubles: ("judged model", "broken.evaluated: x must stay float32 (5,), got float64 (5,)"),
    JudgedByATick: ("judged model", "evaluated gives another model when it is called again; it must be pure"),
    JudgingWrites: ("judged model", "evaluated changes the state; only step may"),
    Climbs: ("loss falls", "does not fall in 60 updates"),
    SendsMoreThanItSays: ("costs declared", "says 1 vectors up a job, reply has 2"),
    TalksMoreThanItSays: ("costs declared", "says 1 vectors down a job, message has 2"),
    TalksInTuples: ("costs declared", "traffic must return Traffic(down, up, exchanges), got (1, 1, 1)"),
    ClaimsLessThanABit: ("costs declared", "says 0.03 vectors up a job, reply has the values of 1, less than a bit for each"),
    ComputesForNothing: ("costs declared", "says per_step=1, full=0, the local rule asks for per_step=2, full=1"),
    ClaimsWork: ("costs declared", "says per_step=1, full=1, the local rule asks for per_step=1, full=0"),
    AsksBeforehand: ("costs declared", "says prelude=False, full gradients of clients are asked for by init: True"),
    AsksEveryRound: ("costs declared", "says prelude=False, full gradients of clients are asked for by broadcast: 'every_round'"),
    KeepsMomentum: ("costs declared", "says own=1, per_client=0, per_version=0, public_logits=0, the state has own=2"),
    KeepsATable: ("costs declared", "the state has own=1, per_client=1"),
    ForgetsToSayThatClientsRemember: ("costs declared", "clients_remember: says False, the state has a memory of clients"),
    ClaimsThatClientsRemember: ("costs declared", "clients_remember: says True, the state has no memory of clients"),
    LooksBack: ("costs declared", "says per_version=0, the server needs models of old versions"),
}


@pytest.mark.parametrize("cls", BROKEN, ids=lambda cls: cls.__name__)
def test_every_way_of_breaking_it_is_found(cls: type[Algorithm]) -> None:
    expected, words = BROKEN[cls]
    found = {finding.check: finding for finding in check(cls())}
    assert list(found) == list(CHECKS)
    assert found[expected].status in ("fail", "same")
    assert words in found[expected].detail


class SlipsInItsStep(Base):
    """Source: none."""

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + batch.gradients  # type: ignore[attr-defined]


def test_one_mistake_is_reported_once() -> None:
    found = list(check(SlipsInItsStep()))
    failed = [finding.check for finding in found if finding.status == "fail"]
    assert failed == ["dtype kept"]
    assert len({finding.detail for finding in found if finding.status in ("fail", "same")}) == 1
    assert [finding.check for finding in found] == list(CHECKS)


class AddsAnOption(Base):
    """Source: none."""

    damping: float = 0.5


class ChangesADefault(Base):
    """Source: none."""

    server_lr: float = 0.5


@dataclass(frozen=True, kw_only=True)
class LeftAbove(AddsAnOption):
    """Source: none."""


@pytest.mark.parametrize(
    ("cls", "field"), [(AddsAnOption, "damping"), (ChangesADefault, "server_lr"), (LeftAbove, "damping")], ids=str
)
def test_an_annotated_field_that_is_no_option(cls: type[Algorithm], field: str) -> None:
    declared = next(check(cls()))
    assert (declared.check, declared.status) == ("declared", "fail")
    assert f"its annotated field {field} would be no option, since @dataclass(frozen=True) is missing above" in declared.detail


class HasAConstant(Base):
    """Source: none."""

    LIMIT: ClassVar[int] = 3


def test_what_is_annotated_for_the_class_is_no_option() -> None:
    assert next(check(HasAConstant())).status == "pass"


class Sparse(Base):
    """Sends the largest fifth of its entries. Source: none."""

    def traffic(self, info: Info) -> Traffic:
        return Traffic(up=0.2)

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        kept = np.zeros_like(work.delta)
        largest = int(np.abs(work.delta).argmax())
        kept[largest] = work.delta[largest]
        return Reply(delta=kept)


def test_a_fraction_of_a_vector_may_be_declared() -> None:
    found = {finding.check: finding for finding in check(Sparse())}
    assert found["costs declared"].detail.startswith("1 down, 0.2 up, 1 exchange; per_step=1, full=0; own=1")
    assert found["costs declared"].status == "pass"


def test_state_outside_the_state_is_found_after_a_restore() -> None:
    """Momentum that lives in the object is repeatable from update to update, but no checkpoint
    knows it."""
    kept: dict[str, Vector] = {}

    class Keeps(Base):
        def init(self, x0: Vector, tools: Tools) -> State:
            kept["m"] = np.zeros_like(x0)
            return State(x=x0)

        def step(self, state: State, batch: Batch, tools: Tools) -> None:
            kept["m"] = 0.5 * kept["m"] + batch.delta.mean(axis=0)
            state.x = state.x + kept["m"]

    found = {finding.check: finding for finding in check(Keeps())}
    assert found["repeatable"].status == "pass"
    assert "restored after update 1 the run differs: x differs from version" in found["resumable"].detail


def test_command_line(tmp_path: Path) -> None:
    kept = fedbench("test", "fedavg[cohort_size=3]")
    assert kept.returncode == 0
    assert kept.stdout.splitlines()[-1] == "algorithm fedavg[cohort_size=3]: the contract is kept"
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import dataclass\n"
        "from fedbench.algorithms.fedbuff import FedBuff\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Mine(FedBuff):\n"
        '    """Climbs. Source: none"""\n'
        '    name = "mine"\n'
        "    def step(self, state, batch, tools):\n"
        "        state.x = state.x - batch.delta.mean(axis=0)\n"
    )
    broken = fedbench("test", f"{file}:Mine")
    assert broken.returncode == 1
    assert "fail  loss falls" in broken.stdout
    assert broken.stdout.splitlines()[-1].endswith(":Mine: 1 broken")


def test_unknown_names_are_met_with_the_nearest() -> None:
    wrong = fedbench("test", "fedbuf")
    assert wrong.returncode == UsageError.exit_code
    assert "unknown name 'fedbuf'; did you mean 'fedbuff'?" in wrong.stderr


def test_options_come_back(tmp_path: Path) -> None:
    """A field that is computed from another is not an option: it comes back as another
    algorithm."""

    @dataclass(frozen=True, kw_only=True)
    class Doubles(Base):
        name = "doubles"
        server_lr: float = 1.0

        def __post_init__(self) -> None:
            super().__post_init__()
            object.__setattr__(self, "server_lr", 2 * self.server_lr)

    finding = next(check(Doubles()))
    assert (finding.check, finding.status) == ("declared", "fail")
    assert dataclasses.fields(Doubles)
