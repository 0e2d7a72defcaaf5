"""The torch trainer against the reference: step by step the same rule, in float32."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedbench.engine.evaluate import Evaluator
from fedbench.engine.trainers.base import Assignment, Snapshot, Workload
from fedbench.engine.trainers.reference import ReferenceTrainer
from fedbench.engine.trainers.torch.one_by_one import TorchTrainer
from fedbench.errors import ClientError
from fedbench.tasks.layers import Dropout, Flatten, Linear
from fedbench.tasks.models import Model
from fedbench.tasks.task import Task
from fedbench.types import Job, LocalRule

from .conftest import digits_softmax

NONE = np.empty(0, np.float32)


@pytest.fixture(scope="module")
def pair() -> tuple[TorchTrainer, ReferenceTrainer]:
    """Softmax regression on digits, four clients, as a torch module and as numpy formulas."""
    task, shards, _, problem = digits_softmax()
    return (
        TorchTrainer(Workload(task, shards, batch_size=7, seed=3), workers=2),
        ReferenceTrainer(problem, dtype="float32", seed=3, batch_size=7),
    )


START = np.linspace(-0.1, 0.1, 650, dtype=np.float32)
RULES: dict[str, dict[str, Any]] = {
    "plain": {},
    "momentum": {"momentum": 0.9},
    "decay": {"weight_decay": 0.1},
    "prox": {"prox": 0.5},
    "l1 squared": {"prox": 0.01, "prox_form": "l1_squared"},
    "correction": {"correction": np.full(650, 0.01, np.float32)},
    "anchor": {"anchor": START[::-1].copy()},
    "adamw": {"optimizer": "adamw", "weight_decay": 0.1, "lr": 0.01},
    "all": {"momentum": 0.5, "weight_decay": 0.1, "prox": 0.2, "correction": START, "anchor": START},
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("steps", [0, 1, 60])
def test_every_field_of_the_rule_means_the_same(pair: Any, name: str, steps: int) -> None:
    """60 steps of 7 on about 360 examples cross an epoch and use its short last batch."""
    wants = ("first_gradient", "mean_gradient", "full_gradient")
    rule = LocalRule(start=START, **({"lr": 0.1, "wants": wants} | RULES[name]))
    a, b = (trainer.train([Assignment(Job(2, 5, 0, steps), rule, NONE)])[0] for trainer in pair)
    assert a.delta.dtype == np.float32
    for field in ("delta", "end", *wants):
        got, want = getattr(a, field), getattr(b, field)
        assert np.allclose(got, want, rtol=2e-4, atol=2e-6), field
    assert steps == 0 or np.abs(a.delta).max() > 1e-3


def test_full_gradients_of_clients(pair: Any) -> None:
    for got, want in zip(*(trainer.gradients([3, 1], START, NONE) for trainer in pair), strict=True):
        assert np.allclose(got, want, rtol=1e-4, atol=1e-6)


def test_full_gradients_know_no_dropout(pair: Any) -> None:
    """Also that of a job whose steps had it."""
    plain: TorchTrainer = pair[0]
    dataset = plain.task.dataset
    task = Task("digits", Model("dropped", dataset.shape, (Flatten(), Dropout(0.5), Linear(64, 10))), dataset)
    dropped = TorchTrainer(Workload(task, plain.shards, batch_size=7, seed=3))
    job = Assignment(Job(2, 5, 0, 3), LocalRule(start=START, lr=0.1, wants=("full_gradient",)), NONE)
    a, b = (trainer.train([job])[0] for trainer in (dropped, plain))
    assert not np.allclose(a.end, b.end, rtol=1e-3)
    assert np.allclose(a.full_gradient, b.full_gradient, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", RULES)
def test_what_a_rule_wants_changes_no_bit(pair: Any, name: str) -> None:
    """A plain rule takes a shorter way where nobody wants to see its gradients."""
    trainer: TorchTrainer = pair[0]
    rule = LocalRule(start=START, **({"lr": 0.1} | RULES[name]))
    a, b = (trainer.train([Assignment(Job(2, 5, 0, 60), replace(rule, wants=w), NONE)])[0] for w in ((), ("mean_gradient",)))
    assert a.end.tobytes() == b.end.tobytes()


def test_jobs_do_not_depend_on_the_wave(pair: Any) -> None:
    trainer: TorchTrainer = pair[0]
    jobs = [Assignment(Job(i % 4, i, 0, 5), LocalRule(start=START * (1 + i), lr=0.1), NONE) for i in range(9)]
    together = [work.end.tobytes() for work in trainer.train(jobs)]
    alone = [trainer.train([job])[0].end.tobytes() for job in reversed(jobs)][::-1]
    assert together == alone


def test_evaluation_by_hand(pair: Any) -> None:
    trainer: TorchTrainer = pair[0]
    test = trainer.task.dataset.test
    W, b = START[:640].reshape(10, 64).astype(np.float64), START[640:]
    logits = test.x @ W.T + b
    metrics = Evaluator(trainer).metrics([Snapshot(START, NONE)])[0]
    assert metrics["test_accuracy"] == (logits.argmax(1) == test.y).mean()
    loss = np.log(np.exp(logits).sum(1)) - logits[np.arange(len(test.y)), test.y]
    assert metrics["test_loss"] == pytest.approx(loss.mean(), rel=1e-5)
    right = logits.argmax(1) == test.y
    by_class = np.array([right[test.y == c].mean() for c in range(10)])
    shares = np.bincount(trainer.task.dataset.train.y[trainer.shards[1]], minlength=10)
    assert Evaluator(trainer).parts(START, NONE).client_accuracy[1] == pytest.approx(shares @ by_class / shares.sum())


def test_a_failing_job_names_itself(pair: Any) -> None:
    rule = LocalRule(start=START[:-1], lr=0.1)
    with pytest.raises(ClientError, match=r"client 1, job k=4 \(base version 2, 3 steps\), local training: ValueError"):
        pair[0].train([Assignment(Job(1, 4, 2, 3), rule, NONE)])
