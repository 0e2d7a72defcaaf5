"""Jobs side by side as stacked tensors: each is the torch trainer's job, and never knows its
neighbours.

On torch's CPU device always; `pytest -m gpu` makes the same checks on a GPU.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from fedbench.engine.evaluate import Evaluator
from fedbench.engine.public import PublicData
from fedbench.engine.trainers.base import Assignment, Snapshot, Workload
from fedbench.engine.trainers.counted import operations
from fedbench.engine.trainers.torch import blocks
from fedbench.engine.trainers.torch import replica as torch_replica
from fedbench.engine.trainers.torch.blocks import Asked, Entry, blocks_of, turns_of
from fedbench.engine.trainers.torch.card import Step
from fedbench.engine.trainers.torch.device import deterministic
from fedbench.engine.trainers.torch.lanes import Lanes
from fedbench.engine.trainers.torch.one_by_one import TorchTrainer
from fedbench.engine.trainers.torch.replica import Replica
from fedbench.engine.trainers.torch.stacked import StackedTrainer
from fedbench.errors import ClientError, UsageError
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.tasks import cifar
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.layers import BatchNorm2d, Conv2d, Flatten, Linear
from fedbench.tasks.model_library import make_model
from fedbench.tasks.task import Task
from fedbench.types import Job, LocalRule, Vector, Work

from .conftest import NETWORKS, digits_as_images

TASKS = {name: digits_as_images(layers) for name, layers in NETWORKS.items()}
SHARDS = [np.arange(0, 40), np.arange(40, 59), np.arange(60, 63), np.arange(100, 114)]
"""Batches of 7: five and one of 5; two and one of 5; one of 3, all that there is; two."""
PUBLIC = np.arange(3, 1400, 100)
STEPS = [9, 4, 6, 0, 1, 9, 3]


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("skipped: no GPU")
    return str(request.param)


@pytest.fixture
def stacked(device: str) -> Iterator[Callable[..., StackedTrainer]]:
    """stacked(task, **options), five lanes wide unless told otherwise."""
    made: list[StackedTrainer] = []

    def make(task: Task, shards: Any = SHARDS, **options: Any) -> StackedTrainer:
        made.append(StackedTrainer(workload(task, shards, options), device=device, **({"lanes": 5} | options)))
        return made[-1]

    yield make
    for trainer in made:
        trainer.close()


def workload(task: Task, shards: Any, options: dict[str, Any]) -> Workload:
    """Takes what belongs to it out of the options."""
    named = {name: options.pop(name) for name in ("batch_size", "seed", "public") if name in options}
    return Workload(task, shards, **({"batch_size": 7, "seed": 3} | named))


def one_by_one(task: Task, wave: list[Assignment], shards: Any = SHARDS, **options: Any) -> list[Work]:
    trainer = TorchTrainer(workload(task, shards, options), **options)
    works = trainer.train(wave)
    trainer.close()
    return works


def buffers_of(task: Task, dtype: Any, job: int) -> Vector:
    """Such as a server may have come to, others for every job."""
    return task.model.buffers0(dtype) + np.asarray(
        RandomStream(job, Purpose.evaluation).uniform(task.model.buffers0().size), dtype
    )


def wave_of(task: Task, dtype: Any, rule: dict[str, Any], steps: list[int]) -> list[Assignment]:
    """Jobs of four clients from different models; vectors of the rule are given as seeds."""

    def vector(job: int, seed: int) -> Vector:
        return task.model.x0(100 * job + seed, dtype)

    wave = []
    for i, count in enumerate(steps):
        own = {name: vector(i, value) if name in ("correction", "anchor") else value for name, value in rule.items()}
        fields = {"lr": 0.1} | own
        job = Job(i % len(SHARDS), i, 0, count)
        wave.append(Assignment(job, LocalRule(start=vector(i, 0), **fields), buffers_of(task, dtype, i)))
    return wave


RULES: dict[str, dict[str, Any]] = {
    "plain": {},
    "momentum": {"momentum": 0.9},
    "decay": {"weight_decay": 0.1},
    "prox": {"prox": 0.5},
    "l1 squared": {"prox": 0.01, "prox_form": "l1_squared"},
    "correction": {"correction": 1},
    "anchor": {"anchor": 2},
    "adamw": {"optimizer": "adamw", "weight_decay": 0.1, "lr": 0.01},
    "all": {"momentum": 0.5, "weight_decay": 0.1, "prox": 0.2, "correction": 1, "anchor": 2},
}
WANTS = ("first_gradient", "mean_gradient", "full_gradient", "public_logits")
FIELDS = ("delta", "end", "buffers", *WANTS)


def close(got: Any, want: Any, tolerance: float) -> bool:
    """Relative to the largest element."""
    return bool(np.abs(np.subtract(got, want, dtype=np.float64)).max(initial=0) <= tolerance * np.abs(want).max(initial=1e-3))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("model", NETWORKS)
def test_a_job_is_the_torch_trainers_job(stacked: Any, model: str, rule: str) -> None:
    """Every field of a rule, in float64 over many steps: unequal numbers of them, unequal and short
    batches, more jobs than lanes."""
    task = TASKS[model]
    wave = wave_of(task, np.float64, RULES[rule] | {"wants": WANTS}, STEPS)
    works = stacked(task, dtype=np.float64, public=task.dataset.train.x[PUBLIC]).train(wave)
    for i, (got, want) in enumerate(
        zip(works, one_by_one(task, wave, dtype=np.float64, public=task.dataset.train.x[PUBLIC]), strict=True)
    ):
        for field in FIELDS:
            a, b = getattr(got, field), getattr(want, field)
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            assert close(a, b, 1e-10), (i, field)
        assert (np.abs(got.delta).max() > 1e-3) == (STEPS[i] > 0)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("model", NETWORKS)
def test_a_step_in_float32(stacked: Any, model: str, rule: str) -> None:
    """One: after many, a ReLU or a maximum that is decided otherwise parts the two for good. The
    first step of AdamW is about the sign of the gradient, so that where it is as small as its own
    rounding nothing can be compared."""
    task = TASKS[model]
    wave = wave_of(task, np.float32, RULES[rule] | {"wants": WANTS}, [1] * 6)
    for got, want in zip(
        stacked(task, public=task.dataset.train.x[PUBLIC]).train(wave),
        one_by_one(task, wave, dtype=np.float32, public=task.dataset.train.x[PUBLIC]),
        strict=True,
    ):
        known = np.abs(want.mean_gradient) > 1e-5 if rule == "adamw" else np.ones(want.delta.shape, bool)
        assert known.mean() > 0.1
        for field in FIELDS:
            a, b = getattr(got, field), getattr(want, field)
            assert a.dtype == np.float32
            assert close(*((a[known], b[known]) if field in ("delta", "end") else (a, b)), 1e-5 if rule != "adamw" else 1e-3), (
                field
            )


def noise(name: str, shape: tuple[int, ...]) -> Task:
    """The library's model, on random images."""
    x = np.asarray(RandomStream(1, Purpose.evaluation).normal(120 * int(np.prod(shape))), np.float32).reshape(-1, *shape)
    examples = Examples(x, np.arange(120) % 10)
    return Task("noise", make_model(name, shape, 10), Dataset("noise", examples, examples, 10))


