"""Jobs in bulk: the same bits as one by one, into the matrix that the update sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench import registry
from fedbench.algorithms.fedavg import FedAvg
from fedbench.engine import execute
from fedbench.engine.deltas import Deltas
from fedbench.engine.execute import Execution
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.base import Assignment, Columns, Places, Workload
from fedbench.engine.trainers.native import NativeTrainer
from fedbench.errors import ClientError, UsageError
from fedbench.scenarios.load import load
from fedbench.types import Job, LocalRule, Message, Reply, Vector, Work

from .conftest import digits_softmax

BULK = [
    "asysg[cohort_size=3]",
    "ca2fl[buffer_size=5]",
    "defedavg_iid[cohort_size=8]",
    "defedavg_niid[cohort_size=8]",
    "fadas",
    "favano[cohort_size=3,period_seconds=6,max_steps=3]",
    "fedadam",
    "fedavg[cohort_size=9,sampling=with_replacement]",
    "fedbuff[buffer_size=3,weight_decay=0.01]",
    "fedprox[prox=0.3]",
    "fedsgd",
]


class Chunk:
    """Of updates that consume these jobs; None is a job that nobody consumes."""

    def __init__(self, consumed_by: Sequence[int | None]) -> None:
        self.consumed_by = np.array([-1 if update is None else update for update in consumed_by], np.int32)


def filled(deltas: Deltas, jobs: Sequence[int]) -> None:
    """Every job writes its own number."""
    places = deltas.places(np.array(jobs))
    for job, matrix, row in zip(jobs, places.matrix.tolist(), places.row.tolist(), strict=True):
        places.matrices[matrix][row] = job


def test_a_matrix_that_the_update_asks_for_in_order_is_not_copied() -> None:
    deltas = Deltas(Chunk([3, None, 3, 4, 4, 4]), np.zeros(2, np.float32))  # type: ignore[arg-type]
    filled(deltas, [0, 3])
    filled(deltas, [2, 5, 4])
    (written,) = deltas.places(np.array([4])).matrices
    assert deltas.take(3, np.array([2, 0, 2])).tolist() == [[2, 2], [0, 0], [2, 2]]
    assert deltas.take(4, np.array([3, 4, 5])) is written
    assert written.tolist() == [[3, 3], [4, 4], [5, 5]]
    with pytest.raises(KeyError):
        deltas.take(4, np.array([3, 4, 5]))


@given(st.data())
def test_any_order_of_jobs_gives_every_update_its_own(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    updates = [7 + u for u, size in enumerate(sizes) for _ in range(size)]
    for _ in range(data.draw(st.integers(0, 3))):
        updates.insert(data.draw(st.integers(0, len(updates))), None)  # type: ignore[arg-type]
    deltas = Deltas(Chunk(updates), np.zeros(1))  # type: ignore[arg-type]
    jobs = data.draw(st.permutations([i for i, update in enumerate(updates) if update is not None]))
    cut = data.draw(st.integers(0, len(jobs)))
    for wave in (jobs[:cut], jobs[cut:]):
        if wave:
            filled(deltas, wave)
    for update in range(7, 7 + len(sizes)):
        own = [i for i, one in enumerate(updates) if one == update]
        entries = data.draw(st.lists(st.sampled_from(own), min_size=1, max_size=6))
        assert deltas.take(update, np.array(entries))[:, 0].tolist() == entries


def digests(selector: str, **options: Any) -> dict[str, str]:
    spec = RunSpec(load("digits-demo", ("budget.updates=12",)), registry.algorithm(selector), 1)
    digests: dict[str, str] = Run(spec, options=RunOptions(trainer="native", **options)).record().digests.as_dict()
    return digests


@pytest.mark.parametrize("selector", BULK)
def test_the_bits_are_those_of_jobs_one_by_one(selector: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With any waves, workers and memory."""
    in_bulk = [digests(selector), digests(selector, wave_size=2, workers=2), digests(selector, wave_bytes=4000, workers=3)]
    columns = NativeTrainer.train_columns
    calls: list[int] = []

    def counted(self: NativeTrainer, wave: Columns, places: Places) -> None:
        calls.append(len(wave.client))
        columns(self, wave, places)

    monkeypatch.setattr(NativeTrainer, "train_columns", counted)
    assert digests(selector) == in_bulk[0]
    assert sum(calls) > 0
    monkeypatch.setattr(execute, "TrainsColumns", Doubled)  # which no trainer is
    assert {str(one) for one in in_bulk} == {str(digests(selector))}


