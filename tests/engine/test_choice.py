"""Which trainer computes a run: chosen with a reason, recorded, asked for, and used again by
verify."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.algorithms.fedavg import FedAvg
from fedbench.engine.compare import differences
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.base import Workload
from fedbench.engine.trainers.choose import LARGEST_NATIVE, Choice, choose, make_trainer
from fedbench.engine.trainers.native import NativeTrainer, layer_specs
from fedbench.engine.trainers.torch.one_by_one import TorchTrainer
from fedbench.engine.verify import verify
from fedbench.errors import UsageError
from fedbench.kernels import build_info
from fedbench.protocols import Algorithm
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.tasks import digits
from fedbench.tasks.available import Outline, outline
from fedbench.tasks.layers import Conv2d, Flatten, Layer, Linear, Residual
from fedbench.tasks.model_library import make_model
from fedbench.tasks.models import Model
from fedbench.tasks.sequences import LSTM, Embedding, Last
from fedbench.types import Job, LocalRule, Message, Vector
from tests.conftest import altered

MLP = Outline(make_model("mlp", (64,), 10), is_augmented=False)
SMALL = ["clients=6", "budget.seconds=4", "local.steps=4", "task.model=mlp"]
FEDECHO = "fedecho[buffer_size=2,concurrency=4,distill_lr=0.001,student=train]"


# ---- the choice


@pytest.mark.parametrize(
    ("selector", "name", "reason"),
    [
        ("fedavg", "native", "it has all layers of model mlp and all terms of fedavg's local rule"),
        ("scaffold", "native", "it has all layers of model mlp and all terms of scaffold's local rule"),
        ("fedprox[prox=0.1]", "native", "all terms of fedprox's local rule"),
        ("fedavg[momentum=0.9]", "torch", "fedavg's local rule uses momentum, which the native trainer does not take"),
        ("fedbuff[optimizer=adamw]", "torch", "fedbuff's local rule uses adamw, which"),
        ("fedprox[prox_form=l1_squared]", "torch", "fedprox's local rule uses l1_squared, which"),
        ("fedprox[prox_form=l1_squared,momentum=0.5]", "torch", "fedprox's local rule uses l1_squared, momentum, which"),
        ("fedlin", "native", "it has all layers of model mlp and all terms of fedlin's local rule"),
        ("fedlin[momentum=0.1]", "torch", "fedlin's local rule uses momentum, which"),
    ],
)
def test_the_rule_decides(selector: str, name: str, reason: str) -> None:
    algorithm = registry.algorithm(selector)
    choice = choose(MLP, algorithm)
    assert choice.name == name
    assert reason in choice.reason
    assert choose(MLP, algorithm, "torch").name == "torch"
    if name == "native":
        assert choose(MLP, algorithm, "native").reason == "asked for"
    else:
        with pytest.raises(UsageError, match=f"trainer native: {reason}.*; use --trainer torch"):
            choose(MLP, algorithm, "native")


@dataclass(frozen=True, slots=True)
class Doubled(Layer):
    """2 x."""


SHORT = Conv2d(1, 1, 3, bias=False)


@pytest.mark.parametrize(
    ("layers", "reason"),
    [
        ((Doubled(), Flatten(), Linear(9, 3)), r"layer 0 \(Doubled\(\)\) is not native"),
        ((Flatten(), Linear(9, 3), Doubled()), r"layer 2 \(Doubled\(\)\) is not native"),
        ((SHORT, Flatten(), Linear(1, 3)), r"layer 0 \(Conv2d\(inputs=1, .*bias=False.*\)\) is not native"),
        ((Residual((Conv2d(1, 1, 1),)), Flatten(), Linear(9, 3)), r"layer 0 \(Residual\(.*\)\) is not native"),
        ((Last(1), Flatten(), Linear(9, 3)), r"layer 0 \(Last\(count=1\)\) is not native"),
        (
            (Flatten(), Embedding(4, 2), LSTM(2, 1), Flatten(), Linear(9, 3)),
            r"layer 2 \(LSTM\(inputs=2, hidden=1\)\) is not native",
        ),
    ],
)
def test_the_layers_decide(layers: tuple[Layer, ...], reason: str) -> None:
    model = Model("own", (1, 3, 3), layers)
    choice = choose(Outline(model, is_augmented=False), FedAvg())
    assert choice.name == "torch"
    assert re.fullmatch(f"model own: {reason}", choice.reason)
    with pytest.raises(UsageError, match=f"trainer native: model own: {reason}; use --trainer torch"):
        choose(Outline(model, is_augmented=False), FedAvg(), "native")
    with pytest.raises(UsageError, match=reason):
        layer_specs(model)


def test_the_last_of_embeddings_is_native() -> None:
    """To the core their vectors are numbers, one after the other."""
    model = Model("own", (9,), (Last(5), Embedding(4, 3), Last(2), Flatten(), Linear(6, 3)))
    assert [layer.outputs for layer in layer_specs(model)] == [5, 3, 6, 0, 3]


def test_an_lstm_trains_on_the_cpu_alone() -> None:
    recurrent = Outline(make_model("lstm_leaf", (80,), 80), is_augmented=False)
    assert choose(recurrent, FedAvg()) == Choice("torch", "model lstm_leaf: layer 1 (LSTM(inputs=8, hidden=256)) is not native")
    with pytest.raises(
        UsageError, match=r"device cuda: .* with LSTM\(inputs=8, hidden=256\) of model lstm_leaf; leave out --device"
    ):
        choose(recurrent, FedAvg(), device="cuda")


def test_the_size_decides() -> None:
    """By itself a model is native up to two million parameters; asked for, any is."""
    for inputs, name in ((1999, "native"), (2000, "torch")):
        large = Outline(Model("large", (inputs,), (Linear(inputs, 1000),)), is_augmented=False)
        assert (large.model.dim > LARGEST_NATIVE) == (name == "torch")
        assert choose(large, FedAvg()).name == name
        assert choose(large, FedAvg(), "native").name == "native"
    assert choose(large, FedAvg()).reason == "model large has 2,001,000 parameters, more than 2,000,000"


def test_augmented_images_are_native() -> None:
    augmented = outline("cifar10", "softmax")
    assert augmented is not None
    assert augmented.is_augmented
    assert choose(augmented, FedAvg()).name == "native"


def test_unknown_names() -> None:
    with pytest.raises(
        UsageError, match=r"trainer: unknown name 'natve'; did you mean 'native'\?; known are auto, native, torch"
    ):
        choose(MLP, FedAvg(), "natve")
    with pytest.raises(UsageError, match=r"^trainer: unknown name 'foo'; known are auto, native, torch$"):
        choose(MLP, FedAvg(), "foo")


def test_the_chosen_trainer_is_made() -> None:
    task = digits.load("mlp")
    for wish, kind in (("auto", NativeTrainer), ("native", NativeTrainer), ("torch", TorchTrainer)):
        choice = choose(Outline(task.model, is_augmented=False), FedAvg(), wish)
        trainer = make_trainer(choice, Workload(task, [np.arange(9)], batch_size=3, seed=0), workers=1)
        assert type(trainer) is kind
        assert trainer.name == choice.name


@dataclass(frozen=True, kw_only=True)
class Forgetful(FedAvg):
    """Uses an optimizer and does not say so."""

    name = "forgetful"

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        return self.rule(message.x, optimizer="adamw")


def test_an_algorithm_that_does_not_declare_a_term(tmp_path: Path) -> None:
    """Refused where it would be ignored; torch takes it."""
    spec = RunSpec(load("digits-demo", SMALL), Forgetful(cohort_size=2), 0)
    with pytest.raises(
        UsageError,
        match=r"trainer native: the local rule of client \d+, job k=0 .* uses adamw, .* say so in the alg",
    ):
        Run(spec).record()
    Run(spec, options=RunOptions(trainer="torch")).record()


# ---- runs


def run(selector: str | Algorithm, *overrides: str, store: Store | None = None, progress: Any = None, **options: Any) -> Record:
    algorithm = registry.algorithm(selector) if isinstance(selector, str) else selector
    spec = RunSpec(load("digits-demo", [*SMALL, *overrides]), algorithm, 0)
    return Run(spec, store, RunOptions(**options), progress).record()


def test_the_record_says_which_and_why() -> None:
    for options, selector, trainer, reason in (
        ({}, "fedavg[cohort_size=2]", "native", "all layers of model mlp"),
        ({"trainer": "native"}, "fedavg[cohort_size=2]", "native", "asked for"),
        ({"trainer": "torch"}, "fedavg[cohort_size=2]", "torch", "asked for"),
        ({}, "fedavg[cohort_size=2,momentum=0.5]", "torch", "uses momentum"),
    ):
        made = run(selector, "budget.updates=1", **options).provenance.as_dict()
        assert made["trainer"] == trainer
        assert reason in made["trainer_reason"]


def test_native_and_torch_learn_alike() -> None:
    """Not the same bits, but the same curve."""
    native, other = (run("fedavg[cohort_size=3]", "budget.seconds=8", trainer=name) for name in ("native", "torch"))
    assert native.digests.plan == other.digests.plan
    assert native.digests.model != other.digests.model
    assert np.allclose(native.curves["test_loss"], other.curves["test_loss"], rtol=1e-3)
    assert native.curves["test_loss"][-1] < native.curves["test_loss"][0]


@pytest.mark.parametrize("selector", ["fedbuff[buffer_size=2]", "scaffold[cohort_size=2]", "fedagrac[cohort_size=2]", FEDECHO])
def test_workers_and_waves_change_no_digest(selector: str) -> None:
    """By-products, memory and the server's student included."""
    records = [
        run(selector, trainer="native", workers=workers, wave_size=size) for workers in (1, 2, 4) for size in (1, None)
    ] + [run(selector, trainer="native", wave_bytes=1)]
    assert {tuple(record.digests.as_dict().items()) for record in records} == {tuple(records[0].digests.as_dict().items())}
    assert {record.curves["test_loss"].tobytes() for record in records} == {records[0].curves["test_loss"].tobytes()}


