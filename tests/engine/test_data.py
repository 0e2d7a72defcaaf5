"""What a run learns from and is measured on: validation rows, augmentation, public examples of
another task."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.engine import data as data_module
from fedbench.engine.data import Data, begun
from fedbench.engine.plan import plan
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.engine.verify import verify
from fedbench.errors import UsageError
from fedbench.results.digests import Digest
from fedbench.results.record import Record
from fedbench.scenarios.load import load
from fedbench.shards import Shards
from fedbench.tasks import digits
from fedbench.tasks.augment import CropAndFlip
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.model_library import make_model
from fedbench.tasks.task import Task

SMALL = ["clients=6", "budget.seconds=4", "local.steps=3", "task.model=softmax"]
DIGITS = digits.load("softmax")
SHARE = "validation.share=0.1"


def spec(selector: str, *overrides: str, seed: int = 0) -> RunSpec:
    return RunSpec(load("digits-demo", [*SMALL, *overrides]), registry.algorithm(selector), seed)


def run(selector: str, *overrides: str, seed: int = 0, **options: Any) -> Record:
    return Run(spec(selector, *overrides, seed=seed), options=RunOptions(**options)).record()


def data(*overrides: str, seed: int = 0) -> Data:
    return Data(load("digits-demo", [*SMALL, *overrides]), seed)


def tiny(name: str, shape: tuple[int, ...] = (64,), examples: int = 30, augmentation: CropAndFlip | None = None) -> Task:
    """A task of random examples in three classes."""
    x = np.random.default_rng(len(name)).random((examples, *shape), np.float32)
    some = Examples(x, np.arange(examples) % 3)
    return Task(name, make_model("softmax", shape, 3), Dataset(name, some, some, 3), augmentation)


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> dict[str, Task]:
    """Tasks that are known beside digits."""
    tasks = {"noise": tiny("noise"), "images": tiny("images", (1, 8, 8)), "digits": DIGITS}

    def load_task(name: str, model: str) -> Task:
        return tasks[name] if name in tasks else registry.find("task", name)(model=model)

    monkeypatch.setattr(data_module, "load_task", load_task)
    return tasks


# ---- validation


def test_validation_rows_are_a_share_of_every_class() -> None:
    """And of nothing else: train and validation are disjoint and together the training set; the
    test set is not there at all."""
    one = data(SHARE)
    assert one.validation is not None
    train, held = one.task.dataset.train, one.task.dataset.test
    of_class = [np.bincount(part.y, minlength=10) for part in (DIGITS.dataset.train, train, held)]
    assert of_class[2].tolist() == [round(0.1 * count) for count in of_class[0].tolist()]
    assert np.array_equal(of_class[0], of_class[1] + of_class[2])
    assert np.array_equal(held.x, DIGITS.dataset.train.x[one.validation])
    everything = np.sort(np.concatenate([train.x, held.x]).view("V256").ravel())
    assert np.array_equal(everything, np.sort(DIGITS.dataset.train.x.view("V256").ravel()))


def test_validation_rows_depend_on_the_seed_only() -> None:
    wanted = data(SHARE).validation
    assert np.array_equal(data(SHARE, "partition={kind: iid}", "clients=3").validation, wanted)
    assert not np.array_equal(data(SHARE, seed=1).validation, wanted)


def test_clients_and_server_have_none_of_them() -> None:
    setup = Setup(spec("fedecho", SHARE))
    assert sum(len(rows) for rows in setup.shards) == len(setup.task.dataset.train) - 142
    held = {x.tobytes() for x in setup.task.dataset.test.x} - {x.tobytes() for x in setup.task.dataset.train.x}
    public = setup.data.public
    assert public is not None
    assert held.isdisjoint(x.tobytes() for x in public)


def test_a_run_is_evaluated_on_validation_rows_and_says_so() -> None:
    """The score is that of the final model on them; a record of the test set has another hash, and
    other inputs."""
    record, tested = run("fedavg[cohort_size=3]", SHARE), run("fedavg[cohort_size=3]")
    assert (record.final.evaluated_on, tested.final.evaluated_on) == ("validation", "test")
    held = len(data(SHARE).task.dataset.test)
    right = record.final.test_accuracy * held
    assert right == pytest.approx(round(right))
    assert held != len(DIGITS.dataset.test)
    assert record.run_id != tested.run_id
    assert record.spec.scenario_hash != tested.spec.scenario_hash
    assert record.digests.inputs != tested.digests.inputs
    assert verify(record).verdict == "identical"
    diverged = run("fedavg[cohort_size=3,local_lr=3e38]", SHARE)
    assert (diverged.state, diverged.final.evaluated_on) == ("diverged", "validation")


@pytest.mark.parametrize(("share", "count"), [(1e-6, 0), (0.999999, 1442)])
def test_there_are_some_on_both_sides(share: float, count: int) -> None:
    with pytest.raises(UsageError, match=rf"digits-demo: validation.share .* holds out {count} of 1442 training examples"):
        _ = data(f"validation.share={share}").task


# ---- augmentation


def test_crop_flip_is_for_tasks_that_have_it() -> None:
    with pytest.raises(UsageError, match=r"digits-demo: task.augmentation must be none for task digits, .*, got crop_flip"):
        plan(spec("fedavg", "task.augmentation=crop_flip"))
    assert data("task.augmentation=none").task.augmentation is None
    cifar = ["task.name=cifar10"]
    assert [data(*cifar, *how).outline.is_augmented for how in ([], ["task.augmentation=crop_flip"], ["task.augmentation=none"])] == [
        True, True, False,
    ]  # fmt: skip


def test_without_augmentation_a_task_that_has_one_trains_as_it_is(others: dict[str, Task]) -> None:
    """On images of 1 x 8 x 8: crop_flip is what it does by itself, none is the same task
    without."""
    others["grey"] = tiny("grey", (1, 8, 8), 60, CropAndFlip(1, (0.0,)))

    def trained(how: str) -> str:
        return run("fedavg[cohort_size=3]", "partition={kind: iid}", "public=null", f"task={{name: grey{how}}}").digests.model

    by_itself, none = trained(""), trained(", augmentation: none")
    assert trained(", augmentation: crop_flip") == by_itself
    assert by_itself != none
    others["grey"] = dataclasses.replace(others["grey"], augmentation=None)
    assert trained("") == none


# ---- public examples of another task


@pytest.mark.parametrize(("size", "rows"), [("", 30), (", size: 30", 30), (", size: 12", 12)])
def test_public_examples_come_from_another_task(others: dict[str, Task], size: str, rows: int) -> None:
    """All of its training examples, or some; and the clients keep all of theirs."""
    setup = Setup(spec("fedecho", f"public={{source: noise{size}}}"))
    public = setup.data.public
    assert public is not None
    theirs = [x.tobytes() for x in others["noise"].dataset.train.x]
    found = [theirs.index(x.tobytes()) for x in public]
    assert len(found) == rows
    assert found == sorted(set(found))
    assert sum(len(shard) for shard in setup.shards) == len(DIGITS.dataset.train)
    again = Setup(spec("fedecho", f"public={{source: noise{size}}}", seed=1)).data.public
    assert (rows == 30) == np.array_equal(public, again)


@pytest.mark.parametrize("trainer", ["native", pytest.param("torch", marks=pytest.mark.extra("torch"))])
def test_the_server_learns_from_them(others: dict[str, Task], trainer: str) -> None:
    """Other public examples make another model of the same plan; the digest of the inputs covers
    their features."""
    selector = "fedecho[buffer_size=2,concurrency=4,distill_lr=0.01]"
    wanted = run(selector, "public={source: noise, size: 20}", trainer=trainer)
    assert run(selector, "public={source: noise, size: 20}", trainer=trainer, workers=2).digests == wanted.digests
    digests = [run(selector, "public={source: Digits, size: 20}", trainer=trainer).digests]
    others["noise"] = tiny("another", examples=30)
    digests.append(run(selector, "public={source: noise, size: 20}", trainer=trainer).digests)
    for other in digests:
        assert other.plan == wanted.digests.plan
        assert other.inputs != wanted.digests.inputs
        assert other.model != wanted.digests.model


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("{source: noize}", r"scenario digits-demo, public.source: unknown task 'noize'"),
        ("{source: images}", r"public.source must be a task with examples of shape \(64,\), .* got images, whose .* \(1, 8, 8\)"),
        ("{source: noise, size: 31}", r"digits-demo: public.size must be at most the 30 training examples of the source, got 31"),
    ],
)  # fmt: skip
def test_sources_that_do_not_fit(others: dict[str, Task], part: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run("fedecho", f"public={part}")


def test_ones_own_training_examples_without_validation_rows() -> None:
    """A source that is the task itself: all of its training examples, but none on which the run is
    evaluated."""
    one = data("public={source: digits}", SHARE)
    assert one.public is one.task.dataset.train.x


def test_a_digest_of_shards_is_begun_once_and_goes_on_alone() -> None:
    rows = np.arange(6)
    shards = Shards(rows, np.array([0, 4]), np.array([4, 2]))
    once = begun(shards, in_columns=False)
    once.add(np.ones(3))
    again = begun(shards, in_columns=False)
    assert again.hex() == Digest().add(rows[:4], rows[4:]).hex() != once.hex()
    assert begun(Shards(rows, np.array([0, 3]), np.array([3, 3])), in_columns=False).hex() != again.hex()