@pytest.mark.parametrize("selector", ["scaffold", "fedac", "mifa", "fedasync"])
def test_algorithms_with_a_reply_of_their_own_go_job_by_job(selector: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("in bulk")

    monkeypatch.setattr(NativeTrainer, "train_columns", refused)
    digests(selector)


class Doubled(FedAvg):
    """Overrides `local` alone: asked for every job."""

    seen: list[Job] = []  # noqa: RUF012

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        self.seen.append(job)
        return self.rule(message.x if job.client % 2 else message.x.copy(), lr=0.02 * (1 + job.client))


class Told(Doubled):
    """The same, one by one."""

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        return Reply(delta=work.delta)


def test_a_rule_for_every_job() -> None:
    states = []
    for kind in (Doubled, Told):
        spec = RunSpec(load("digits-demo", ("budget.updates=5",)), kind(cohort_size=6), 0)
        run = Run(spec)
        trainer = NativeTrainer(Workload(run.setup.task, run.setup.shards, batch_size=10, seed=0))
        execution = Execution(spec.algorithm, trainer, run.setup.info, run.setup.x0())
        kind.seen.clear()
        execution.run([run.setup.scheduler().next()])
        assert len(kind.seen) == 30
        states.append(execution.state.x.tobytes())
    assert states[0] == states[1]


START = np.linspace(-0.1, 0.1, 650, dtype=np.float32)


def wave_of(*rules: LocalRule, steps: int = 3) -> Columns:
    numbers = np.arange(len(rules), dtype=np.int32)
    return Columns(numbers % 4, 4 + numbers, np.full(len(rules), 2, np.int32), np.full(len(rules), steps, np.int32), rules,
                   np.arange(len(rules)))  # fmt: skip


@pytest.fixture(scope="module")
def trainer() -> NativeTrainer:
    task, shards, _, _ = digits_softmax()
    return NativeTrainer(Workload(task, shards, batch_size=7, seed=3), workers=2)


def test_columns_are_the_jobs_in_any_place(trainer: NativeTrainer) -> None:
    rules = [
        LocalRule(start=START, lr=0.1),
        LocalRule(start=START[::-1], lr=0.1, weight_decay=0.2, prox=0.3, correction=START[::-1]),
        LocalRule(start=2 * START, lr=0.2),
    ]
    wave = wave_of(*rules, rules[0], rules[1])
    places = Places(
        [np.zeros((3, 650), np.float32), np.zeros((4, 650), np.float32)], np.array([1, 0, 1, 0, 0]), np.array([3, 1, 0, 0, 2])
    )
    trainer.train_columns(wave, places)
    works = trainer.train([Assignment(wave.job(j), wave.rules[j], np.empty(0, np.float32)) for j in range(5)])
    for work, matrix, row in zip(works, places.matrix, places.row, strict=True):
        assert places.matrices[matrix][row].tobytes() == work.delta.tobytes()
    assert not places.matrices[1][[1, 2]].any()


@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"start": START[:-1]}, ClientError, r"TypeError: start: expected length 650, got float32 \(649,\)"),
        ({"correction": START.astype(np.float64)}, ClientError, r"TypeError: correction: expected float32"),
        ({"lr": "fast"}, ClientError, "RuntimeError: Unable to cast"),
        ({"momentum": 0.5}, UsageError, r"the local rule of client {at}, job k={k} .* uses momentum, which it does not take"),
    ],
)
def test_a_rule_that_cannot_be_is_of_a_job(trainer: NativeTrainer, at: int, change: Any, error: Any, message: str) -> None:
    good = {"start": START, "lr": 0.1}
    wave = wave_of(*(LocalRule(**(good | change if j == at else good)) for j in range(4)))
    whose = f"client {at}, job k={4 + at} \\(base version 2, 3 steps\\), local training.*" if error is ClientError else ""
    with pytest.raises(error, match=whose + message.format(at=at, k=4 + at)):
        trainer.train_columns(wave, Places([np.zeros((4, 650), np.float32)], np.zeros(4, np.int64), np.arange(4)))
