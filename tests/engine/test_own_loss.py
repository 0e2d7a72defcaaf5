"""Runs with losses of the user's own: gradients by hand and by differences, the same record however
it is computed, and nothing that is run because a record names it."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from typer.testing import CliRunner

import fedbench as fb
from fedbench import own_models
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.cli.main import app
from fedbench.engine.plan import plan
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.base import Assignment, Workload
from fedbench.engine.trainers.choose import choose
from fedbench.engine.verify import verify
from fedbench.errors import OriginError, UsageError
from fedbench.results.store import Store
from fedbench.scenarios.load import load, validate
from fedbench.tasks import arrays, digits
from fedbench.tasks.available import outline
from fedbench.types import Job, LocalRule
from tests.engine.test_regression import SCENARIO, source, write_houses

pytestmark = pytest.mark.extra("torch")
LOSSES = """
import torch
from torch.nn import functional as F

print("the file is run")

class Huber(torch.nn.Module):
    def forward(self, outputs, labels):
        return F.huber_loss(outputs, labels, delta=0.5)

def focal(outputs, labels):
    log_p = F.log_softmax(outputs, 1).gather(1, labels[:, None])[:, 0]
    return (-((1 - log_p.exp()) ** 2) * log_p).mean()

def cross_entropy(outputs, labels):
    return F.cross_entropy(outputs, labels)

def squared(outputs, labels):
    return ((outputs - labels) ** 2).mean()
"""
SMALL = ["clients=6", "budget.seconds=4", "local.steps=6", "task.model=softmax", "evaluation.every_seconds=2"]
BUFFERED = FedBuff(buffer_size=2)
SHARD, SEED = np.arange(40), 3


@pytest.fixture(name="file")
def _file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_houses()
    Path("mine.py").write_text(LOSSES)
    return tmp_path / "mine.py"


def digits_with(name: str, *more: str) -> RunSpec:
    return RunSpec(load("digits-demo", [*SMALL, f"task.loss=mine.py:{name}", *more]), BUFFERED, 0)


def houses(*overrides: str) -> RunSpec:
    Path("houses.yaml").write_text(json.dumps(SCENARIO))
    return RunSpec(load(Path("houses.yaml"), overrides), FedBuff(buffer_size=2, local_lr=0.02), 0)


Function = Any


def differences(loss: Function, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The gradient of a function by central differences."""
    found = np.zeros_like(x)
    for i in range(len(x)):
        step = np.zeros_like(x)
        step[i] = 1e-6
        found[i] = (loss(x + step) - loss(x - step)) / 2e-6
    return found


def test_huber_by_hand_and_by_differences(file: Path) -> None:
    """|e| <= 0.5: e^2 / 2, else 0.5 (|e| - 0.25); the gradient clips e to [-0.5, 0.5]."""
    from fedbench.engine.trainers.torch.one_by_one import TorchTrainer

    named, task = own_models.named(f"{file}:Huber", kind="loss"), arrays.load(source())
    start = task.model.x0(0, np.float64)
    trainer = TorchTrainer(Workload(task, [SHARD], 40, SEED, loss=(named.selector, named.sha256)), dtype=np.float64)
    (found,) = trainer.gradients([0], start, np.empty(0))
    (work,) = trainer.train([Assignment(Job(0, 0, 0, 1), LocalRule(start=start, lr=1.0), np.empty(0))])
    trainer.close()
    x, y = task.dataset.train.x[SHARD].astype(np.float64), task.dataset.train.labels[SHARD].astype(np.float64)

    def loss(w: npt.NDArray[np.float64]) -> float:
        e = np.abs(x @ w[:3] + w[3] - y)
        return float(np.where(e <= 0.5, e * e / 2, 0.5 * (e - 0.25)).mean())

    clipped = np.clip(x @ start[:3] + start[3] - y, -0.5, 0.5) / len(SHARD)
    by_hand = np.array([*(clipped @ x), clipped.sum()])
    np.testing.assert_allclose(found, by_hand, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found, differences(loss, start), rtol=0, atol=1e-8)
    np.testing.assert_allclose(start - work.end, by_hand, rtol=0, atol=1e-14)


def test_focal_loss_by_differences(file: Path) -> None:
    from fedbench.engine.trainers.torch.one_by_one import TorchTrainer

    named, task = own_models.named(f"{file}:focal", kind="loss"), digits.load("softmax")
    start = task.model.x0(0, np.float64)
    trainer = TorchTrainer(Workload(task, [SHARD], 40, SEED, loss=(named.selector, named.sha256)), dtype=np.float64)
    (found,) = trainer.gradients([0], start, np.empty(0))
    trainer.close()
    x, y = task.dataset.train.x[SHARD].reshape(40, -1).astype(np.float64), task.dataset.train.y[SHARD]

    def loss(w: npt.NDArray[np.float64]) -> float:
        logits = x @ w[:640].reshape(10, 64).T + w[640:]
        log_p = (logits - np.log(np.exp(logits).sum(1, keepdims=True)))[np.arange(40), y]
        return float((-((1 - np.exp(log_p)) ** 2) * log_p).mean())

    np.testing.assert_allclose(found, differences(loss, start), rtol=0, atol=1e-8)