@pytest.mark.parametrize("selector", ["scaffold[cohort_size=2]", FEDECHO])
def test_interrupted_and_resumed(selector: str, tmp_path: Path) -> None:
    """With other workers and waves than before; tests/engine/test_run.py kills a run for good."""

    def interrupt(version: int, seconds: float, evaluated: object) -> None:
        if version == 3:
            raise KeyboardInterrupt

    wanted, store = run(selector), Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(selector, store=store, progress=interrupt, workers=2)
    assert len(store.unfinished()) == 1
    again = run(selector, store=store, resume=True, workers=4, wave_size=1)
    assert again.provenance.trainer == "native"
    assert again.digests == wanted.digests


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512"])
def test_verify_replays_with_the_recorded_instruction_set(isa: str) -> None:
    if isa not in build_info()["instruction_sets"]:
        pytest.skip(f"{isa}: this machine lacks it")
    record = run("fedbuff[buffer_size=2]", isa=isa)
    assert record.provenance.instruction_set == isa
    assert verify(record).verdict == "identical"
    best = build_info()["instruction_set"]
    assert run("fedbuff[buffer_size=2]", "budget.updates=1", isa=isa, trainer="torch").provenance.instruction_set == best


@pytest.mark.parametrize("model", ["softmax", "mlp"])
def test_every_instruction_set_makes_the_same_record(model: str) -> None:
    """All digests, curves and final metrics, so that a record of another machine is verified by its
    bits."""
    sets = build_info()["instruction_sets"]
    assert sets[0] == "portable"
    first, *others = [run("fedbuff[buffer_size=2]", f"task.model={model}", isa=isa) for isa in sets]
    for other in others:
        assert other.provenance.instruction_set != "portable"
        assert differences(first, other) == []
    assert verify(altered(first, {"provenance.instruction_set": "neon"})).verdict == "identical"


def test_verify_replays_with_the_recorded_trainer() -> None:
    """Whatever the options ask for: bits are those of one trainer."""
    records = {name: run("fedbuff[buffer_size=2]", trainer=name) for name in ("native", "torch")}
    assert records["native"].digests.model != records["torch"].digests.model
    for name, record in records.items():
        assert verify(record).verdict == "identical", name
        for other in ("native", "torch"):
            assert verify(record, RunOptions(trainer=other, workers=2)).verdict == "identical"
    assert verify(altered(records["native"], {"provenance.instruction_set": "neon"})).verdict == "identical"


ALONE = """
import sys
from fedbench import registry
from fedbench.engine.run import Run
from fedbench.engine.verify import verify
from fedbench.engine.spec import RunSpec
from fedbench.scenarios.load import load
spec = RunSpec(load("digits-demo", sys.argv[1].split(";")), registry.algorithm(sys.argv[2]), 0)
record = Run(spec).record()
print(record.digests.model, verify(record).verdict, "torch" in sys.modules)
"""


def test_a_native_run_does_without_torch() -> None:
    command = [sys.executable, "-c", ALONE, ";".join(SMALL), FEDECHO]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.stdout.split() == [run(FEDECHO).digests.model, "identical", "False"], result.stderr
