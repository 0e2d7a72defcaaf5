"""The native trainer against torch and the reference: the same work, metrics and public logits from
the same assignment."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from fedbench.engine.evaluate import Evaluator
from fedbench.engine.public import PublicData
from fedbench.engine.trainers.base import SERVER, Assignment, Snapshot, Workload
from fedbench.engine.trainers.native import NativeTrainer, layer_specs
from fedbench.engine.trainers.reference import ReferenceTrainer
from fedbench.engine.trainers.torch.one_by_one import TorchTrainer
from fedbench.errors import ClientError, UsageError
from fedbench.kernels.random import Purpose, RandomStream, draw_batches
from fedbench.kernels.train import LocalJob, LocalTrainer, Rule
from fedbench.tasks import digits
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.layers import Flatten, Linear, MaxPool2d
from fedbench.tasks.model_library import make_model
from fedbench.tasks.models import Model
from fedbench.tasks.task import Task
from fedbench.tasks.torch_model import build, flatten_parameters
from fedbench.types import Job, LocalRule

from .conftest import digits_softmax

NONE = np.empty(0, np.float32)
WANTS = ("first_gradient", "mean_gradient", "full_gradient")


def near(got: Any, want: Any, tolerance: float) -> bool:
    """Whether the distance is within the tolerance times the length of `want`."""
    return bool(np.linalg.norm(np.subtract(got, want, dtype=np.float64)) <= tolerance * np.linalg.norm(want))


# ---- softmax regression, which all three can do


@pytest.fixture(scope="module")
def trio() -> tuple[NativeTrainer, TorchTrainer, ReferenceTrainer]:
    """On digits, four clients, with rows 3, 13, 23, .. public."""
    task, shards, public, problem = digits_softmax()
    return (
        NativeTrainer(Workload(task, shards, batch_size=7, seed=3, public=task.dataset.train.x[public]), workers=2),
        TorchTrainer(Workload(task, shards, batch_size=7, seed=3, public=task.dataset.train.x[public]), workers=1),
        ReferenceTrainer(problem, dtype="float32", seed=3, batch_size=7),
    )


START = np.linspace(-0.1, 0.1, 650, dtype=np.float32)
RULES: dict[str, dict[str, Any]] = {
    "plain": {},
    "decay": {"weight_decay": 0.1},
    "prox": {"prox": 0.5},
    "correction": {"correction": np.full(650, 0.01, np.float32)},
    "anchor": {"anchor": START[::-1].copy()},
    "all": {"lr": 0.05, "weight_decay": 0.1, "prox": 0.2, "correction": START[::-1].copy(), "anchor": 2 * START},
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("steps", [0, 1, 60])
def test_every_field_of_the_rule_means_the_same(trio: Any, name: str, steps: int) -> None:
    """60 steps of 7 on about 360 examples cross an epoch and use its short last batch. A convex
    model: K steps are comparable."""
    rule = LocalRule(start=START, **({"lr": 0.1, "wants": (*WANTS, "public_logits")} | RULES[name]))
    native, *others = (trainer.train([Assignment(Job(2, 5, 0, steps), rule, NONE)])[0] for trainer in trio)
    assert native.delta.dtype == np.float32
    assert np.array_equal(native.delta, native.end - START)
    for other, field in itertools.product(others, ("end", *WANTS, "public_logits")):
        assert near(getattr(native, field), getattr(other, field), 1e-5), field
    assert (np.abs(native.delta).max() > 1e-3) == (steps > 0)
    assert native.server_seconds > 0


def test_by_products_come_when_they_are_wanted(trio: Any) -> None:
    for wants in ((), ("first_gradient",), ("public_logits",)):
        work = trio[0].train([Assignment(Job(2, 5, 0, 3), LocalRule(start=START, lr=0.1, wants=wants), NONE)])[0]
        for name in {*WANTS, "public_logits"} - set(wants):
            with pytest.raises(KeyError, match=f"work has no {name}"):
                getattr(work, name)
        assert all(getattr(work, name).any() for name in wants)
        assert (work.server_seconds > 0) == ("public_logits" in wants)


def test_full_gradients_of_clients(trio: Any) -> None:
    found = [list(trainer.gradients([3, 1], START, NONE)) for trainer in trio]
    for native, torch_one, reference in zip(*found, strict=True):
        assert near(native, torch_one, 1e-5)
        assert near(native, reference, 1e-5)


def test_public_logits_and_their_pullback(trio: Any) -> None:
    rows, slope = np.array([5, 0, 139, 5]), np.linspace(-1, 1, 40, dtype=np.float32).reshape(4, 10)
    (native, pull_native), *others = (PublicData(t).logits(START, NONE, rows, 0, training=False) for t in trio)
    gradient = pull_native(slope)
    for logits, pullback in others:
        assert near(native, logits, 1e-6)
        assert near(gradient, pullback(slope), 1e-6)
    assert {trainer.public_shape for trainer in trio} == {(140, 10)}
    batches = [np.concatenate(list(PublicData(trainer).batches(6, 50, None))).tolist() for trainer in trio]
    assert batches[0] == batches[1] == batches[2]


def test_a_pullback_is_of_the_last_call(trio: Any) -> None:
    public = PublicData(trio[0])
    _, early = public.logits(START, NONE, np.arange(3), 0, training=False)
    public.logits(START, NONE, np.arange(3), 0, training=False)
    with pytest.raises(RuntimeError, match="this pullback is of an earlier call"):
        early(np.ones((3, 10), np.float32))


def test_no_public_data_no_logits() -> None:
    trainer = NativeTrainer(Workload(digits.load("softmax"), [np.arange(9)], batch_size=7, seed=3))
    with pytest.raises(UsageError, match="needs unlabelled public examples, and there are none"):
        _ = trainer.public_shape


def test_metrics(trio: Any) -> None:
    native, torch_one, _ = trio
    a, b = (Evaluator(trainer).metrics([Snapshot(START, NONE)])[0] for trainer in (native, torch_one))
    assert a["test_accuracy"] == b["test_accuracy"]
    assert a == pytest.approx(b, rel=1e-6)
    assert Evaluator(native).parts(START, NONE).client_accuracy == pytest.approx(
        Evaluator(torch_one).parts(START, NONE).client_accuracy, rel=1e-12
    )


def test_jobs_do_not_depend_on_the_wave(trio: Any) -> None:
    jobs = [Assignment(Job(i % 4, i, 0, 5 * i), LocalRule(start=START * (1 + i), lr=0.1), NONE) for i in range(9)]
    together = [work.end.tobytes() for work in trio[0].train(jobs)]
    alone = [trio[0].train([job])[0].end.tobytes() for job in reversed(jobs)][::-1]
    assert together == alone


@pytest.mark.parametrize(
    ("change", "term"),
    [
        ({"momentum": 0.5}, "momentum"),
        ({"optimizer": "adamw"}, "adamw"),
        ({"prox": 0.1, "prox_form": "l1_squared"}, "l1_squared"),
    ],
)
def test_a_term_that_it_does_not_take_is_refused(trio: Any, change: dict[str, Any], term: str) -> None:
    """Before any job of the wave starts; an l1 form without a prox is nothing."""
    rule = LocalRule(start=START, lr=0.1, **change)
    with pytest.raises(
        UsageError,
        match=rf"trainer native: the local rule of client 1, job k=4 \(base version 2, 3 steps\) uses {term}, .*rule_terms, or run",
    ):
        trio[0].train([Assignment(Job(1, 4, 2, 3), rule, NONE)])
    trio[0].train([Assignment(Job(1, 4, 2, 3), LocalRule(start=START, lr=0.1, prox_form="l1_squared"), NONE)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": START[:-1]}, r"TypeError: start: expected length 650, got float32 \(649,\)"),
        ({"start": START.astype(np.float64)}, r"TypeError: start: expected float32 \(d,\) C-contiguous, got float64 \(650,\)"),
        ({"correction": START[:3]}, r"TypeError: correction: expected length 650, got float32 \(3,\)"),
        ({"lr": "fast"}, "RuntimeError: Unable to cast"),
    ],
)
@pytest.mark.parametrize("at", [0, 2])
def test_a_job_that_the_core_refuses_is_named(trio: Any, change: dict[str, Any], message: str, at: int) -> None:
    """Whatever its place in the wave, as the torch trainer has it; the trainer goes on to work."""
    good = LocalRule(start=START, lr=0.1, wants=WANTS)
    wave = [Assignment(Job(i, 4 + i, 2, 3), replace(good, **change) if i == at else good, NONE) for i in range(4)]
    with pytest.raises(
        ClientError, match=rf"^client {at}, job k={4 + at} \(base version 2, 3 steps\), local training.*{message}"
    ):
        trio[0].train(wave)
    assert len(trio[0].train([one for one in wave if one.rule is good])) == 3


def test_an_error_of_no_job_stays_as_it_is(trio: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as memory that the threads do not get: the jobs are taken one by one."""
    whole = trio[0].core.train

    def no_room(jobs: list[LocalJob]) -> None:
        if len(jobs) > 1:
            raise MemoryError("no room")
        whole(jobs)

    monkeypatch.setattr(trio[0].core, "train", no_room)
    with pytest.raises(MemoryError, match=r"^no room$"):
        trio[0].train([Assignment(Job(i, 0, 0, 3), LocalRule(start=START, lr=0.1), NONE) for i in range(2)])


