"""`fedbench test`, costs declared: what the server computes and keeps without saying so is
found."""

from __future__ import annotations

import re

import numpy as np
import pytest

from fedbench import registry
from fedbench.algorithms.fedecho import FedEcho
from fedbench.proof.contract import check
from fedbench.protocols import Algorithm, RowIndices, Tools
from fedbench.types import Info, Message, ServerMemory, ServerWork, State, Vector


class Distils(FedEcho):
    """FedEcho with a deliberate mistake.

    Source: none.
    """

    name = "broken"


class HidesItsServersWork(Distils):
    def server_work(self, info: Info) -> ServerWork:
        return ServerWork()


class CountsThePassesOnly(Distils):
    def server_work(self, info: Info) -> ServerWork:
        return super().server_work(info)._replace(forward=10 * 20 + 20, gradients=0)


class DistilsTwice(Distils):
    def distill(self, state: State, rows: RowIndices, tools: Tools) -> None:
        super().distill(state, rows, tools)
        super().distill(state, rows, tools)


class PullsTwice(Distils):
    def distill(self, state: State, rows: RowIndices, tools: Tools) -> None:
        super().distill(state, rows, tools)
        logits, pullback = tools.public_logits(state.x, rows)
        for _ in range(2):
            pullback(logits)


class LooksAtItsModel(Distils):
    def broadcast(self, state: State, tools: Tools) -> Message:
        tools.public_logits(state.x, np.arange(5))
        return super().broadcast(state, tools)


class LooksBeforehand(Distils):
    def init(self, x0: Vector, tools: Tools) -> State:
        tools.public_logits(x0, np.arange(7))
        return super().init(x0, tools)


class HidesItsLogits(Distils):
    def server_memory(self, info: Info) -> ServerMemory:
        return super().server_memory(info)._replace(public_logits=0)


DOES = "the server computes forward=12000, gradients=1200, first_forward=0, first_gradients=0"
HIDDEN: dict[type[Algorithm], str] = {
    HidesItsServersWork: f"says forward=0, gradients=0, first_forward=0, first_gradients=0 (examples an update, .* updates; {DOES}$",
    CountsThePassesOnly: f"says forward=220, gradients=0, .* which is forward=13200, gradients=0, .*; {DOES}$",
    DistilsTwice: "says forward=200, gradients=20, .*; the server computes forward=12000, gradients=2400, first_forward=0",
    PullsTwice: "computes forward=12000, gradients=3600, ",
    LooksAtItsModel: r"computes forward=12\d\d\d, gradients=1200, ",
    LooksBeforehand: "computes forward=12000, gradients=1200, first_forward=7, first_gradients=0$",
    HidesItsLogits: "per_version=1, public_logits=0, the state has own=3, per_client=0, per_version=1, public_logits=720$",
}


@pytest.mark.parametrize("cls", HIDDEN, ids=lambda cls: cls.__name__)
def test_work_and_logits_of_the_server_that_are_not_declared_are_found(cls: type[Algorithm]) -> None:
    """20 public examples, 10 arrivals an update, 60 updates, 12 clients and 3 classes."""
    found = {finding.check: finding for finding in check(cls())}["costs declared"]
    assert found.status == "fail"
    assert re.search(HIDDEN[cls].replace("(", r"\("), found.detail), found.detail


@pytest.mark.parametrize(("steps", "gradients"), [("", 20), ("0", 0), ("1", 6), ("3", 18), ("4", 20), ("11", 58)])
def test_distillation_of_a_number_of_steps_is_counted_example_by_example(steps: str, gradients: int) -> None:
    """Batches of 6 over 20 rows: the fourth of a pass has 2."""
    of = f",distill_steps={steps}" if steps else ""
    algorithm = registry.algorithm(f"fedecho[distill_batch_size=6,buffer_size=4{of}]")
    assert algorithm.server_work(Info(3, np.ones(3), public_shape=(20, 3))) == ServerWork(forward=80, gradients=gradients)
    found = {finding.check: finding for finding in check(algorithm)}["costs declared"]
    assert (found.status, f"server: forward=80, gradients={gradients}, " in found.detail) == ("pass", True)
