"""Batch normalisation in a run: whose buffers a job starts from, what it leaves, how the server
averages, and resuming."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedbench import kernels as k
from fedbench import registry
from fedbench.algorithms.fedavg import FedAvg
from fedbench.engine.evaluate import Evaluator
from fedbench.engine.replies import Replies
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.base import Assignment, Snapshot, Workload
from fedbench.engine.trainers.torch.one_by_one import TorchTrainer
from fedbench.engine.verify import verify
from fedbench.kernels.random import draw_batches
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.scenarios.partition import iid
from fedbench.tasks.layers import AvgPool2d, BatchNorm2d, Conv2d, Flatten, Linear, MaxPool2d, ReLU, Residual
from fedbench.types import Job, LocalRule, Reply, State, Vector, Work

from .conftest import digits_as_images

BLOCK = Residual((Conv2d(4, 4, 3, padding=1, bias=False), BatchNorm2d(4)))
LAYERS = (Conv2d(1, 4, 3, bias=False), BatchNorm2d(4), ReLU(), BLOCK, ReLU(), AvgPool2d(2), Flatten(), Linear(36, 10))


@pytest.fixture(scope="module")
def trainer() -> TorchTrainer:
    task = digits_as_images(LAYERS)
    return TorchTrainer(Workload(task, iid(len(task.dataset.train), 4, 0), batch_size=7, seed=3))


@pytest.fixture(scope="module")
def start(trainer: TorchTrainer) -> Vector:
    return trainer.task.model.x0(0)


USED = np.concatenate([np.linspace(-1, 1, 4), np.linspace(0.5, 2, 4)] * 2).astype(np.float32)
"""Buffers that a server may have come to."""


def by_hand(x: Vector, buffers: Vector) -> nn.Sequential:
    """Plain torch with these values."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.relu(self.body(x) + x)

    first = [nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU()]
    module = nn.Sequential(*first, Block(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(36, 10))
    nn.utils.vector_to_parameters(torch.tensor(x), module.parameters())
    for buffer, part in zip(kept(module), torch.split(torch.tensor(buffers), 4), strict=True):
        buffer.copy_(part)
    return module


def kept(module: nn.Module) -> list[torch.Tensor]:
    return [buffer for name, buffer in module.named_buffers() if "num_batches" not in name]


def train(trainer: TorchTrainer, job: Job, rule: LocalRule) -> Work:
    return trainer.train([Assignment(job, rule, USED)])[0]


def test_buffers_are_averaged_with_weights_that_sum_to_one() -> None:
    """Those of an unbiased sum of progress have another sum, and a variance is no progress."""
    replies, job = Replies(State(x=np.zeros(1))), Job(client=0, k=0, base=0, steps=1)
    for index, value in enumerate((1.0, 4.0)):
        replies.put(index, job, Reply(delta=np.zeros(1)), Work(delta=np.zeros(1), end=np.zeros(1), buffers=np.array([value])))
    entries = np.array([0, 1, 1])
    for scale in (1.0, 0.5, 3.0):
        assert replies.buffers(entries, scale * np.array([0.5, 0.25, 0.25])) == pytest.approx([2.5], rel=1e-15)


def test_a_job_trains_and_moves_the_buffers_as_plain_torch_does(trainer: TorchTrainer, start: Vector) -> None:
    work = train(trainer, Job(2, 5, 0, 9), LocalRule(start=start, lr=0.05))
    module = by_hand(start, USED)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.05)
    shard, data = trainer.shards[2], trainer.task.dataset.train
    rows, offsets = draw_batches(3, 2, 5, len(shard), 7, 9)
    for begin, end in itertools.pairwise(offsets.tolist()):
        chosen = shard[rows[begin:end]]
        optimiser.zero_grad()
        F.cross_entropy(module(torch.from_numpy(data.x[chosen])), torch.from_numpy(data.y[chosen])).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    assert np.allclose(work.end, nn.utils.parameters_to_vector(module.parameters()).detach(), rtol=1e-4, atol=1e-6)
    assert np.allclose(work.buffers, torch.cat(kept(module)), rtol=1e-4, atol=1e-6)
    assert np.abs(work.buffers - USED).max() > 0.1