def test_the_library_s_loss_as_one_s_own_has_its_bits(file: Path) -> None:
    own = Run(digits_with("cross_entropy")).record()
    library = Run(RunSpec(load("digits-demo", SMALL), BUFFERED, 0), options=RunOptions(trainer="torch")).record()
    assert own.digests.model == library.digests.model
    np.testing.assert_allclose(own.curves["test_loss"], library.curves["test_loss"], rtol=1e-5)
    assert (own.curves["test_accuracy"] == library.curves["test_accuracy"]).all()
    mine, mse = Run(houses("task.loss=mine.py:squared")).record(), Run(houses()).record()
    np.testing.assert_allclose(mine.curves["test_loss"], mse.curves["test_loss"], rtol=1e-4)


def test_evaluated_losses_are_the_own_loss(file: Path) -> None:
    task, record = arrays.load(source()), Run(houses("task.loss=mine.py:Huber")).record()
    x0, test = task.model.x0(0).astype(np.float64), task.dataset.test
    e = np.abs(test.x @ x0[:3] + x0[3] - test.labels)
    assert record.curves["test_loss"][0] == pytest.approx(np.where(e <= 0.5, e * e / 2, 0.5 * (e - 0.25)).mean(), rel=1e-5)
    assert record.curves["test_loss"][-1] < record.curves["test_loss"][0] / 2


