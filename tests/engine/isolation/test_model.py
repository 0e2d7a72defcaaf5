"""A model in a process of its own gives the bits that it gives here, reaches nothing else, and
nothing that it gives is believed before it is checked."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

import fedbench as fb
from fedbench import own_models
from fedbench.engine.isolation.find import isolated_model
from fedbench.engine.isolation.model import There
from fedbench.engine.isolation.process import Process
from fedbench.engine.run import RunOptions
from fedbench.engine.verify import verify
from fedbench.errors import FedbenchError, OriginError, PluginError
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.results.record import Record
from fedbench.scenarios.load import load
from fedbench.tasks.own_model import OwnModel, make_own

from .plugins import confined

NET = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, input_shape, classes):
        super().__init__()
        self.inner, self.norm, self.drop = nn.Linear(64, 20), nn.BatchNorm1d(20), nn.Dropout(0.25)
        self.head = nn.Linear(20, classes)

    def forward(self, x):
        return self.head(self.drop(torch.tanh(self.norm(self.inner(x)))))


def half():
    net = nn.Sequential(nn.Linear(64, 10))
    nn.init.constant_(net[0].bias, 0.5)
    return net


def plain():
    return nn.Sequential(nn.Linear(64, 10))
"""
SMALL = ["clients=6", "budget.updates=5", "local.steps=3", "public.size=50"]


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(NET)
    return tmp_path / "net.py"


def made(file: Path, algorithm: str, name: str = "Net") -> Record:
    (record,) = fb.run(load("digits-demo", [*SMALL, f"task.model={file}:{name}"]), algorithm)
    return record


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [
        ("fedecho[buffer_size=3]", "Net"),
        pytest.param("scaffold[cohort_size=3]", "Net", marks=pytest.mark.slow),
        pytest.param("fedlin", "Net", marks=pytest.mark.slow),
        pytest.param("fedavg[cohort_size=3]", "half", marks=pytest.mark.slow),
        pytest.param("fedavg[cohort_size=3]", "plain", marks=pytest.mark.slow),
    ],
)
def test_the_bits_are_those_of_a_run_here(file: Path, algorithm: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of steps with corrections, logits and their pullback, full gradients, buffers and masks."""
    record = made(file, algorithm, name)
    monkeypatch.setattr(own_models, "_NAMED", {})
    result = verify(record, RunOptions(workers=3), model=f"{file}:{name}")
    assert (result.verdict, result.differences) == ("identical", ())


def test_the_code_must_be_named_and_be_the_same(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = made(file, "fedavg[cohort_size=3]", "plain")
    monkeypatch.setattr(own_models, "_NAMED", {})
    for given, message in (
        (
            None,
            r"its model is net.py:plain with sha256 .*; no file is run because a record names it; say where it is with --model",
        ),
        (f"{file}:half", r"its model is net.py:plain, got .*net.py:half"),
    ):
        with pytest.raises(OriginError, match=message):
            verify(record, model=given)
    file.write_text(NET + "\n")
    with pytest.raises(OriginError, match=r"net.py has .*: it was changed after the run, or is another one, and was not run"):
        verify(record, model=f"{file}:plain")


def own(file: Path, name: str = "Net") -> tuple[str, str]:
    code = own_models.named(f"{file}:{name}")
    return code.selector, code.sha256


@confined
@pytest.mark.parametrize("where", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("import", "made")), "forward"])
def test_it_reads_no_file_of_the_user_s(file: Path, tmp_path: Path, where: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    act = f"open({str(secret)!r}).read()"
    text = {
        "import": act + NET,
        "made": NET.replace("        super().__init__()\n", f"        super().__init__()\n        {act}\n"),
        "forward": NET.replace("        return self", f"        {act}\n        return self"),
    }[where]
    file.write_text(text)
    selector, sha256 = own(file)
    code = own_models.of(selector, sha256)
    with pytest.raises(FedbenchError, match="Permission denied"), isolated_model(code, only_confined=True):
        make_own(selector, sha256, (64,), 10)


class Liar:
    """A process that answers what it likes."""

    name, confined = "model liar", True

    def __init__(self, **answers: Any) -> None:
        parts = {"parameters": [["w", (10, 64)]], "buffers": [], "layers": None, "why": "", "is_default": False}
        honest = {"forward": [np.zeros((2, 10), np.float32), np.zeros(0, np.float32)], "backward": np.zeros(640, np.float32)}
        values = [np.zeros(640, np.float32), np.zeros(0, np.float32)]
        self.answers = {"make": 0, "module": 0, "described": parts, "values": values, **honest, **answers}

    def call(self, method: str, *arguments: object, answers: Any = None) -> Any:
        found = self.answers[method]
        return found(answers) if callable(found) else found


def used(**lies: Any) -> None:
    """A forward and a backward pass of a module."""
    there = There(cast(Process, Liar(**lies)), threading.Lock(), "liar", (64,), 10)
    there.described()
    there.values(0)
    module = there.module(torch.float32)
    module.set_masks(RandomStream(0, Purpose.dropout))
    module(torch.zeros(2, 64)).sum().backward()


DESCRIBED: dict[str, Any] = {"parameters": [["w", (10, 64)]], "buffers": [], "layers": None, "why": "", "is_default": False}


@pytest.mark.parametrize(
    ("lies", "what"),
    [
        ({"described": 3}, "description"),
        ({"described": DESCRIBED | {"parameters": [["w", (-1, 3)]]}}, "description"),
        ({"described": DESCRIBED | {"parameters": [["w", (1 << 40,)]]}}, "description of at most 134,217,728 numbers"),
        ({"described": DESCRIBED | {"layers": [["Residual", {}]]}}, "description"),
        ({"described": DESCRIBED | {"layers": [["Linear", {"inputs": "64", "outputs": 10}]]}}, "description"),
        ({"described": DESCRIBED | {"layers": [["Linear", {"inputs": 0, "outputs": 10}]]}}, "description"),
        ({"values": None}, "initial values"),
        ({"values": [np.zeros(639, np.float32), np.zeros(0, np.float32)]}, "initial values"),
        ({"values": [np.zeros(640), np.zeros(0, np.float32)]}, "initial values"),
        ({"forward": 0}, "logits"),
        ({"forward": [np.zeros((2, 9), np.float32), np.zeros(0, np.float32)]}, "logits"),
        ({"forward": [np.zeros((2, 10), np.float32), np.zeros(1, np.float32)]}, "buffers"),
        ({"backward": np.zeros(10, np.float32)}, "gradient"),
    ],
)
def test_what_it_gives_is_checked(lies: dict[str, Any], what: str) -> None:
    used()
    with pytest.raises(PluginError, match=f"model liar: its process gives no {what} that can be used"):
        used(**lies)


@pytest.mark.parametrize("count", [-1, 1 << 40, "3"])
def test_it_gets_no_more_words_than_masks_can_have(count: object) -> None:
    with pytest.raises(ValueError, match="words: expected at most"):
        used(forward=lambda answers: answers["words"](count))


def test_the_other_process_ends_with_the_block(file: Path) -> None:
    selector, sha256 = own(file)
    with isolated_model(own_models.of(selector, sha256)) as process:
        there = make_own(selector, sha256, (64,), 10)
    assert process._process.poll() is not None
    here = make_own(selector, sha256, (64,), 10)
    assert isinstance(there, OwnModel)
    assert here == there
    assert type(there.source).__name__ == "There" != type(here.source).__name__  # type: ignore[union-attr]
