"""Runs with local optimisers of the user's own: steps by hand, the same record however it is
computed, and nothing that is run because a record names it."""

from __future__ import annotations

import itertools
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import fedbench as fb
from fedbench import own_models, own_optimizers
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.cli.main import app
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.base import Assignment, Workload
from fedbench.engine.trainers.choose import choose
from fedbench.engine.verify import verify
from fedbench.errors import OriginError, UnwrittenError, UsageError
from fedbench.kernels.random import draw_batches
from fedbench.launch.runner import specs
from fedbench.own_optimizers import Own
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load, validate
from fedbench.scenarios.local_parts import LocalPart
from fedbench.tasks import digits
from fedbench.tasks.available import outline
from fedbench.types import Job, LocalRule, Vector
from tests.engine.test_local_work import SEED, SHARD, gradient

OPTIMIZERS = """
import numpy as np
import fedbench as fb

print("the file is run")

class Sgd(fb.Optimizer):
    def update(self, parameters, gradient, state, step, lr):
        return parameters - lr * gradient, state

class Adam(fb.Optimizer):
    def init(self, parameters):
        return {"m": np.zeros_like(parameters), "v": np.zeros_like(parameters)}

    def update(self, parameters, gradient, state, step, lr):
        state["m"] = 0.8 * state["m"] + 0.2 * gradient
        state["v"] *= 0.9
        state["v"] += 0.1 * gradient * gradient
        m, v = state["m"] / (1 - 0.8 ** (step + 1)), state["v"] / (1 - 0.9 ** (step + 1))
        return parameters - lr * m / (np.sqrt(v) + 1e-8), state

class Moved(fb.Optimizer):
    def init(self, parameters):
        self.start, self.seen = parameters, 0
        return [parameters]

    def update(self, parameters, gradient, state, step, lr):
        assert self.seen == step
        self.seen += 1
        away = parameters - self.start
        state.append(parameters)
        new = parameters - np.float32(lr) * np.sign(gradient) - np.float32(0.1) * (state[-1] - state[0] + away)
        self.kept = getattr(self, "kept", new)
        self.kept *= np.float32(0.5)
        return new, state
"""
SMALL = ("clients=6", "budget.updates=8", "local.steps=5", "task.model=softmax")
BUFFERED = "fedbuff[buffer_size=3]"
TORCH = pytest.mark.extra("torch")


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(OPTIMIZERS)
    return tmp_path / "mine.py"


def settings(file: Path, name: str = "Adam", *more: str) -> list[str]:
    return [*SMALL, f"local.optimizer={file}:{name}", *more]


def record(changes: list[str], algorithm: str = BUFFERED, **options: Any) -> Record:
    (found,) = fb.run("digits-demo", algorithm, overrides=changes, store=None, options=RunOptions(**options))
    return found


def adam_by_hand(job: Job, rule: LocalRule, local: LocalPart) -> Vector:
    train = digits.load("softmax").dataset.train
    rows, offsets = draw_batches(SEED, job.client, job.k, len(SHARD), 7, job.steps)
    y = rule.start.copy()
    m, v = np.zeros_like(y), np.zeros_like(y)
    for step, (begin, end) in enumerate(itertools.pairwise(offsets.tolist())):
        batch = SHARD[rows[begin:end]]
        x, labels = train.x[batch].reshape(len(batch), -1).astype(np.float64), train.y[batch]
        h = gradient(y, x, labels, local) + rule.weight_decay * y + rule.prox * (y - rule.start)
        h = h if rule.correction is None else h + rule.correction
        m, v = 0.8 * m + 0.2 * h, 0.9 * v + 0.1 * h * h
        rate = rule.lr * local.factor_of_step(step)
        y = y - rate * (m / (1 - 0.8 ** (step + 1))) / (np.sqrt(v / (1 - 0.9 ** (step + 1))) + 1e-8)
    return y


RULES: dict[str, dict[str, Any]] = {
    "plain": {},
    "all terms": {"weight_decay": 0.1, "prox": 0.5, "correction": 0.02},
}


