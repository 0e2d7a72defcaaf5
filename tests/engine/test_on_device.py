"""The server on a device: the bits of the host for every algorithm, and nothing of the size of a
model crosses to the host.

The device is emulated, with tensors of the host; `pytest -m gpu` makes the same checks on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.engine import run as runs
from fedbench.engine.execute import Execution
from fedbench.engine.place import Place, computed_on, device_place, on_host
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.base import Assignment, Columns, Places, Workload
from fedbench.engine.trainers.choose import Choice
from fedbench.engine.trainers.reference import ReferenceTrainer
from fedbench.engine.trainers.torch.arrays import TensorArray
from fedbench.engine.trainers.torch.stacked import StackedTrainer
from fedbench.errors import RecordError
from fedbench.kernels.scheduler import Duration, LocalSteps, Scheduler, Timing
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.tables import ClientTable
from fedbench.types import Array, Info, Job, LocalRule, Vector, Work
from fedbench.types.arrays import Kernels
from tests.kernels import emulated
from tests.kernels.test_cuda import on_gpu

from .conftest import NETWORKS, World, digits_as_images
from .test_execute import ALL


@pytest.fixture(params=["emulated", pytest.param("gpu", marks=pytest.mark.gpu)])
def place(request: pytest.FixtureRequest) -> Place:
    if request.param == "emulated":
        return device_place("cpu", emulated_kernels())
    cuda = on_gpu()
    from fedbench.kernels import cuda_later

    return device_place("cuda", Kernels(cuda, cuda_later))


def emulated_kernels() -> Kernels:
    return Kernels(emulated.load().kernels, emulated.later())


@pytest.fixture
def crossed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of every array that went to the host."""
    sizes: list[int] = []
    door = TensorArray.host

    def counted(self: TensorArray) -> Array:
        sizes.append(self.size)
        return door(self)

    monkeypatch.setattr(TensorArray, "host", counted)
    return sizes


def numbers(value: Any) -> Any:
    """What lies on a device, past the door that is counted."""
    return value.tensor.cpu().numpy().copy() if isinstance(value, TensorArray) else value


class OnDevice:
    """The reference trainer, as if it computed on the device."""

    def __init__(self, inner: ReferenceTrainer, place: Place) -> None:
        self.inner, self.place = inner, place

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def train(self, wave: Sequence[Assignment]) -> list[Work]:
        hosted: list[Assignment] = []
        for one in wave:
            start: object = one.rule.start
            assert isinstance(start, TensorArray)
            rule: LocalRule = replace(one.rule, **{name: numbers(value) for name, value in vars(one.rule).items()})
            hosted.append(Assignment(one.job, rule, numbers(one.buffers)))
        return [self.work(one) for one in self.inner.train(hosted)]

    def work(self, done: Work) -> Work:
        more: dict[str, Any] = {name: self.place(value) for name, value in done.by_products.items()}
        return Work(delta=self.place(done.delta), end=self.place(done.end), buffers=self.place(done.buffers), **more)

    def gradients(self, clients: Iterable[int], x: Vector, buffers: Vector) -> Iterator[Vector]:
        yield from map(self.place, self.inner.gradients(clients, numbers(x), numbers(buffers)))


def on_device(world: World, selector: str, place: Place) -> Execution:
    execution: Execution = world.execution(
        registry.algorithm(selector), place=place, trainer=lambda inner: OnDevice(inner, place)
    )
    execution.run(world.chunks(execution.algorithm))
    return execution


def bits(execution: Execution) -> dict[str, bytes]:
    found = {}
    for name, value in execution.state.items():
        for part, array in value.snapshot().items() if isinstance(value, ClientTable) else [("", value)]:
            found[name + part] = np.asarray(numbers(array)).tobytes()
    return found


OTHERS = [
    "fedadagrad[cohort_size=3]",
    "fedyogi[cohort_size=3]",
    "fedqs[buffer_size=3]",
    "fedqs[buffer_size=3,form=model]",
    "port[buffer_size=3]",
    "port[buffer_size=3,span=staleness]",
    "scaffold[cohort_size=4,local_lr=0.05,weight_decay=0.1,init_control=grad,option=1]",
    "aced[start=wait_all,delay_threshold=2]",
]


@pytest.mark.parametrize("selector", [*ALL, *OTHERS])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_server_has_the_bits_of_the_host(
    selector: str, dtype: str, world: Callable[..., World], place: Place, crossed: list[int]
) -> None:
    w = world(dtype=dtype)
    wanted, got = w.run(registry.algorithm(selector)), on_device(w, selector, place)
    assert isinstance(got.state.x, TensorArray)
    assert bits(got) == bits(wanted)
    assert numbers(got.judged().x).tobytes() == wanted.judged().x.tobytes()
    assert all(size == 1 for size in crossed)  # FedQS reads the rate that a client remembers