def test_a_class_of_a_package(file: Path) -> None:
    named = Run(houses("task.loss=torch.nn:SmoothL1Loss", "budget.seconds=3")).record()
    assert named.provenance.trainer_reason == (
        "the scenario has task.kind=regression and task.loss=torch.nn:SmoothL1Loss, which the native trainer does not take"
    )
    assert named.curves["test_loss"][-1] < named.curves["test_loss"][0]


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_the_same_bits_however_a_run_is_computed(kind: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = digits_with("focal") if kind == "classes" else houses("task.loss=mine.py:Huber", "task.model=mlp", "budget.seconds=5")
    record = Run(one).record()
    for options in (*(RunOptions(workers=n) for n in (2, 3, 4)), RunOptions(wave_size=1)):
        assert Run(one, options=options).record().digests == record.digests

    def interrupt(version: int, seconds: float, evaluated: object) -> None:
        if seconds > 2:
            raise KeyboardInterrupt

    store = Store(tmp_path / "runs")
    store.prepare()
    with pytest.raises(KeyboardInterrupt):
        Run(one, store, RunOptions(checkpoint_seconds=0), interrupt).record()
    assert Run(one, store, RunOptions(resume=True)).record().digests == record.digests
    from fedbench import own_losses

    monkeypatch.setattr(own_losses, "Own", None)  # it is not run here
    result = verify(record, RunOptions(workers=2))
    assert (result.verdict, result.confined is not None) == ("identical", True)


def test_the_trainer_is_torch_and_says_why(file: Path) -> None:
    why = "the scenario has task.loss=mine.py:focal, which the native trainer does not take"
    spec = digits_with("focal")
    planned = plan(spec)
    assert (planned.trainer, planned.trainer_reason) == ("torch", why)
    with pytest.raises(UsageError, match=rf"^trainer native: {why}; use --trainer torch$"):
        Run(spec, options=RunOptions(trainer="native")).record()
    found = outline("digits", "softmax")
    assert found is not None
    with pytest.raises(
        UsageError, match=r"^device cuda: .*, and task.loss mine.py:focal takes one at a time; leave out --device$"
    ):
        choose(found, BUFFERED, device="cuda", part=spec.scenario.task)


def test_reading_a_scenario_runs_nothing_and_hashes_the_sum(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "mine.py").write_text(LOSSES)
    one, moved = digits_with("focal").scenario, load("digits-demo", [*SMALL, f"task.loss={other}/mine.py:focal"])
    (other / "mine.py").write_text(LOSSES + "\n")
    changed = load("digits-demo", [*SMALL, f"task.loss={other}/mine.py:focal"])
    hashes = [found.content_hash() for found in (one, changed, digits_with("cross_entropy").scenario, load("digits-demo", SMALL))]
    assert moved.content_hash() == hashes[0]
    assert len(set(hashes)) == 4
    assert load(one, ["task.loss=null"]).content_hash() == hashes[-1]
    assert not {"loss", "loss_sha256"} & set(load("digits-demo").resolved()["task"])  # type: ignore[arg-type]
    content = json.loads(json.dumps(one.resolved()))
    sent = pickle.dumps(digits_with("focal"))
    own_models._NAMED.clear()
    with pytest.raises(
        OriginError, match=r"its loss is mine.py:focal with sha256 .*; say where it is with --loss path/to/mine.py:focal$"
    ):
        fb.run(load(validate(content, "record")), "fedbuff")
    assert [named.name for named in pickle.loads(sent).own] == ["focal"]
    assert capsys.readouterr().out == ""


def test_verify_asks_where_the_file_is(file: Path, tmp_path: Path) -> None:
    (found,) = fb.run(digits_with("focal").scenario, "fedbuff", store=tmp_path / "runs")
    own_models._NAMED.clear()
    for given, message in (
        (None, r"its loss is mine.py:focal with sha256"),
        (f"{file}:Huber", r"^record: its loss is mine.py:focal, got .*mine.py:Huber$"),
    ):
        with pytest.raises(OriginError, match=message):
            verify(found, loss=given)
    shown = CliRunner().invoke(app, ["verify", str(tmp_path / "runs"), "--loss", f"{file}:focal"])
    assert (shown.exit_code, shown.output.split(": ")[-1]) == (0, "identical\n")
    file.write_text(LOSSES.replace("** 2", "** 3"))
    with pytest.raises(OriginError, match=r"its loss is from a file with sha256 .* was not run$"):
        verify(found, loss=f"{file}:focal")
    (plain,) = fb.run("digits-demo", "fedbuff", overrides=SMALL)
    with pytest.raises(OriginError, match=r"^record: it has no loss of its own, got .*mine.py:focal$"):
        verify(plain, loss=f"{file}:focal")


HEAD = "import torch\nfrom torch.nn import functional as F\n"
BODY = HEAD + "def L(outputs, labels):\n    return "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class G: pass", r"bad.py has no class or function 'L'"),
        ("def L(: pass", r"cannot be imported: .*SyntaxError"),
        ("L = 3", r"expected a class or a function, got int"),
        ("class L: pass", r"expected a function of outputs and labels, got <.*L object"),
        ("class L:\n    def __init__(self, delta): pass", r"cannot be made: .*TypeError"),
        (HEAD + "class L(torch.nn.Linear):\n    def __init__(self): super().__init__(2, 2)", r"has parameters, which nobody would train"),
        (BODY + "F.cross_entropy(outputs, labels, reduction='none')", r"as a tensor torch.float32 \(\), got torch.float32 \(1,\)"),
        (BODY + "F.cross_entropy(outputs.double(), labels)", r"as a tensor torch.float32 \(\), got torch.float64 \(\)"),
        (BODY + "float(F.cross_entropy(outputs, labels))", r"must give one number as a tensor torch.float32 \(\), got \d"),
        (BODY + "None", r"must give one number as a tensor torch.float32 \(\), got None"),
        (BODY + "1 / 0", r"fails on outputs \(1, 10\) and labels \(1,\): .*bad.py, line 4, in L: ZeroDivisionError"),
        (BODY + "F.cross_entropy(outputs.detach(), labels)", r"has no gradient; it must be computed from the outputs with torch"),
        (BODY + "F.cross_entropy(outputs, labels) + torch.rand(())", r"and then .* for the same outputs; it must depend on its arguments"),
        (BODY + "F.cross_entropy(outputs, labels, reduction='sum')", r"whose own losses have the mean .*; it must be the mean"),
        (HEAD + "def L(outputs): return outputs.mean()", r"fails on outputs .*TypeError"),
    ],
)  # fmt: skip
def test_code_that_is_refused(text: str, message: str, file: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(UsageError, match=f"^loss {tmp_path}/bad.py:L: ") as error:
        Run(RunSpec(load("digits-demo", [*SMALL, f"task.loss={tmp_path}/bad.py:L"]), BUFFERED, 0)).record()
    first, *code = str(error.value).split("\n")
    assert re.search(message, first), first
    assert len(code) <= 1, "the line of code that failed"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("task.loss=./nowhere.py:L", r"task.loss \./nowhere.py: not on this machine"),
        ("task.loss=no.such.module:L", r"loss no.such.module:L: no module no.such.module is installed"),
        ("task.loss=mse", r"loss 'mse': expected path/to/file.py:Class or package.module:Class"),
        ("task.loss_sha256=" + "0" * 64, r"loss and loss_sha256 belong together, got one of them"),
        ("task.los=mine.py:focal", r"unknown key task.los; did you mean 'loss'\?"),
    ],
)
def test_settings_that_are_refused(setting: str, message: str, file: Path) -> None:
    with pytest.raises(UsageError, match=message) as error:
        load("digits-demo", [setting])
    assert len(str(error.value).strip().split("\n")) == 1
    with pytest.raises(UsageError, match=r"local.label_smoothing is a part of the cross-entropy, got task.loss mine.py:focal"):
        digits_with("focal", "local.label_smoothing=0.1")