def test_public_logits_that_fail_are_of_a_job(trio: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: Any) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(trio[0].core, "logits", no_room)
    with pytest.raises(ClientError, match=r"client 1, job k=4 \(base version 2, 3 steps\), by-products: MemoryError: no room"):
        trio[0].train([Assignment(Job(1, 4, 2, 3), LocalRule(start=START, lr=0.1, wants=("public_logits",)), NONE)])


# ---- every library model

LIBRARY = ["softmax", "mlp", "cnn_21840", "cnn_582026"]


def tiny_task(name: str) -> Task:
    """A library model on 36 random images with random labels."""
    random = np.random.default_rng(0)
    x, y = random.standard_normal((36, 1, 28, 28)).astype(np.float32), random.integers(0, 10, 36)
    some = Examples(x, y)
    return Task("tiny", make_model(name, (1, 28, 28), 10), Dataset("tiny", some, some, 10))


@pytest.fixture(scope="module", params=LIBRARY)
def both(request: pytest.FixtureRequest) -> tuple[NativeTrainer, TorchTrainer]:
    task, shards, public = tiny_task(request.param), [np.arange(13), np.arange(13, 30)], np.arange(30, 36)
    return (
        NativeTrainer(Workload(task, shards, batch_size=5, seed=1, public=task.dataset.train.x[public]), workers=2),
        TorchTrainer(Workload(task, shards, batch_size=5, seed=1, public=task.dataset.train.x[public]), workers=1),
    )