def test_of_an_update_the_norm_of_its_model_crosses_and_nothing_else(world: Callable[..., World], crossed: list[int]) -> None:
    """Of FedBuff's step nothing does, and no call in it waits. The norm tells whether the model is
    finite."""
    device = emulated.load()
    device.extension.reset()
    on_device(world(updates=12), "fedbuff[buffer_size=3]", device_place("cpu", emulated_kernels()))
    assert crossed == []
    counted = device.extension.counts()
    assert (counted["to_host"], counted["host_waits"]) == (12 * 8, 12)


# ---- whole runs, with the trainer of a device ----

SMALL = ["clients=6", "budget.updates=8", "local.steps=3", "task.model=softmax", "partition={kind: iid}", "public={size: 60}"]


class Side:
    """Makes runs whose trainer is that of a device, and whose server's vectors lie where it is
    told."""

    def __init__(self, patch: pytest.MonkeyPatch, place: Place) -> None:
        self.patch, self.there = patch, place
        device = place(np.zeros(1)).tensor.device  # type: ignore[attr-defined]
        patch.setattr(
            runs, "make_trainer", lambda choice, workload, **others: StackedTrainer(workload, device=str(device), lanes=4)
        )

    def run(self, selector: str, *, on_device: bool, changes: Sequence[str] = (), **more: Any) -> Run:
        self.patch.setattr(runs, "server_place", lambda choice, algorithm: self.there if on_device else on_host)
        store, progress = more.pop("store", None), more.pop("progress", None)
        spec = RunSpec(load("digits-demo", [*SMALL, *changes]), registry.algorithm(selector), 0)
        return Run(spec, store, RunOptions(**more), progress)

    def record(self, selector: str, *, on_device: bool, **more: Any) -> Record:
        return self.run(selector, on_device=on_device, **more).record()


@pytest.fixture
def side(monkeypatch: pytest.MonkeyPatch, place: Place) -> Side:
    return Side(monkeypatch, place)


def same(one: Record, other: Record) -> None:
    assert one.digests == other.digests
    assert one.final == other.final
    assert (one.outcome, one.warnings) == (other.outcome, other.warnings)
    for name, column in one.curves.items():
        assert np.array_equal(column, other.curves[name], equal_nan=column.dtype.kind == "f"), name


FEDECHO = "fedecho[buffer_size=2,concurrency=5,distill_lr=0.001"


RUNS = [
    "fedbuff[buffer_size=2,concurrency=5]",
    "centralised",
    "asysg[cohort_size=2]",
    "scaffold[cohort_size=3,option=1,init_control=grad]",
    "fedagrac[cohort_size=3]",
    "fedlin[local_lr=0.1]",
    "fedqs[buffer_size=2]",
    "local_only",
    f"{FEDECHO}]",
    f"{FEDECHO},teacher=prob_mean,distill_optimizer=sgd,clip_norm=0.01]",
    f"{FEDECHO},adam_state=reset,student=train]",
    "fedecho[buffer_size=2,concurrency=5,local_lr=3e38]",
    "fedbuff[buffer_size=2,local_lr=3e38]",
]


def test_every_algorithm_is_tried() -> None:
    tried = {selector.partition("[")[0] for selector in (*ALL, *OTHERS, *RUNS)}
    assert tried == set(registry.ALGORITHMS)


@pytest.mark.parametrize("selector", RUNS)
def test_a_run_has_the_record_of_a_server_on_the_host(selector: str, side: Side) -> None:
    same(side.record(selector, on_device=True), side.record(selector, on_device=False))