def test_evaluation_uses_the_buffers_and_leaves_them(trainer: TorchTrainer, start: Vector) -> None:
    buffers, test = USED.copy(), trainer.task.dataset.test
    metrics = Evaluator(trainer).metrics([Snapshot(start, buffers)])[0]
    with torch.no_grad():
        logits = by_hand(start, USED).eval()(torch.from_numpy(test.x))
    assert metrics["test_loss"] == pytest.approx(F.cross_entropy(logits, torch.from_numpy(test.y)).item(), rel=1e-5)
    assert Evaluator(trainer).metrics([Snapshot(start, trainer.initial_buffers())])[0]["test_loss"] != pytest.approx(
        metrics["test_loss"], rel=1e-2
    )
    assert Evaluator(trainer).metrics([Snapshot(start, buffers)])[0] == metrics
    assert buffers.tobytes() == USED.tobytes()


def test_full_gradients_are_at_the_start_with_its_buffers(trainer: TorchTrainer, start: Vector) -> None:
    """Not with those that the job's steps have left."""
    work = train(trainer, Job(2, 5, 0, 9), LocalRule(start=start, lr=0.05, wants=("full_gradient",)))
    (expected,), (other,) = (list(trainer.gradients([2], start, buffers)) for buffers in (USED, work.buffers))
    assert work.full_gradient.tobytes() == expected.tobytes()
    assert not np.allclose(expected, other, rtol=1e-2)


def test_a_forward_at_the_anchor_does_not_count(trainer: TorchTrainer, start: Vector) -> None:
    standing = LocalRule(start=start, lr=0.0)
    a, b = (train(trainer, Job(1, 0, 0, 3), rule) for rule in (standing, replace(standing, anchor=-start)))
    assert a.buffers.tobytes() == b.buffers.tobytes() != USED.tobytes()


def test_without_steps_the_buffers_are_those_of_the_base(trainer: TorchTrainer, start: Vector) -> None:
    assert train(trainer, Job(0, 0, 0, 0), LocalRule(start=start, lr=0.1)).buffers.tobytes() == USED.tobytes()


@pytest.mark.parametrize("layers", [LAYERS, (Conv2d(1, 3, 1), MaxPool2d(2), ReLU(), Flatten(), Linear(48, 10))], ids=["", "last"])
def test_a_plain_rule_takes_a_short_way_to_the_same_bits(layers: Any) -> None:
    """Also where torch's gradients of convolutions lie channels last."""
    task = digits_as_images(layers)
    trainer = TorchTrainer(Workload(task, [np.arange(40)], batch_size=7, seed=3))
    assert trainer.x.channels_last == (len(layers) == 5)
    plain, buffers = LocalRule(start=task.model.x0(1), lr=0.1, weight_decay=0.01), trainer.initial_buffers()
    rules = (plain, replace(plain, correction=np.zeros_like(plain.start)))
    a, b = (trainer.train([Assignment(Job(0, 0, 0, 20), rule, buffers)])[0] for rule in rules)
    assert a.end.tobytes() == b.end.tobytes() != plain.start.tobytes()


# ---- runs


@pytest.fixture
def spec(monkeypatch: pytest.MonkeyPatch) -> RunSpec:
    task = digits_as_images(LAYERS)
    monkeypatch.setattr("fedbench.engine.data.load_task", lambda name, model: task)
    settings = ["clients=8", "budget.seconds=6", "local.steps=3", "partition={kind: iid}"]
    return RunSpec(load("digits-demo", settings), registry.algorithm("fedbuff[buffer_size=3,concurrency=5]"), 0)