@TORCH
@pytest.mark.parametrize("rule", RULES)
def test_an_adam_of_one_s_own_by_hand(rule: str, file: Path) -> None:
    """It gets the whole direction of the rule and the rate of the step. A second job of the same
    worker begins anew."""
    from fedbench.engine.trainers.torch.one_by_one import TorchTrainer

    named, task = own_models.named(f"{file}:Adam", kind="optimizer"), digits.load("softmax")
    schedule = {"kind": "exponential", "decay": 0.5, "by": "local_step"}
    content = {"steps": 6, "schedule": schedule, "clip_norm": 0.5, "optimizer": named.selector, "optimizer_sha256": named.sha256}
    local = LocalPart.model_validate(content)
    trainer = TorchTrainer(Workload(task, [SHARD, SHARD], 7, SEED, local=local), dtype=np.float64)
    fields = dict(RULES[rule])
    if "correction" in fields:
        fields["correction"] = np.full(task.model.dim, fields["correction"])
    wave = [
        Assignment(Job(i, i, 0, steps), LocalRule(start=task.model.x0(i, np.float64), lr=0.05, **fields), np.empty(0))
        for i, steps in enumerate((6, 3))
    ]
    works = trainer.train(wave)
    trainer.close()
    for work, assignment in zip(works, wave, strict=True):
        np.testing.assert_allclose(work.end, adam_by_hand(assignment.job, assignment.rule, local), rtol=0, atol=1e-10)


@TORCH
@pytest.mark.parametrize("selector", [BUFFERED, "fedprox[cohort_size=3,prox=0.5]", "scaffold[cohort_size=3]", "mifa"])
def test_sgd_of_one_s_own_is_sgd(selector: str, file: Path) -> None:
    """Up to rounding; also the gradients that an algorithm keeps."""
    schedule = "local.schedule={kind: exponential, decay: 0.8}"
    own, plain = (record(one, selector, trainer="torch") for one in (settings(file, "Sgd", schedule), [*SMALL, schedule]))
    assert own.curves["test_loss"] == pytest.approx(plain.curves["test_loss"], rel=1e-4)
    assert own.curves["test_loss"][-1] != plain.curves["test_loss"][0]
    assert own.digests.plan == plain.digests.plan
    assert own.run_id != plain.run_id


@TORCH
@pytest.mark.parametrize("name", ["Adam", "Moved"])
def test_the_same_bits_however_a_run_is_computed(name: str, file: Path, tmp_path: Path) -> None:
    (spec,) = specs("digits-demo", BUFFERED, 1, settings(file, name))
    found = Run(spec).record()
    for options in (RunOptions(workers=4), RunOptions(workers=2, wave_size=1), RunOptions(wave_size=3)):
        assert Run(spec, options=options).record().digests == found.digests

    def interrupt(version: int, seconds: float, evaluated: object) -> None:
        if version == 4:
            raise KeyboardInterrupt

    store = Store(tmp_path / "runs")
    store.prepare()
    with pytest.raises(KeyboardInterrupt):
        Run(spec, store, RunOptions(checkpoint_seconds=0), interrupt).record()
    assert store.unfinished()
    assert Run(spec, store, RunOptions(resume=True)).record().digests == found.digests
    assert found.digests.model != record(list(SMALL)).digests.model


