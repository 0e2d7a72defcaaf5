"""Clock, ledger and curves of an algorithm that sends three vectors for each that it receives: what
is swapped shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import kernels as k
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.engine.ledger import Ledger, Prelude
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.kernels.hindsight import Hindsight
from fedbench.kernels.scheduler import NANOSECONDS, Duration, Scheduler, Timing
from fedbench.proof.contract import check
from fedbench.protocols import Algorithm, Count, Tools, option
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.grid import EvenGrid
from fedbench.scenarios.load import load
from fedbench.types import (
    Batch,
    Broadcast,
    Dispatch,
    Info,
    Job,
    LocalRule,
    Message,
    Reply,
    Rounds,
    ServerMemory,
    State,
    Stream,
    Traffic,
    Vector,
    Work,
)

LOPSIDED = Traffic(down=1, up=3)
VECTOR = 4 * 650
EQUAL = ["clients=6", "task.model=softmax", "partition={kind: iid}", "compute.slowdown={low: 1, high: 1}", "local.steps=5"]
NETWORK = "network={download_megabit_per_second: 0.0416, upload_megabit_per_second: 0.0208}"
"""A vector takes half a second down and a second up."""


@dataclass(frozen=True, kw_only=True)
class Lopsided(Algorithm):
    """Rounds of all clients. One vector goes down; the progress, the mean gradient and the first
    gradient come up. Before the first round everybody sends its full gradient at x0.

    Source: none, it is for these tests.
    """

    name = "lopsided"
    source = "none"

    def dispatch(self, info: Info) -> Dispatch:
        return Rounds(select="all", prelude=True)

    def traffic(self, info: Info) -> Traffic:
        return LOPSIDED

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=2)

    def init(self, x0: Vector, tools: Tools) -> State:
        gradients = list(tools.gradients(range(tools.info.clients), x0))
        return State(x=x0, g=k.weighted_sum(np.full(len(gradients), 1 / len(gradients)), gradients))

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        return self.rule(message.x, wants=("mean_gradient", "first_gradient"))

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        return Reply(delta=work.delta, gbar=work.mean_gradient, gfirst=work.first_gradient)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + k.mean(batch.delta) - 0.01 * state.g
        state.g = k.mean(batch.gbar) + k.mean(batch.gfirst)


@dataclass(frozen=True, kw_only=True)
class LopsidedStream(FedBuff):
    """FedBuff whose uploads are billed three times."""

    name = "lopsided_stream"
    buffer_size: Count = option(4, "How many arrivals make an update.")

    def traffic(self, info: Info) -> Traffic:
        return LOPSIDED


def run(algorithm: Algorithm, *overrides: str, store: Store | None = None, progress: Any = None, **options: Any) -> Record:
    spec = RunSpec(load("digits-demo", [*EQUAL, NETWORK, *overrides]), algorithm, 0)
    return Run(spec, store, RunOptions(**options), progress).record()


def test_it_keeps_the_contract() -> None:
    assert [f"{f.check}: {f.detail}" for f in check(Lopsided()) if f.status == "fail"] == []


def test_every_vector_is_paid_on_clock_ledger_and_curves() -> None:
    """The prelude: a vector down and one up, and the slowest client's full gradient. A round: one
    down, 5 steps of 0.02 s, three up."""
    record = run(Lopsided(), "budget.updates=2", "budget.seconds=99", "evaluation.every_seconds=0.5")
    sizes = Setup(RunSpec(load("digits-demo", EQUAL), Lopsided(), 0)).sizes
    prelude, a_round = 0.5 + 0.02 * np.ceil(sizes / 10).max() + 1, 0.5 + 5 * 0.02 + 3
    ledger, curves = record.ledger, record.curves
    assert ledger.end_seconds == pytest.approx(prelude + 2 * a_round)
    assert ledger.bytes_down == 6 * (1 + 2 * 1) * VECTOR
    assert ledger.bytes_up == 6 * (1 + 2 * 3) * VECTOR
    assert ledger.bytes_wasted == 0
    spent = np.unique(curves["bytes"] // (6 * VECTOR)).tolist()
    assert spent == [0, 1, 3, 7]  # the first download, the prelude's two vectors, the first uploads with the second download


def test_what_is_wasted_is_paid_by_its_direction() -> None:
    """Client 0 takes 1 s and client 1 takes 2 s. At 2 s two arrivals make the update; the third
    stays in the buffer, and what both work on by the end at 2.5 s comes to nothing."""
    timing = Timing(clients=2, compute=Duration.constant(np.array([1.0, 2.0])), max_updates=99, max_seconds=2.5)
    ledger, facts = played(timing, Stream(concurrency=2, buffer_size=2, restart="self"))
    assert (facts["jobs"], facts["jobs_consumed"], facts["updates"]) == (5, 2, 1)
    assert (ledger.uploads, ledger.used_downloads) == (3, 2)
    assert (facts["bytes_down"], facts["bytes_up"]) == (5, 9)
    assert facts["bytes_wasted"] == (5 - 2) * 1 + (3 - 2) * 3
    assert ledger.bytes_on_grid(LOPSIDED, 1, 3).tolist() == [2, 2 + 1 + 3, 5 + 9]


def test_an_upload_that_comes_too_late_is_wasted_whole() -> None:
    """Both arrive at 1 s, the first is enough: two downloads, two uploads, of which one each in
    vain."""
    ledger, facts = played(Timing(clients=2, compute=Duration.constant(1.0), max_updates=1), Rounds(over_selection=1))
    assert (facts["bytes_down"], facts["bytes_up"], facts["bytes_wasted"]) == (2, 6, 4)
    assert ledger.bytes_on_grid(LOPSIDED, 1, 2).tolist() == [2, 8]


def test_a_broadcast_to_a_client_that_goes_on_is_one_download_for_its_jobs() -> None:
    """Cut into chunks of any size: with peek, several jobs of a client start from one copy, which
    is used once."""
    timing = Timing(clients=3, compute=Duration.constant(np.array([1.0, 5.0, 7.0])), max_updates=9)
    whole = played(timing, Broadcast(buffer_size=3, receive="peek"))[1]
    for size in (1, 2):
        assert played(timing, Broadcast(buffer_size=3, receive="peek"), size)[1] == whole
    assert whole["bytes_wasted"] < whole["bytes_down"] < whole["bytes_up"]


def test_a_prelude_counts_once_however_the_plan_is_cut() -> None:
    """Jobs of version 0 are in several chunks; the prelude before them was one."""
    timing = Timing(clients=5, compute=Duration.constant(np.array([1.0, 2.0, 3.0, 4.0, 90.0])), max_updates=9)
    prelude = Prelude(seconds=0.0, gradients=10, every_round=False)
    for size in (1, 3, 1000):
        ledger, facts = played(timing, Stream(concurrency=5, buffer_size=2), size, prelude)
        assert ledger.on_grid("preludes", 99)[-1] == 1
        assert facts["gradient_evaluations"] == facts["steps_done"] + 10


def played(
    timing: Timing, dispatch: Dispatch, size: int = 1 << 20, prelude: Prelude | None = None
) -> tuple[Ledger, dict[str, Any]]:
    """A plan and its ledger, vectors of one byte."""
    scheduler = Scheduler(timing, dispatch)
    ledger = Ledger(timing.clients, dispatch, EvenGrid(NANOSECONDS), Hindsight(scheduler), prelude=prelude)
    chunk = scheduler.next(size)
    ledger.add(chunk, scheduler)
    while not chunk.done:
        chunk = scheduler.next(size)
        ledger.add(chunk, scheduler)
    return ledger, ledger.totals(scheduler, LOPSIDED, 1).as_dict()


def test_a_run_bills_a_stream_by_direction() -> None:
    """The plan is FedBuff's where messages take no time; only the bytes are others."""
    quiet = ("network={}", "budget.seconds=3")
    plain, lopsided = (run(cls(concurrency=5, buffer_size=4), *quiet) for cls in (FedBuff, LopsidedStream))
    for name in ("inputs", "plan", "model"):
        assert plain.digests.as_dict()[name] == lopsided.digests.as_dict()[name], name
    a, b = plain.ledger, lopsided.ledger
    assert a.bytes_down == b.bytes_down
    assert 3 * a.bytes_up == b.bytes_up > 0
    assert b.bytes_wasted - a.bytes_wasted == 2 * (a.bytes_up - a.jobs_consumed * VECTOR) > 0
    assert lopsided.curves["bytes"][-1] == b.bytes_down + b.bytes_up


def interrupt(version: int, seconds: float, evaluated: object) -> None:
    if version == 2:
        raise KeyboardInterrupt


def test_workers_waves_and_resuming_change_no_digest(tmp_path: Path) -> None:
    wanted = run(Lopsided(), "budget.seconds=15")
    assert run(Lopsided(), "budget.seconds=15", workers=2, wave_size=1).digests == wanted.digests
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(Lopsided(), "budget.seconds=15", store=store, progress=interrupt)
    again = run(Lopsided(), "budget.seconds=15", store=store, resume=True)
    assert again.digests == wanted.digests
    assert again.ledger == wanted.ledger
    assert np.array_equal(again.curves["bytes"], wanted.curves["bytes"])