def test_only_the_judged_model_crosses_to_the_host(side: Side, crossed: list[int]) -> None:
    """For the digest of the record: the model and its buffers. Evaluation takes what is there."""
    side.record(f"{FEDECHO}]", on_device=True)
    assert crossed == [650, 0]


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_distillation_waits_for_nothing(steps: int, optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads its loss, its norm and its factor. FedEcho asks twice an update how far it
    moved, and the engine once whether the model is finite: of eight updates."""
    side, extension = Side(monkeypatch, device_place("cpu", emulated_kernels())), emulated.load().extension
    extension.reset()
    side.record(f"{FEDECHO},distill_steps={steps},distill_optimizer={optimizer}]", on_device=True)
    assert (extension.counts()["to_host"], extension.counts()["host_waits"]) == (8 * 24, 24)


@pytest.mark.parametrize("selector", ["scaffold[cohort_size=3]", "ca2fl[buffer_size=2]", f"{FEDECHO}]"])
def test_interrupted_and_resumed(selector: str, side: Side, tmp_path: Path) -> None:
    """State, tables, logits and kept messages come back to the device; the end has the same
    bits."""

    def interrupt(version: int, seconds: float, evaluated: object) -> None:
        if version == 4:
            raise KeyboardInterrupt

    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        side.run(selector, on_device=True, store=store, progress=interrupt).record()
    again = side.run(selector, on_device=True, store=store, resume=True)
    same(again.record(), side.record(selector, on_device=False))


def test_a_checkpoint_of_a_server_on_the_host_is_refused_on_a_device(side: Side, tmp_path: Path) -> None:
    def interrupt(version: int, seconds: float, evaluated: object) -> None:
        raise KeyboardInterrupt

    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        side.run("fedavg[cohort_size=3]", on_device=False, store=store, progress=interrupt).record()
    with pytest.raises(RecordError, match=r"is float32 .*; the run has float32 .* on a device"):
        side.run("fedavg[cohort_size=3]", on_device=True, store=store, resume=True).record()


def test_buffers_of_a_model_are_averaged_on_the_device(place: Place) -> None:
    task = digits_as_images(NETWORKS["residual"])
    shards = [np.arange(40 * i, 40 * i + 20) for i in range(4)]
    found = []
    for put in (place, on_host):
        device = str(place(np.zeros(1)).tensor.device)  # type: ignore[attr-defined]
        trainer = StackedTrainer(Workload(task, shards, 7, 3), device=device, lanes=4)
        info = Info(4, np.full(4, 20.0))
        execution = Execution(registry.algorithm("fedavg[cohort_size=3]"), trainer, info, task.model.x0(3), place=put)
        timing = Timing(clients=4, max_updates=3, seed=5, compute=Duration.constant(1.0), steps=LocalSteps(values=2))
        execution.run([Scheduler(timing, execution.algorithm.dispatch(info)).next(1000)])
        trainer.close()
        found.append(numbers(execution.buffers).tobytes() + numbers(execution.state.x).tobytes())
        start = task.model.buffers0()
        assert not np.array_equal(numbers(execution.buffers), start)
    assert found[0] == found[1]


@pytest.mark.parametrize("sends", ["delta", "first_gradient"])
def test_columns_are_the_works_of_their_jobs(sends: str, place: Place) -> None:
    """Each in its row of its matrix, on the device as on the host."""
    task = digits_as_images(NETWORKS["mlp"])
    for put in (place, on_host):
        device = str(place(np.zeros(1)).tensor.device)  # type: ignore[attr-defined]
        trainer = StackedTrainer(Workload(task, [np.arange(20), np.arange(30, 45)], 7, 3), device=device, lanes=2)
        rules = [LocalRule(start=put(task.model.x0(seed)), lr=0.1, wants=("first_gradient",)) for seed in (1, 2)]
        client, k, base, steps = (np.array(column, np.int32) for column in ([1, 0, 1], [0, 2, 1], [0, 0, 1], [3, 1, 2]))
        wave = Columns(client, k, base, steps, rules, np.array([0, 0, 1]), sends)
        matrices = [np.full_like(rules[0].start, np.nan, shape=(rows, trainer.dim)) for rows in (2, 1)]
        trainer.train_columns(wave, Places(matrices, np.array([1, 0, 0]), np.array([0, 1, 0])))
        works = trainer.train([Assignment(wave.job(j), rules[j // 2], rules[0].start[:0]) for j in range(3)])
        trainer.close()
        got = [matrices[1][0], matrices[0][1], matrices[0][0]]
        assert [numbers(row).tobytes() for row in got] == [numbers(getattr(work, sends)).tobytes() for work in works]
        assert type(getattr(works[0], sends)) is type(rules[0].start)


def test_gradients_lie_where_their_job_began(place: Place) -> None:
    """Also if jobs of the same form began elsewhere before."""
    task = digits_as_images(NETWORKS["mlp"])
    device = str(place(np.zeros(1)).tensor.device)  # type: ignore[attr-defined]
    trainer = StackedTrainer(Workload(task, [np.arange(20)], 7, 3), device=device, lanes=2)
    for put in (on_host, place, on_host):
        rule = LocalRule(start=put(task.model.x0(1)), lr=0.1, wants=("first_gradient", "mean_gradient"))
        for steps in (0, 2):
            (work,) = trainer.train([Assignment(Job(0, 1, 0, steps), rule, rule.start[:0])])
            assert {type(work.first_gradient), type(work.mean_gradient), type(work.end)} == {type(rule.start)}
    trainer.close()


def test_the_record_says_where_the_servers_step_was(monkeypatch: pytest.MonkeyPatch) -> None:
    algorithm, choice = registry.algorithm("fedbuff"), Choice("torch", "asked for device cuda", "cuda")
    monkeypatch.setattr("fedbench.engine.trainers.torch.device.name_of", lambda device: "a GPU")
    trainer: Any = SimpleNamespace(device="cuda", lanes=32)
    for place, server in ((on_host, ""), (lambda array: array, "cuda")):
        monkeypatch.setattr("fedbench.engine.place.server_place", lambda choice, algorithm, place=place: place)
        assert computed_on(trainer, choice, algorithm) == {"device": "cuda", "server_device": server, "gpu": "a GPU", "lanes": 32}
    trainer.device = "cpu"
    assert computed_on(trainer, choice, algorithm) == {"device": "cpu"}