def test_library_models_step_by_step(both: Any) -> None:
    """Single steps from common states, since K steps of a CNN are not comparable in float32;
    dropout and all by-products."""
    y, errors = both[0].workload.task.model.x0(0), []
    for k in range(10):
        rule = LocalRule(start=y, lr=0.1, weight_decay=0.01, wants=(*WANTS, "public_logits"))
        native, other = (trainer.train([Assignment(Job(k % 2, k, 0, 1), rule, NONE)])[0] for trainer in both)
        errors.append(
            max(np.linalg.norm(getattr(native, f) - getattr(other, f)) / np.linalg.norm(getattr(other, f)) for f in WANTS)
        )
        assert near(native.public_logits, other.public_logits, 1e-4)
        assert near(native.end, y - np.float32(0.1) * native.first_gradient, 1e-6)
        y = native.end
    assert np.median(errors) <= 1e-5
    assert sorted(errors)[-2] <= 1e-4


def test_library_models_in_float64(both: Any) -> None:
    """Nine steps and a short batch; torch's module gets masks from the job's stream."""
    task, shard = both[0].workload.task, np.arange(13)
    module = build(task.model, torch.float64).train()
    flat = torch.from_numpy(task.model.x0(0, np.float64))
    gradient = flatten_parameters(module, flat)
    module.set_masks(RandomStream(1, Purpose.dropout, 0, 4))
    x, labels = torch.tensor(task.dataset.train.x, dtype=torch.float64), torch.tensor(task.dataset.train.y)
    rows, offsets = draw_batches(1, 0, 4, 13, 5, 9)
    start = flat.numpy().copy()
    for begin, end in itertools.pairwise(offsets.tolist()):
        batch = torch.tensor(shard[rows[begin:end]])
        F.cross_entropy(module(x[batch]), labels[batch]).backward()
        flat.add_(gradient, alpha=-0.1)
        gradient.zero_()
    native = LocalTrainer(layer_specs(task.model), x.numpy(), labels.numpy(), seed=1, batch_size=5)
    got = np.empty_like(start)
    native.train([LocalJob(0, 4, 9, shard, Rule(start, 0.1), got)])
    assert near(got - start, flat.numpy() - start, 1e-10)


