"""`fedbench test` of models: what keeps the contract, and every way in which it is broken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fedbench.proof.findings import Finding

pytestmark = pytest.mark.extra("torch")

NET = """
import torch
from torch import nn

SEEN = []


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, slopes):
        return slopes * FACTOR


FACTOR = 2


class Net(nn.Module):
    def __init__(self, input_shape, classes):
        super().__init__()
        self.inner, self.norm, self.drop = nn.Linear(64, 20), nn.BatchNorm1d(20), nn.Dropout(0.25)
        self.head = nn.Linear(20, classes)
        self.calls = 0

    def forward(self, x):
        found = self.head(self.drop(torch.tanh(Double.apply(self.norm(self.inner(x))))))
        return found
"""
CALM = {"declared", "start", "no other state", "gradients", "repeatable", "waves invisible", "resumable"}


def found(folder: Path, text: str, task: str = "digits") -> dict[str, Finding]:
    from fedbench.proof import models

    (folder / "net.py").write_text(text)
    return {one.check: one for one in models.check(f"{folder}/net.py:Net", task)}


def test_a_model_that_keeps_it(tmp_path: Path) -> None:
    kept = found(tmp_path, NET)
    assert {name for name, one in kept.items() if one.status == "pass"} == CALM, kept
    assert kept["declared"].detail.startswith("1,550 parameters, 40 in buffers; trainer torch: model net.py:Net: it is a Net")
    assert kept["gradients"].detail.startswith("6 tensors, in training and evaluation: errors up to ")
    assert kept["resumable"].detail == "saved and restored after update 4"


END = "        return found"
BROKEN = {
    "a counter": (
        END,
        "        self.calls += 1\n" + END,
        "no other state",
        "forward changes calls, which is neither a parameter nor",
    ),
    "a list": (
        END,
        "        self.log = [*getattr(self, 'log', []), len(x)]\n" + END,
        "no other state",
        "forward changes log, which is",
    ),
    "a late counter": (
        END,
        "        self.norm.calls = getattr(self.norm, 'calls', 0) + 1\n        return found * (1 + (self.norm.calls > 6))",
        "no other state",
        "forward changes norm.calls, which is",
    ),
    "a global": (
        END,
        "        SEEN.append(len(x))\n        return found * (1 + (len(SEEN) > 13))",
        "no other state",
        "a batch gives other logits after other batches|a job gives another result after another job",
    ),
    "a gradient": (
        "FACTOR = 2",
        "FACTOR = 2.1",
        "gradients",
        "inner.weight: the gradient along a direction is .*, finite differences give",
    ),
    "an attribute that feeds the next batch": (
        END,
        "        last, self.last = getattr(self, 'last', 0.0), float(found.detach().mean())\n        return found + last",
        "declared",
        "forward gives other logits the second time",
    ),
    "infinite": (
        "        self.calls = 0",
        "        self.head.bias.data.fill_(float('inf'))",
        "start",
        "the initial vector is not",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_said(tmp_path: Path, name: str) -> None:
    old, new, check, message = BROKEN[name]
    assert old in NET
    one = found(tmp_path, NET.replace(old, new))[check]
    assert one.status == "fail"
    assert re.search(message, one.detail), one.detail


def test_one_line_for_a_task_that_has_no_shape(tmp_path: Path) -> None:
    first = found(tmp_path, NET, "digit")["declared"]
    assert first.status == "fail"
    assert "--task must be one of a9a, " in first.detail
    assert "did you mean 'digits'?" in first.detail
