"""Where a run is trained: chosen, checked before anything else, recorded, and kept by verify and by
a resumed run.

What a GPU would do is acted by torch's CPU device; tests/engine/test_stacked_trainer.py has the
computing.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedbench import registry
from fedbench.algorithms.fedavg import FedAvg
from fedbench.engine import run as runs
from fedbench.engine.plan import plan
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.base import Workload
from fedbench.engine.trainers.choose import Choice, choose, make_trainer, together
from fedbench.engine.trainers.counted import comparison, flops, lane_bytes, lanes, operations
from fedbench.engine.trainers.torch import device as torch_device
from fedbench.engine.trainers.torch import stacked as torch_stacked
from fedbench.engine.trainers.torch.stacked import StackedTrainer
from fedbench.engine.verify import verify
from fedbench.errors import RecordError, UsageError
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.tasks import digits
from fedbench.tasks.available import Outline
from fedbench.tasks.model_library import make_model
from fedbench.types import Mailbox, Rounds, Stream, Turns
from tests.conftest import GONE, alter

SMALL = ["clients=6", "budget.seconds=2", "local.steps=4", "task.model=mlp"]


class Acted(StackedTrainer):
    """Says that it computes on the device, and computes on the CPU."""

    def __init__(self, *arguments: Any, device: str, **options: Any) -> None:
        super().__init__(*arguments, device="cpu", **options)
        self.device = torch.device(device).type


@pytest.fixture
def acted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_stacked, "StackedTrainer", Acted)
    monkeypatch.setattr(torch_device, "require", lambda device: None)
    monkeypatch.setattr(torch_device, "name_of", lambda device: f"the actor of {device}")


def spec(selector: str = "fedbuff[buffer_size=2]") -> RunSpec:
    return RunSpec(load("digits-demo", SMALL), registry.algorithm(selector), 0)


def run(store: Store | None = None, progress: Any = None, **options: Any) -> Record:
    return Run(spec(), store, RunOptions(**options), progress).record()


def test_lanes_are_those_of_a_device() -> None:
    for options in ({"lanes": 16}, {"lanes": -1, "device": "cuda"}):
        with pytest.raises(UsageError, match=r"lanes: must be >= 0, and are those of a device, got -?1\d* on device"):
            RunOptions(**options)


# ---- the choice


def test_a_device_is_torchs() -> None:
    """Whether or not the machine has it: a plan may be made elsewhere."""
    task = digits.load("mlp")
    for wish in ("auto", "torch"):
        for device in ("cuda", "cuda:1"):
            choice = choose(Outline.of(task), FedAvg(), wish, device)
            assert choice == Choice("torch", f"asked for device {device}", device)
    assert choose(Outline.of(task), FedAvg()).device == "cpu"
    assert (plan(spec(), "cuda").trainer, plan(spec(), "cuda").device) == ("torch", "cuda")
    assert (plan(spec()).trainer, plan(spec()).device) == ("native", "cpu")


def test_the_trainer_of_a_device_is_made(acted: None) -> None:
    task = digits.load("mlp")
    choice = choose(Outline.of(task), FedAvg(), device="cuda:1")
    trainer = make_trainer(choice, Workload(task, [np.arange(9)], batch_size=3, seed=0), workers=2)
    assert isinstance(trainer, Acted)
    assert (trainer.name, trainer.device) == ("torch", "cuda")
    trainer.close()


@pytest.mark.parametrize(
    ("trainer", "device", "message"),
    [
        ("native", "cuda", r"trainer native: it computes on the CPU, not on device cuda; leave out one of the two"),
        ("auto", "cudaa", r"device: unknown name 'cudaa'; did you mean 'cuda'\?; known are cpu, cuda, and cuda:N"),
        ("auto", "gpu", r"device: unknown name 'gpu'; did you mean 'cuda'\?"),
        ("auto", "cpu:0", r"device: unknown name 'cpu:0'; did you mean 'cpu'\?"),
        ("torch", "cuda:first", r"device: unknown name 'cuda:first'"),
        ("natve", "cuda", r"trainer: unknown name 'natve'; did you mean 'native'\?"),
    ],
)
def test_wishes_that_cannot_be(trainer: str, device: str, message: str) -> None:
    """Said of the options already."""
    with pytest.raises(UsageError, match=message):
        RunOptions(trainer=trainer, device=device)
    with pytest.raises(UsageError, match=message):
        choose(Outline.of(digits.load("mlp")), FedAvg(), trainer, device)


@pytest.mark.parametrize(
    ("device", "built", "gpus", "message"),
    [
        (
            "cuda",
            None,
            0,
            r"device cuda: not on this machine: torch \S+ is built without CUDA, torch.cuda.is_available\(\) is False",
        ),
        (
            "cuda:0",
            "13.0",
            0,
            r"device cuda:0: not on this machine: .* built with CUDA 13.0, torch.cuda.is_available\(\) is False",
        ),
        ("cuda:2", "13.0", 2, r"device cuda:2: not on this machine: torch.cuda.device_count\(\) is 2, so the last is cuda:1"),
        ("cuda:1", "13.0", 2, None),
        ("cuda", "13.0", 1, None),
    ],
)
def test_a_device_must_be_there(
    device: str, built: str | None, gpus: int, message: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.version, "cuda", built)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    if message is None:
        assert RunOptions(device=device).device == device
    else:
        with pytest.raises(UsageError, match=message):
            RunOptions(device=device)


def test_a_plan_says_where_a_device_would_be_slower() -> None:
    """By counting, for the model, the batch and the jobs of an update."""
    assert plan(spec()).device_cost == ""
    mlp = digits.load("mlp").layered
    assert (operations(mlp), flops(mlp)) == (5 + 3 + 2 + 4, 6 * (64 * 200 + 200 * 10))
    told = plan(spec(), "cuda").device_cost
    # 14 operations of 5 us for the 2 jobs of an update; 10 examples of 88,800 operations at 30
    # GFLOP/s
    assert "14 operations a step of 2 jobs, so at least 35 us for each; 120.1 kB of a job cross to it and back" in told
    assert told.endswith("the native trainer takes about 30 us, and is faster from 1 core on")
    large = comparison(mlp, 1000, 16, native=True)
    assert "14 operations a step of 16 jobs, so at least 4 us" in large
    assert large.endswith("about 2,960 us, and is faster from 677 cores on")
    assert comparison(mlp, 10, 6, native=False).endswith("; the native trainer cannot train this")


def test_lanes_are_those_of_the_jobs_of_an_update() -> None:
    """As far as a memory goes that is one for all devices; no wave counts."""
    cnn, resnet = make_model("cnn_21840", (1, 28, 28), 10), make_model("resnet18", (3, 32, 32), 10)
    assert [lanes(cnn, 32, jobs) for jobs in (1, 16, 17, 100, 1000)] == [16, 16, 32, 128, 256]
    assert [lanes(cnn, 320, 1000), lanes(resnet, 32, 1000)] == [32, 16]
    # patches 25 x 576 and 250 x 64, values of eleven layers (those of pools and dropout count
    # more), slopes, patches twice
    kept = 784 + 25 * 576 + 5760 + 3 * 1440 + 1440 + 250 * 64 + 1280 + 2 * 1280 + 3 * 320 + 320 + 320 + 50 + 50 + 100 + 10
    assert lane_bytes(cnn, 32) == 4 * (10 * 21_840 + 32 * (2 * kept + 2 * 250 * 64))
    assert [together(policy, 100) for policy in POLICIES] == [100, 100, 10, 10, 7, 3, 1, 100, 5]
    made = StackedTrainer(Workload(digits.load("mlp"), [np.arange(9)], batch_size=3, seed=0, together=40), device="cpu")
    assert made.card.lanes.count == 64
    made.close()


POLICIES = [
    Rounds(select="all"),
    Rounds(select="all", cohort_size=10),
    Rounds(select="without_replacement", cohort_size=10),
    Rounds(select="without_replacement", cohort_size=10, over_selection=2),
    Stream(concurrency=30, buffer_size=7),
    Stream(concurrency=3, buffer_size=7),
    Stream(concurrency=30),
    Turns(),
    Mailbox(cohort_size=5),
]


def test_the_order_of_sums_on_a_device_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever imports the module has the setting, before torch can have read it."""
    for value in (None, ":16:8"):
        monkeypatch.delenv(torch_device.WORKSPACE, raising=False)
        if value is not None:
            monkeypatch.setenv(torch_device.WORKSPACE, value)
        importlib.reload(torch_device)
        assert os.environ[torch_device.WORKSPACE] == (value or ":4096:8")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setenv(torch_device.WORKSPACE, ":0:0")
    with pytest.raises(UsageError, match=r"device cuda: CUBLAS_WORKSPACE_CONFIG=:0:0 lets cuBLAS add in any order; unset it, or"):
        RunOptions(device="cuda")