def test_library_models_evaluate_alike(both: Any) -> None:
    x0 = both[0].workload.task.model.x0(7)
    a, b = (Evaluator(trainer).metrics([Snapshot(x0, NONE)])[0] for trainer in both)
    assert a == pytest.approx(b, rel=1e-5)
    for native, other in zip(*(trainer.gradients([1, 0], x0, NONE) for trainer in both), strict=True):
        assert near(native, other, 1e-5)
    assert both[0].initial_buffers().size == 0


def test_library_models_as_students_in_training(both: Any) -> None:
    """Three calls of a version go on in one stream of masks, with calls in evaluation between;
    another version has its own."""
    x0, slope = both[0].workload.task.model.x0(7), np.linspace(-1, 1, 40, dtype=np.float32).reshape(4, 10)
    for version, training, rows in (
        (3, True, [0, 5, 2, 1]), (3, False, [0, 1, 2, 3]), (3, True, [0, 5, 2, 1]), (3, True, [1, 2, 2, 4]), (4, True, [0, 5, 2, 1]),
    ):  # fmt: skip
        (a, pull_a), (b, pull_b) = (PublicData(t).logits(x0, NONE, np.array(rows), version, training=training) for t in both)
        assert near(a, b, 1e-5)
        assert near(pull_a(slope), pull_b(slope), 1e-4)


def test_a_students_masks_are_the_servers(both: Any) -> None:
    """Keyed by seed, server and version: the same in a new trainer, and those of forward in the
    kernel."""
    first, task = both[0], both[0].workload.task
    again = NativeTrainer(Workload(task, first.shards, batch_size=5, seed=1, public=task.dataset.train.x[30:36]))
    rows, x0 = np.arange(4), task.model.x0(7)
    wanted = [PublicData(again).logits(x0, NONE, rows, 9, training=True)[0].tobytes() for _ in range(2)]
    assert [PublicData(first).logits(x0, NONE, rows, 9, training=True)[0].tobytes() for _ in range(2)] == wanted
    assert first.core.forward(x0, first.workload.public_features[rows], 10, (1, SERVER, 9, 0))[0].tobytes() == wanted[0]
    assert (wanted[0] != wanted[1]) == (task.model.name == "cnn_21840")


def test_a_model_of_ones_own() -> None:
    """With a row left over by its pool."""
    some = Examples(np.random.default_rng(0).standard_normal((20, 1, 7, 7)).astype(np.float32), np.arange(20) % 3)
    model = Model("own", (1, 7, 7), (MaxPool2d(2), Flatten(), Linear(9, 3)))
    task = Task("own", model, Dataset("own", some, some, 3))
    start = model.x0(0)
    work, other = (
        kind(Workload(task, [np.arange(20)], batch_size=6, seed=0)).train(
            [Assignment(Job(0, 0, 0, 30), LocalRule(start=start, lr=0.1), NONE)]
        )[0]
        for kind in (NativeTrainer, TorchTrainer)
    )
    assert near(work.delta, other.delta, 1e-5)