@pytest.mark.parametrize(
    ("name", "shape"), [("cnn_21840", (1, 28, 28)), ("cnn_582026", (1, 28, 28)), ("cnn_878538", (3, 32, 32))]
)
def test_cnns_of_the_library(stacked: Any, name: str, shape: tuple[int, ...]) -> None:
    """In float64, since a ReLU or a maximum is decided alike there. The last with augmented
    images."""
    task = replace(noise(name, shape), augmentation=cifar.AUGMENTATION if shape[0] == 3 else None)
    wave = wave_of(task, np.float64, {"wants": ("mean_gradient",)}, [2, 1, 1])
    options: dict[str, Any] = {"shards": SHARDS[:3], "dtype": np.float64}
    for got, want in zip(stacked(task, lanes=3, **options).train(wave), one_by_one(task, wave, **options), strict=True):
        assert close(got.mean_gradient, want.mean_gradient, 1e-10)
        assert close(got.delta, want.delta, 1e-10)


@pytest.mark.parametrize("model", NETWORKS)
def test_jobs_do_not_depend_on_the_wave(stacked: Any, model: str) -> None:
    """Nor on their order, and so not on their lane: the same bits alone, by threes, all at once and
    shuffled."""
    task = TASKS[model]
    wave = wave_of(task, np.float32, RULES["all"] | {"wants": WANTS}, STEPS)
    trainer = stacked(task, public=task.dataset.train.x[PUBLIC])

    def bits(works: list[Work]) -> list[bytes]:
        return [b"".join(getattr(work, field).tobytes() for field in FIELDS) for work in works]

    together = bits(trainer.train(wave))
    assert len(set(together)) == len(wave)
    for size in (1, 3):
        parts = [bits(trainer.train(wave[i : i + size])) for i in range(0, len(wave), size)]
        assert list(itertools.chain(*parts)) == together
    for seed in range(3):
        order = random.Random(seed).sample(range(len(wave)), len(wave))
        assert bits(trainer.train([wave[i] for i in order])) == [together[i] for i in order]