# ---- runs


def test_a_record_names_the_device(acted: None) -> None:
    """The curve is the torch trainer's, the bits are the device's own; waves change none."""
    on_device, on_cpu = run(device="cuda:1"), run(trainer="torch")
    made = on_device.provenance.as_dict()
    assert (made["trainer"], made["trainer_reason"], made["device"]) == ("torch", "asked for device cuda:1", "cuda")
    assert made["gpu"] == "the actor of cuda:1"
    assert on_cpu.provenance.device == "cpu"
    assert on_cpu.provenance.as_dict().keys().isdisjoint({"gpu", "lanes"})
    assert np.allclose(on_device.curves["test_loss"], on_cpu.curves["test_loss"], rtol=1e-3)
    assert run(device="cuda", wave_size=1, workers=2).digests == on_device.digests


def test_verify_replays_on_the_recorded_device(acted: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the options ask for; a machine without it says so. Records from before there were
    devices are the CPU's."""
    record = run(device="cuda")
    assert verify(record).verdict == "identical"
    seen, make = [], make_trainer
    monkeypatch.setattr(runs, "make_trainer", lambda *given, **options: seen.append(made := make(*given, **options)) or made)
    wide = run(**WIDE)
    assert (record.provenance.lanes, wide.provenance.lanes) == (16, 64)
    assert verify(wide).verdict == "identical"
    assert [one.lanes for one in seen] == [64, 64]
    monkeypatch.undo()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UsageError, match="device cuda: not on this machine"):
        verify(record)
    old = run(trainer="torch")
    alter(old, "provenance.device", GONE)
    assert verify(old).verdict == "identical"


WIDE = {"device": "cuda", "lanes": 50}


def test_a_run_goes_on_as_it_began(acted: None, tmp_path: Path) -> None:
    """Another device or another trainer has other bits, and a record is of one."""

    def interrupt(version: int, seconds: float, evaluated: object) -> None:
        if version == 3:
            raise KeyboardInterrupt

    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(store, interrupt, device="cuda")
    for options, other in (({"trainer": "torch"}, "torch on cpu"), ({}, "native on cpu"), (WIDE, "torch on cuda with 64 lanes")):
        with pytest.raises(
            RecordError,
            match=f"computed by trainer torch on cuda with 16 lanes, this run by trainer {other}, .* go on as it began",
        ):
            run(store, resume=True, **options)
    assert run(store, resume=True, device="cuda:1").digests == run(device="cuda").digests
