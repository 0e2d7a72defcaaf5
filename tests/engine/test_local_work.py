"""Schedules of the rate, clipping, label smoothing and momentum: steps by hand, and the same bits
everywhere."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedbench as fb
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.engine.plan import plan
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.base import Assignment, Workload
from fedbench.engine.verify import verify
from fedbench.errors import UsageError
from fedbench.kernels.random import draw_batches
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.scenarios.local_parts import LocalPart
from fedbench.tasks import digits
from fedbench.types import Array, Job, LocalRule, Message, Vector

SMALL = ["clients=6", "budget.seconds=4", "local.steps=6", "task.model=softmax"]
BUFFERED = "fedbuff[buffer_size=2]"
SHARD, SEED = np.arange(40), 3
LOCAL: dict[str, dict[str, Any]] = {
    "clipped": {"clip_norm": 0.2},
    "clipped at times": {"clip_norm": 1.4},
    "smoothed": {"label_smoothing": 0.3},
    "falling": {"schedule": {"kind": "exponential", "decay": 0.5, "by": "local_step"}},
    "heavy ball": {"momentum": 0.9},
    "nesterov": {"momentum": 0.9, "nesterov": True, "clip_norm": 1.4},
    "all": {"clip_norm": 0.3, "label_smoothing": 0.1, "schedule": {"kind": "cosine", "until": 5, "by": "local_step"}},
}
RULES: dict[str, dict[str, Any]] = {
    "plain": {},
    "momentum": {"momentum": 0.9, "weight_decay": 0.1},
    "anchor": {"anchor": 1, "prox": 0.5},
}


def gradient(y: Vector, x: Array, labels: Array, local: LocalPart) -> Vector:
    """Of the mean cross-entropy of softmax regression, whose targets are (1 - e) onehot + e / C."""
    C, D = 10, x.shape[1]
    logits = x @ y[: C * D].reshape(C, D).T + y[C * D :]
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    e = local.label_smoothing
    away = (p - (1 - e) * np.eye(C)[labels] - e / C) / len(labels)
    g = np.concatenate([(away.T @ x).ravel(), away.sum(0)])
    norm = np.sqrt((g * g).sum())
    return g * (local.clip_norm / norm) if local.clip_norm is not None and norm > local.clip_norm else g


def by_hand(job: Job, rule: LocalRule, local: LocalPart) -> Vector:
    train = digits.load("softmax").dataset.train
    rows, offsets = draw_batches(SEED, job.client, job.k, len(SHARD), 7, job.steps)
    y, u = rule.start.copy(), np.zeros_like(rule.start)
    for step, (begin, end) in enumerate(itertools.pairwise(offsets.tolist())):
        batch = SHARD[rows[begin:end]]
        x, labels = train.x[batch].reshape(len(batch), -1).astype(np.float64), train.y[batch]
        h = gradient(y, x, labels, local)
        if rule.anchor is not None:
            h = h - gradient(rule.anchor, x, labels, local)
        h = h + rule.weight_decay * y
        momentum = local.momentum or rule.momentum
        u = momentum * u + h
        way = h + momentum * u if local.nesterov else u
        y = y - rule.lr * local.factor_of_step(step) * (way + rule.prox * (y - rule.start))
    return y


@pytest.mark.extra("torch")
@pytest.mark.parametrize("side_by_side", [False, True], ids=["one by one", "side by side"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", LOCAL)
def test_steps_by_hand(name: str, rule: str, side_by_side: bool) -> None:
    from fedbench.engine.trainers.torch.one_by_one import TorchTrainer
    from fedbench.engine.trainers.torch.stacked import StackedTrainer

    local, task = LocalPart.model_validate({"steps": 6} | LOCAL[name]), digits.load("softmax")
    workload = Workload(task, [SHARD, SHARD], 7, SEED, local=local)
    trainer = (
        StackedTrainer(workload, dtype=np.float64, device="cpu", lanes=3)
        if side_by_side
        else TorchTrainer(workload, dtype=np.float64)
    )
    fields = {key: task.model.x0(9, np.float64) if key == "anchor" else value for key, value in RULES[rule].items()}
    if local.momentum:  # takes the place of the rule's
        fields.pop("momentum", None)
    wave = [
        Assignment(Job(i, i, 0, steps), LocalRule(start=task.model.x0(i, np.float64), lr=0.5, **fields), np.empty(0))
        for i, steps in enumerate((6, 3))
    ]
    works = trainer.train(wave)
    trainer.close()
    moved = 0.0
    for work, assignment in zip(works, wave, strict=True):
        expected = by_hand(assignment.job, assignment.rule, local)
        np.testing.assert_allclose(work.end, expected, rtol=0, atol=1e-12)
        moved = max(moved, float(np.abs(expected - by_hand(assignment.job, assignment.rule, LocalPart(steps=6))).max()))
    if (name, rule) != ("smoothed", "anchor"):  # in g(y) - g(anchor), smoothing cancels out
        assert moved > 1e-3, "the key makes a difference"


@pytest.mark.extra("torch")
@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_is_that_of_torch(nesterov: bool) -> None:
    import torch
    from torch import nn

    from fedbench.engine.trainers.torch.one_by_one import TorchTrainer

    task, local = digits.load("softmax"), LocalPart(steps=20, momentum=0.8, nesterov=nesterov)
    job, start = Job(0, 0, 0, 20), task.model.x0(0, np.float64)
    trainer = TorchTrainer(Workload(task, [SHARD], 7, SEED, local=local), dtype=np.float64)
    (work,) = trainer.train([Assignment(job, LocalRule(start=start, lr=0.1, weight_decay=0.01), np.empty(0))])
    trainer.close()
    train, layer = task.dataset.train, nn.Linear(64, 10).double()
    nn.utils.vector_to_parameters(torch.from_numpy(start), layer.parameters())
    optimizer = torch.optim.SGD(layer.parameters(), 0.1, momentum=0.8, weight_decay=0.01, nesterov=nesterov)
    rows, offsets = draw_batches(SEED, 0, 0, len(SHARD), 7, job.steps)
    for begin, end in itertools.pairwise(offsets.tolist()):
        batch = SHARD[rows[begin:end]]
        optimizer.zero_grad()
        logits = layer(torch.from_numpy(train.x[batch].reshape(len(batch), -1)).double())
        nn.functional.cross_entropy(logits, torch.from_numpy(train.y[batch])).backward()
        optimizer.step()
    end_of_torch = nn.utils.parameters_to_vector(layer.parameters()).detach().numpy()
    np.testing.assert_allclose(work.end, end_of_torch, rtol=0, atol=1e-13)


@pytest.mark.extra("torch")
def test_momentum_in_local_is_that_of_the_option() -> None:
    """Also in a run, for every algorithm that is not refused."""
    (shared,) = fb.run("digits-demo", BUFFERED, overrides=[*SMALL, "local.momentum=0.9"])
    (own,) = fb.run("digits-demo", "fedbuff[buffer_size=2,momentum=0.9]", overrides=SMALL)
    (nesterov,) = fb.run("digits-demo", BUFFERED, overrides=[*SMALL, "local.momentum=0.9", "local.nesterov=true"])
    assert shared.digests.model == own.digests.model != nesterov.digests.model
    assert shared.run_id != own.run_id


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ("fednova[cohort_size=3]", "it weighs the gradients of a job as SGD does"),
        ("asysg", "its clients send the first gradient and make no use of steps"),
        ("fedbuff[momentum=0.5]", "its local rule uses momentum"),
        ("fedbuff[optimizer=adamw]", "its local rule uses adamw"),
    ],
)
def test_algorithms_that_momentum_would_make_wrong(selector: str, why: str) -> None:
    with pytest.raises(
        UsageError, match=rf"^algorithm \w+ is not applicable: {why}, and local.momentum 0.9 takes the place of plain SGD$"
    ):
        fb.plan("digits-demo", selector, overrides=[*SMALL, "local.momentum=0.9", "local.nesterov=true"])


@pytest.mark.extra("torch")
def test_full_gradients_are_smoothed_and_not_clipped() -> None:
    from fedbench.engine.trainers.torch.one_by_one import TorchTrainer

    task, local = digits.load("softmax"), LocalPart(steps=6, clip_norm=1e-3, label_smoothing=0.3)
    train, x = task.dataset.train, task.model.x0(0, np.float64)
    trainer = TorchTrainer(Workload(task, [SHARD], 7, SEED, local=local), dtype=np.float64)
    (found,) = trainer.gradients([0], x, np.empty(0))
    trainer.close()
    features = train.x[SHARD].reshape(len(SHARD), -1).astype(np.float64)
    smoothed = local.model_copy(update={"clip_norm": None})
    np.testing.assert_allclose(found, gradient(x, features, train.y[SHARD], smoothed), rtol=0, atol=1e-12)


@dataclass(frozen=True, kw_only=True)
class Falling(FedBuff):
    """Has the factors of a table, by the base version of a job."""

    name = "falling"

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        return self.rule(message.x, lr=self.local_lr * (1.0 if job.base < 3 else 0.25 if job.base < 7 else 2.0))


def test_the_rate_is_that_of_the_version_which_a_client_received() -> None:
    table = "local.schedule={kind: table, at: [0, 3, 7], factors: [1, 0.25, 2]}"
    (scheduled,) = fb.run("digits-demo", BUFFERED, overrides=[*SMALL, table])
    (own,) = fb.run("digits-demo", Falling(buffer_size=2), overrides=SMALL)
    (plain,) = fb.run("digits-demo", BUFFERED, overrides=SMALL)
    assert scheduled.ledger.staleness_max > 0
    assert scheduled.ledger.updates > 8
    assert scheduled.digests.model == own.digests.model != plain.digests.model
    assert scheduled.digests.plan == plain.digests.plan
    assert scheduled.provenance.trainer == "native"


def test_a_factor_of_one_is_no_factor() -> None:
    (one,) = fb.run("digits-demo", BUFFERED, overrides=[*SMALL, "local.schedule={kind: table, at: [0], factors: [1]}"])
    (plain,) = fb.run("digits-demo", BUFFERED, overrides=SMALL)
    assert one.digests.model == plain.digests.model
    assert one.run_id != plain.run_id


KEYS = {
    "exponential": ["local.schedule={kind: exponential, decay: 0.9}"],
    "by step": ["local.schedule={kind: step, decay: 0.5, every: 2, by: local_step}"],
    "others": ["local.clip_norm=0.5", "local.label_smoothing=0.1"],
    "nesterov": ["local.momentum=0.9", "local.nesterov=true"],
}


@pytest.mark.extra("torch")
@pytest.mark.parametrize("keys", KEYS)
def test_the_same_bits_however_a_run_is_computed(keys: str, tmp_path: Path) -> None:
    spec = RunSpec(load("digits-demo", [*SMALL, *KEYS[keys]]), FedBuff(buffer_size=2), 0)
    record = Run(spec).record()
    for options in (RunOptions(workers=4), RunOptions(workers=2, wave_size=1), RunOptions(wave_size=3)):
        assert Run(spec, options=options).record().digests == record.digests

    def interrupt(version: int, seconds: float, evaluated: object) -> None:
        if seconds > 2:
            raise KeyboardInterrupt

    store = Store(tmp_path)
    store.prepare()
    with pytest.raises(KeyboardInterrupt):
        Run(spec, store, RunOptions(checkpoint_seconds=0), interrupt).record()
    assert Run(spec, store, RunOptions(resume=True)).record().digests == record.digests
    assert verify(record).verdict == "identical"


@pytest.mark.extra("torch")
def test_evaluated_losses_are_plain() -> None:
    smooth, plain = (
        Run(
            RunSpec(load("digits-demo", [*SMALL, *more]), FedBuff(buffer_size=2), 0), options=RunOptions(trainer="torch")
        ).record()
        for more in (["local.label_smoothing=0.5"], [])
    )
    for name in ("test_loss", "train_loss"):
        assert smooth.curves[name][0] == plain.curves[name][0]
    assert smooth.digests.model != plain.digests.model


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        (["local.clip_norm=0.5"], "the scenario has local.clip_norm=0.5"),
        (["local.label_smoothing=0.1"], "the scenario has local.label_smoothing=0.1"),
        (KEYS["by step"], "the scenario has local.schedule.by=local_step"),
        (KEYS["nesterov"], "the scenario has local.momentum=0.9 and local.nesterov=True"),
        (KEYS["others"], "the scenario has local.clip_norm=0.5 and local.label_smoothing=0.1"),
    ],
)
def test_the_trainer_is_torch_and_says_why(keys: list[str], why: str) -> None:
    spec = RunSpec(load("digits-demo", [*SMALL, *keys]), FedBuff(buffer_size=2), 0)
    planned = plan(spec)
    assert (planned.trainer, planned.trainer_reason) == ("torch", f"{why}, which the native trainer does not take")
    with pytest.raises(UsageError, match=r"^trainer native: the scenario has local\..*; use --trainer torch$"):
        Run(spec, options=RunOptions(trainer="native")).record()


def test_fednova_takes_one_rate_for_a_job() -> None:
    """Its weights of gradients would be wrong."""
    for keys, selector in ((KEYS["by step"], "fednova[cohort_size=3]"), (KEYS["exponential"], "fednova[cohort_size=3,prox=0.1]")):
        with pytest.raises(UsageError, match=r"^algorithm fednova is not applicable: it weighs .* only by: version and prox=0"):
            fb.plan("digits-demo", selector, overrides=[*SMALL, *keys])
    assert fb.plan("digits-demo", "fednova[cohort_size=3]", overrides=[*SMALL, *KEYS["exponential"]]).updates > 0
    assert fb.plan("digits-demo", "fednova[cohort_size=3,prox=0.1]", overrides=[*SMALL, *KEYS["others"]]).updates > 0


def test_a_scaled_rule_is_the_rule_but_for_its_rate() -> None:
    from fedbench.engine.trainers.base import checked_rule

    rule = LocalRule(start=np.zeros(2, np.float32), lr=0.5, momentum=0.9)
    assert checked_rule(rule, np.dtype(np.float32), (2,)) is rule
    assert checked_rule(rule, np.dtype(np.float32), (2,), 0.5).lr == replace(rule, lr=0.25).lr