@given(steps=st.lists(st.integers(0, 9), min_size=1, max_size=40), lanes=st.integers(1, 6))
def test_a_free_lane_takes_the_next_job(steps: list[int], lanes: int) -> None:
    """Every job once, one after another in a lane, and no lane idle before the last job has
    begun."""
    wave = [Assignment(Job(0, i, 0, count), LocalRule(start=np.zeros(1), lr=0.1), np.zeros(0)) for i, count in enumerate(steps)]
    run: Any = None
    (block,) = blocks_of([Entry(Asked(run, wave), at) for at in range(len(wave))], 6)
    turns = turns_of(block, lanes)
    assert sorted(turn.entry.at for turn in turns) == [*range(len(steps))]
    assert [turn.lane for turn in turns if turn.place == 0] == [*range(min(lanes, len(steps)))]
    for lane in range(lanes):
        mine = [turn for turn in turns if turn.lane == lane]
        assert [turn.begin for turn in mine] == [0, *(turn.end for turn in mine)][: len(mine)]
    last, end = max(turn.begin for turn in turns), max(turn.end for turn in turns)
    assert last <= sum(steps) / lanes
    assert end - last <= max(steps)


def test_lanes_are_filled_again(stacked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve jobs in five lanes take 11 steps, one more than their sum says; by fives, each as long
    as its longest, they would take 14. What a first step leaves is that of its own job."""
    made: list[Step] = []
    step = Step.make
    monkeypatch.setattr(Step, "make", lambda self: made.append(self) or step(self))
    task, steps = TASKS["mlp"], [9, 2, 7, 1, 5, 6, 3, 8, 2, 4, 1, 2]
    rule = RULES["momentum"] | {"wants": ("first_gradient",)}
    works = stacked(task).train(wave := wave_of(task, np.float32, rule, steps))
    assert len(made) == 11
    for one, work in zip(wave, works, strict=True):
        (alone,) = stacked(task).train([replace(one, job=replace(one.job, steps=1))])
        assert work.first_gradient.tobytes() == alone.first_gradient.tobytes()


def test_a_long_wave_goes_in_parts(stacked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the batches of few jobs are drawn at a time."""
    task = TASKS["mlp"]
    wave = wave_of(task, np.float32, RULES["all"] | {"wants": WANTS}, STEPS)
    trainer = stacked(task, lanes=2, public=task.dataset.train.x[PUBLIC])
    want = [work.end.tobytes() for work in trainer.train(wave)]
    monkeypatch.setattr(blocks, "STEPS_OF_A_LANE", 8)
    assert [len(block) for block in blocks_of([Entry(Asked(trainer, wave), at) for at in range(7)], 2)] == [2, 5]
    assert [work.end.tobytes() for work in trainer.train(wave)] == want


def test_a_job_that_diverges_spoils_no_other(stacked: Any) -> None:
    task = TASKS["residual"]
    wave = wave_of(task, np.float32, {"wants": ("mean_gradient",)}, [6, 6, 6])
    trainer = stacked(task)
    wild = replace(wave[1], rule=replace(wave[1].rule, start=np.full_like(wave[1].rule.start, np.nan)))
    works = trainer.train([wave[0], wild, wave[2]])
    assert [np.isfinite(work.end).all() for work in works] == [True, False, True]
    for got, want in zip(works[::2], trainer.train(wave)[::2], strict=True):
        assert got.end.tobytes() == want.end.tobytes()
        assert got.mean_gradient.tobytes() == want.mean_gradient.tobytes()


def test_rules_of_several_forms_in_a_wave(stacked: Any) -> None:
    task = TASKS["mlp"]
    waves = [wave_of(task, np.float64, RULES[rule], STEPS) for rule in ("plain", "momentum", "anchor", "plain")]
    mixed = [wave[i] for i in range(len(STEPS)) for wave in waves]
    mixed[3] = replace(mixed[3], rule=replace(mixed[3].rule, lr=0.01))
    works = stacked(task, dtype=np.float64).train(mixed)
    for got, want in zip(works, one_by_one(task, mixed, dtype=np.float64), strict=True):
        assert close(got.end, want.end, 1e-10)


def test_the_rest_is_the_torch_trainers(stacked: Any) -> None:
    """Metrics, full gradients, public rows and the server's student, dropout and buffers
    included."""
    task = TASKS["residual"]
    x, buffers = task.model.x0(4), buffers_of(task, np.float32, 1)
    a, b = (
        stacked(task, public=task.dataset.train.x[PUBLIC]),
        TorchTrainer(Workload(task, SHARDS, batch_size=7, seed=3, public=task.dataset.train.x[PUBLIC])),
    )
    assert Evaluator(a).metrics([Snapshot(x, buffers)])[0] == pytest.approx(
        Evaluator(b).metrics([Snapshot(x, buffers)])[0], rel=1e-5
    )
    assert Evaluator(a).parts(x, buffers).client_accuracy == pytest.approx(
        Evaluator(b).parts(x, buffers).client_accuracy, rel=1e-5
    )
    assert a.initial_buffers().tobytes() == b.initial_buffers().tobytes()
    for got, want in zip(*(trainer.gradients([3, 0], x, buffers) for trainer in (a, b)), strict=True):
        assert close(got, want, 1e-5)
    for version in (1, 1, 2):
        for training in (True, False):
            (got, pull), (want, wanted) = (
                PublicData(t).logits(x, buffers, np.arange(5), version, training=training) for t in (a, b)
            )
            assert close(got, want, 1e-5)
            assert close(pull(np.ones_like(got)), wanted(np.ones_like(want)), 1e-5)
    b.close()


def test_a_model_is_loaded_once_to_be_evaluated(stacked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for every batch; and again after another one."""
    task, seen, load = TASKS["cnn"], [], Replica.load
    trainer = stacked(task)
    monkeypatch.setattr(Replica, "load", lambda self, x, buffers: seen.append(x) or load(self, x, buffers))
    models = [Snapshot(task.model.x0(seed), trainer.initial_buffers()) for seed in (1, 2)]
    assert len(task.dataset.train) > 2 * trainer.part
    found = trainer.train_scores(models)
    assert [x is model.x for x, model in zip(seen, models, strict=True)] == [True, True]
    assert len(trainer.test_logits(models)) == len(seen) - 2 == 2
    assert np.array_equal(trainer.train_scores(models[:1])[0], found[0])
    assert not np.array_equal(found[0], found[1])


def test_a_replica_holds_what_was_loaded_last(stacked: Any) -> None:
    task = TASKS["mlp"]
    with stacked(task)._borrowed() as replica:
        model, x, none = object(), task.model.x0(1), task.model.buffers0()
        replica.hold(model, x, none)
        replica.load(task.model.x0(2), none)
        replica.hold(model, x, none)
        assert np.array_equal(replica.flat.cpu().numpy(), x)


def test_settings_of_torch_are_left_as_they_were(stacked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And its generators untouched; while it computes no kernel may add in any order."""
    task = TASKS["cnn"]
    trainer, seen = stacked(task, public=task.dataset.train.x[PUBLIC]), []
    for owner, name in ((Lanes, "backward"), (Replica, "load"), (torch_replica, "answer")):
        watched = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, inner=watched: seen.append(settings()) or inner(*given))
    generator, before = torch.get_rng_state(), settings()
    x, buffers = task.model.x0(0), trainer.initial_buffers()
    uses: list[Callable[[], Any]] = [
        lambda: trainer.train(wave_of(task, np.float32, {"wants": WANTS}, [1])),
        lambda: Evaluator(trainer).metrics([Snapshot(x, buffers)])[0],
        lambda: list(trainer.gradients([0], x, buffers)),
        lambda: PublicData(trainer).logits(x, buffers, np.arange(3), 0, training=True)[1](np.ones((3, 10), np.float32)),
    ]
    for use in uses:
        seen.clear()
        use()
        assert set(seen) == {(True, False, False, True, False, False)}
        assert settings() == before != seen[0]
    assert torch.equal(torch.get_rng_state(), generator)
    with pytest.raises(ZeroDivisionError), deterministic():
        1 / 0  # noqa: B018
    assert settings() == before


def settings() -> tuple[bool, ...]:
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    new: Any = torch.utils.deterministic
    return (
        torch.are_deterministic_algorithms_enabled(),
        cudnn.benchmark,
        cudnn.allow_tf32,
        cudnn.deterministic,
        matmul.allow_tf32,
        new.fill_uninitialized_memory,
    )


def test_a_product_before_the_setting_is_one_line(stacked: Any) -> None:
    """What torch raises then, acted: in a job and elsewhere."""
    told = "this operation is not deterministic because it uses CuBLAS. You must set CUBLAS_WORKSPACE_CONFIG=:4096:8\nor .."
    line = r"^device cuda: torch made a product on the GPU before .*; start Python again with \S+=:4096:8 in its environment$"
    before = settings()
    with pytest.raises(UsageError, match=line), deterministic():
        raise RuntimeError(told)
    trainer, wave = stacked(TASKS["mlp"]), wave_of(TASKS["mlp"], np.float32, {}, [2])

    def refuse(*_: object) -> None:
        raise RuntimeError(told)

    trainer.card.lanes.backward = refuse
    with pytest.raises(UsageError, match=line):
        trainer.train(wave)
    assert settings() == before


class Operations(TorchDispatchMode):
    """Counts the operations of torch that compute or copy: each is a launch on a GPU, or
    several."""

    VIEWS = (
        *(
            "view",
            "expand",
            "permute",
            "transpose",
            "squeeze",
            "detach",
            "select",
            "slice",
            "split",
            "alias",
            "empty",
            "as_strided",
        ),
        *("t", "_unsafe_view", "_reshape_alias", "unsqueeze", "empty_like", "new_empty", "split_with_sizes", "unbind"),
    )

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = function._schema.name.removeprefix("aten::")
        if name not in self.VIEWS:
            self.names.append(name)
        return function(*args, **(kwargs or {}))


def operations_of_a_step(task: Task, jobs: int) -> list[str]:
    """Returns those of a step: orders and masks are drawn for all steps at once, and left out."""
    trainer, found = StackedTrainer(Workload(task, SHARDS, batch_size=7, seed=0), device="cpu"), []
    for steps in (1, 2, 3):  # the first makes the memory of the others
        with Operations() as seen:
            trainer.train(wave_of(task, np.float32, {}, [steps] * jobs))
        found.append(Counter(seen.names))
    trainer.close()
    assert not found[1] - found[2]
    return [*(found[2] - found[1]).elements()]


@pytest.mark.parametrize(("name", "most"), [("softmax", 8), ("mlp", 14), ("symbols", 23), ("cnn", 28), ("residual", 125)])
def test_the_operations_of_a_step(name: str, most: int) -> None:
    """No more than today, also for two jobs side by side; and no fewer than `plan` counts."""
    for jobs in (1, 2):
        count = len(operations_of_a_step(TASKS[name], jobs))
        assert operations(TASKS[name].layered) <= count <= most
        assert count == operations(TASKS[name].layered) or name in ("symbols", "residual")


def test_the_operations_of_a_cnn_with_dropout() -> None:
    """39 where there were 69. Some are two launches on a GPU: the bias is copied first, and the
    slopes before a pool are set to 0."""
    names = operations_of_a_step(noise("cnn_21840", (1, 28, 28)), 1)
    assert len(names) == operations(noise("cnn_21840", (1, 28, 28)).layered) == 39
    assert sum(name in ("baddbmm", "max_pool2d_with_indices_backward") for name in names) == 6


def test_a_failing_job_names_itself(stacked: Any) -> None:
    trainer, wave = stacked(TASKS["mlp"]), wave_of(TASKS["mlp"], np.float32, {}, [2, 2, 2])
    short = replace(wave[1], rule=replace(wave[1].rule, start=wave[1].rule.start[:-1]))
    with pytest.raises(ClientError, match=r"client 1, job k=1 \(base version 0, 2 steps\), local training: ValueError"):
        trainer.train([wave[0], short, wave[2]])
    with pytest.raises(ClientError, match=r"client 9, job k=1 .*, local training: IndexError"):
        trainer.train([wave[0], replace(wave[1], job=Job(9, 1, 0, 2))])
    trainer.card.lanes.backward = None
    with pytest.raises(ClientError, match=r"client 0, job k=0 .*, local training together with 2 other jobs: TypeError"):
        trainer.train(wave)
    with pytest.raises(UsageError, match=r"momentum: adamw has its own, expected 0, got 0\.9"):
        trainer.train(wave_of(TASKS["mlp"], np.float32, {"optimizer": "adamw", "momentum": 0.9}, [1]))


def test_a_batch_that_cannot_be_normalised_is_refused(stacked: Any) -> None:
    """As torch itself does."""
    task = digits_as_images((Conv2d(1, 4, 8), BatchNorm2d(4), Flatten(), Linear(4, 10)))
    shards = [np.arange(8), np.arange(9)]
    wave = wave_of(task, np.float32, {}, [2, 2])
    stacked(task, shards).train(wave[1:])
    for train in (stacked(task, shards).train, lambda jobs: one_by_one(task, jobs, shards)):
        with pytest.raises(ClientError, match=r"client 0, job k=0 .* ValueError: .*more than (1|one) value"):
            train(wave)