def test_the_server_averages_the_buffers_of_an_update(spec: RunSpec) -> None:
    run = Run(spec)
    trainer = run.backend
    execution = run._execution()
    averages: list[Vector] = []
    works: list[list[Work]] = []
    inner = trainer.train

    def spy(wave: Any) -> list[Work]:
        works.append(inner(wave))
        return works[-1]

    trainer.train = spy  # type: ignore[method-assign]

    class Watch:
        def before_update(self, *_: Any) -> None:
            pass

        def after_update(self, execution: Any, version: int, time_ns: int) -> None:
            averages.append(execution.buffers)

    chunk = run.setup.scheduler().next()
    execution.wave_size = 1
    execution.run([chunk], [Watch()])
    trainer.close()
    first = [work.buffers for (work,) in works[:3]]
    assert len({b.tobytes() for b in first}) == 3
    assert averages[0].tobytes() == k.weighted_sum(np.full(3, 1 / 3), first).tobytes()
    assert len({a.tobytes() for a in averages}) == len(averages) > 10


def interrupt(version: int, seconds: float, evaluated: object) -> None:
    """Ctrl-C after the fourth update."""
    if version == 4:
        raise KeyboardInterrupt


def test_workers_waves_and_resuming_change_no_digest(spec: RunSpec, tmp_path: Path) -> None:
    wanted = Run(spec).record()
    assert wanted.final.test_accuracy > 0.2
    for options in (RunOptions(workers=2), RunOptions(wave_size=1)):
        assert Run(spec, options=options).record().digests == wanted.digests
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        Run(spec, store, progress=interrupt).record()
    resumed = Run(spec, store, RunOptions(resume=True, workers=2)).record()
    assert resumed.digests == wanted.digests
    assert all(np.array_equal(resumed.curves[name], wanted.curves[name]) for name in wanted.curves)
    assert verify(resumed).verdict == "identical"


# ---- a client that is drawn twice


@pytest.fixture
def repeating(spec: RunSpec) -> RunSpec:
    """Rounds of five draws with replacement out of three clients: every round has a client more
    than once."""
    scenario = load("digits-demo", ["clients=3", "budget.seconds=6", "local.steps=3", "partition={kind: iid}"])
    return RunSpec(scenario, FedAvg(cohort_size=5, sampling="with_replacement"), 0)


def test_a_client_drawn_twice_runs_once_and_its_buffers_count_twice(repeating: RunSpec) -> None:
    run = Run(repeating)
    trainer = run.backend
    execution = run._execution()
    buffers: dict[int, Vector] = {}
    inner = trainer.train

    def spy(wave: Any) -> list[Work]:
        works = inner(wave)
        buffers.update({a.job.client: work.buffers for a, work in zip(wave, works, strict=True) if a.job.base == 0})
        return works

    trainer.train = spy  # type: ignore[method-assign]
    chunk = run.setup.scheduler().next()
    drawn = chunk.client[chunk.entries[: chunk.offsets[1]]].tolist()
    averages: list[Vector] = []

    class Watch:
        def before_update(self, *_: Any) -> None:
            pass

        def after_update(self, execution: Any, version: int, time_ns: int) -> None:
            averages.append(execution.buffers)

    execution.run([chunk], [Watch()])
    trainer.close()
    assert len(drawn) == 5 > len(set(drawn)) == len(buffers) > 1
    assert averages[0].tobytes() == k.weighted_sum(np.full(5, 1 / 5), [buffers[client] for client in drawn]).tobytes()
    mean = np.mean([buffers[client] for client in set(drawn)], axis=0)
    assert not np.allclose(averages[0], mean, rtol=1e-3)  # which each client would count in once


def test_repeated_clients_with_buffers_change_no_digest_either(repeating: RunSpec, tmp_path: Path) -> None:
    """And a run that is resumed evaluates with the buffers that it had, also at the grid points
    before its next update."""
    wanted = Run(repeating).record()
    assert wanted.ledger.participation_max > 5
    for options in (RunOptions(workers=2), RunOptions(wave_size=1), RunOptions(wave_bytes=1)):
        assert Run(repeating, options=options).record().digests == wanted.digests
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        Run(repeating, store, progress=interrupt).record()
    resumed = Run(repeating, store, RunOptions(resume=True)).record()
    assert resumed.digests == wanted.digests
    assert resumed.ledger == wanted.ledger
    assert all(np.array_equal(resumed.curves[name], wanted.curves[name]) for name in wanted.curves)