@TORCH
def test_the_trainer_is_torch_and_says_why(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plan runs no code."""
    planned = fb.plan("digits-demo", BUFFERED, overrides=settings(file))
    why = "the scenario has local.optimizer=mine.py:Adam, which the native trainer does not take"
    assert (planned.trainer, planned.trainer_reason) == ("torch", why)
    assert capsys.readouterr().out == ""
    with pytest.raises(UsageError, match=r"^trainer native: the scenario has local.optimizer=.*; use --trainer torch$"):
        record(settings(file), trainer="native")
    task, local = outline("digits", "softmax"), load("digits-demo", settings(file)).local
    assert task is not None
    with pytest.raises(
        UsageError, match=r"^device cuda: .* local.optimizer .*mine.py:Adam takes one at a time.*; leave out --device$"
    ):
        choose(task, FedBuff(), device="cuda", local=local)
    assert choose(task, FedBuff(), device="cuda", local=LocalPart(steps=1)).device == "cuda"


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ("fednova[cohort_size=3]", "it weighs the gradients of a job as SGD does"),
        ("asysg", "its clients send the first gradient and make no use of steps"),
        ("fedbuff[buffer_size=3,momentum=0.5]", "its local rule uses momentum"),
        ("fedbuff[buffer_size=3,optimizer=adamw]", "its local rule uses adamw"),
    ],
)
def test_algorithms_that_need_another_optimizer(selector: str, why: str, file: Path) -> None:
    message = f"{why}, and local.optimizer mine.py:Adam takes the place of plain SGD"
    with pytest.raises(UsageError, match=rf"^algorithm \w+ is not applicable: {message}$"):
        fb.plan("digits-demo", selector, overrides=settings(file))


@TORCH
def test_a_rule_that_has_momentum_all_the_same(file: Path) -> None:
    from fedbench.engine.trainers.torch.one_by_one import TorchTrainer

    named, task = own_models.named(f"{file}:Sgd", kind="optimizer"), digits.load("softmax")
    local = LocalPart(steps=1, optimizer=named.selector, optimizer_sha256=named.sha256)
    with pytest.raises(ValueError, match=r"momentum belongs to SGD, got 0.5 with optimizer mine.py:Sgd; leave out one of them"):
        LocalPart.model_validate(local.model_dump() | {"momentum": 0.5})
    trainer = TorchTrainer(Workload(task, [SHARD], 7, SEED, local=local))
    terms: list[dict[str, Any]] = [{"momentum": 0.5}, {"optimizer": "adamw"}]
    for fields in terms:
        rule = LocalRule(start=task.model.x0(0), lr=0.1, **fields)
        with pytest.raises(UsageError, match=r"mine.py:Sgd: takes the place of plain SGD, got a local rule with optimizer"):
            trainer.train([Assignment(Job(0, 0, 0, 1), rule, np.empty(0, np.float32))])
    trainer.close()


@TORCH
def test_parameters_that_are_not_finite_diverge(tmp_path: Path) -> None:
    """As with plain SGD whose rate is too large."""
    (tmp_path / "bad.py").write_text(BODY + "return parameters / np.float32(0), state")
    found = record([*SMALL, f"local.optimizer={tmp_path}/bad.py:O"])
    assert found.outcome.state == "diverged"
    assert record([*SMALL], "fedbuff[buffer_size=3,local_lr=1e38]").outcome.state == "diverged"


def test_reading_a_scenario_runs_nothing_and_hashes_the_sum(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "elsewhere" / "renamed.py"
    other.parent.mkdir()
    other.write_text(OPTIMIZERS)
    scenarios = [load("digits-demo", settings(one)) for one in (file, other)]
    hashes = [one.content_hash() for one in scenarios]
    assert scenarios[0].local.optimizer == f"{file}:Adam"
    other.write_text(OPTIMIZERS + "\n")
    more = [load("digits-demo", one).content_hash() for one in (settings(other), settings(file, "Sgd"), list(SMALL))]
    assert hashes[0] == hashes[1]
    assert len({hashes[0], *more}) == 4
    assert not {"optimizer", "optimizer_sha256"} & set(load("digits-demo").resolved()["local"])  # type: ignore[arg-type]
    without = load(scenarios[0], ["local.optimizer=null"])
    assert without.content_hash() == more[2]
    assert capsys.readouterr().out == ""


@TORCH
def test_a_record_s_scenario_runs_nothing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = load("digits-demo", settings(file)).resolved()
    own_models._NAMED.clear()
    again = load(validate(json.loads(json.dumps(content)), "record"))
    message = r"its optimizer is mine.py:Adam with sha256 .*; say where it is with --optimizer path/to/mine.py:Adam$"
    with pytest.raises(OriginError, match=message):
        fb.run(again, BUFFERED)
    assert capsys.readouterr().out == ""


def test_a_run_travels_to_another_process(file: Path) -> None:
    (spec,) = specs("digits-demo", BUFFERED, 1, settings(file))
    sent = pickle.dumps(spec)
    own_models._NAMED.clear()
    assert [one.name for one in pickle.loads(sent).own] == ["Adam"]
    local = spec.scenario.local
    assert local.optimizer is not None
    assert local.optimizer_sha256 is not None
    own_optimizers.made(local.optimizer, local.optimizer_sha256)


@TORCH
@pytest.mark.parametrize("workers", [1, 2])
def test_verify_in_a_process_of_its_own(workers: int, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = fb.run("digits-demo", BUFFERED, overrides=settings(file), store=tmp_path / "runs")
    monkeypatch.setattr(own_optimizers, "Own", None)  # it is not run here
    own_models._NAMED.clear()
    result = verify(found, RunOptions(workers=workers), optimizer=f"{file}:Adam")
    assert result.verdict == "identical"
    assert result.confined is not None
    own_models._NAMED.clear()
    for given, message in (
        (None, r"its optimizer is mine.py:Adam with sha256"),
        (f"{file}:Sgd", r"^record: its optimizer is mine.py:Adam, got .*mine.py:Sgd$"),
    ):
        with pytest.raises(OriginError, match=message):
            verify(found, optimizer=given)
    shown = CliRunner().invoke(app, ["verify", str(tmp_path / "runs"), "--optimizer", f"{file}:Adam"])
    assert (shown.exit_code, shown.output.split(": ")[-1]) == (0, "identical\n")
    file.write_text(OPTIMIZERS.replace("0.8", "0.7"))
    with pytest.raises(OriginError, match=r"its optimizer is from a file with sha256 .* was not run$"):
        verify(found, optimizer=f"{file}:Adam")


def test_verify_of_a_record_without_one(file: Path) -> None:
    found = record([*SMALL])
    with pytest.raises(OriginError, match=r"^record: it has no optimizer of its own, got .*mine.py:Adam$"):
        verify(found, optimizer=f"{file}:Adam")
    assert RunSpec.of(found.spec).own == []


BODY = """import fedbench as fb
import numpy as np

class O(fb.Optimizer):
    def update(self, parameters, gradient, state, step, lr):
        """


@TORCH
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class G: pass", r"bad.py has no class or function 'O'"),
        ("class O(: pass", r"cannot be imported: .*SyntaxError"),
        ("class O: pass", r"expected a class that extends fedbench.Optimizer, got <class '.*O'>"),
        ("def O(): pass", r"expected a class that extends fedbench.Optimizer, got <function O"),
        (BODY + "return parameters", r"update must return parameters and state, got array"),
        (BODY + "return None", r"update must return parameters and state, got None$"),
        (BODY + "return parameters[:3], state", r"update must return parameters float32 \(650,\), got float32 \(3,\)$"),
        (BODY + "return parameters * np.float64(1) * np.ones(650), 0", r"got float64 \(650,\); a numpy float64 scalar"),
        (BODY + "return parameters.tolist(), state", r"update must return parameters float32 \(650,\), got \["),
        (BODY + "return 1 / 0", r"update in step 0 fails: .*bad.py, line 6, in update: ZeroDivisionError"),
        (BODY + "parameters -= lr * gradient", r"update in step 0 fails: .*ValueError: output array is read-only"),
        (BODY + "gradient *= 2", r"update in step 0 fails: .*ValueError: output array is read-only"),
        (BODY + "return parameters + np.random.random(650).astype('f4'), state", r"gives other parameters for the same arguments"),
        (BODY + "1\n    def init(self, parameters):\n        return state", r"init fails: .*NameError"),
        (BODY + "1\n    def init(self):\n        return 0", r"init fails: .*TypeError"),
        ("import no_such_module\n" + BODY + "1", r"cannot be imported: .*ModuleNotFoundError"),
    ],
)  # fmt: skip
def test_code_that_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(UsageError, match=f"^optimizer {tmp_path}/bad.py:O: ") as error:
        record([*SMALL, f"local.optimizer={tmp_path}/bad.py:O"])
    first, *code = str(error.value).split("\n")
    assert re.search(message, first), first
    assert len(code) <= 1, "the line of code that failed"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("local.optimizer=./nowhere.py:O", r"local.optimizer \./nowhere.py: not on this machine"),
        ("local.optimizer=no.such.module:O", r"optimizer no.such.module:O: no module no.such.module is installed"),
        ("local.optimizer=adam", r"optimizer 'adam': expected path/to/file.py:Class or package.module:Class"),
        ("local.optimizer=mine.py", r"optimizer 'mine.py': expected path/to/file.py:Class or package.module:Class"),
        ("local.optimizer=3", r"local.optimizer must be text, got 3|local.optimizer"),
        ("local.optimizer_sha256=" + "0" * 64, r"optimizer and optimizer_sha256 belong together, got one of them"),
        ("local.optimiser=./mine.py:O", r"unknown key local.optimiser; did you mean 'optimizer'\?"),
    ],
)
def test_settings_that_are_refused(setting: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        load("digits-demo", [setting])
    assert len(str(error.value).strip().split("\n")) == 1


def test_a_method_that_is_not_written() -> None:
    zeros = np.zeros(1, np.float32)
    assert fb.Optimizer().init(zeros) is None
    with pytest.raises(
        UnwrittenError, match=r"^optimizer Optimizer: update\(parameters, gradient, state, step, lr\) is not written$"
    ):
        fb.Optimizer().update(zeros, zeros, None, 0, 0.1)


def test_each_job_has_a_new_object_and_state(file: Path) -> None:
    """Steps of several jobs may alternate. A state may keep what it was given."""
    own = Own(own_models.named(f"{file}:Moved", kind="optimizer"))
    start, slope = np.ones(3, np.float32), np.array([1, -2, 0], np.float32)
    one, other = own(start), own(start)
    first = [step(start, slope, 0, 0.5) for step in (one, other)]
    assert np.array_equal(first[0], first[1])
    kept = first[0].copy()
    second = one(first[0], slope, 1, 0.5)
    assert np.array_equal(first[0], kept)
    assert np.array_equal(second, other(first[1], slope, 1, 0.5))
    assert start.flags.writeable
