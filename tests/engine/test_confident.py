"""A plug-in that distils only on the public rows of which its teacher is sure: on some versions,
and on the first, of none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import fedbench

CONFIDENT = """
import numpy as np

from fedbench import kernels as k
from fedbench.algorithms.fedecho import FedEcho


class Confident(FedEcho):
    name = "confident"

    def distill(self, state, rows, tools):
        teacher = k.softmax(state.Z.mean(rows))
        sure = np.max(teacher, axis=1) >= (2 if state.adam_step < 3 else 0.3)
        student, pullback = tools.public_logits(state.x, rows[sure], training=False)
        state.x -= self.distill_lr * pullback(student - teacher[sure])
        state.adam_step += 1
"""
SMALL = ["clients=6", "budget.seconds=2", "local.steps=2", "task.model=softmax", "public.size=60"]


@pytest.mark.parametrize("trainer", ["native", pytest.param("torch", marks=pytest.mark.slow)])
def test_distilling_on_no_rows_is_fine(tmp_path: Path, trainer: str) -> None:
    (tmp_path / "confident.py").write_text(CONFIDENT)
    overrides = [word for setting in SMALL for word in ("--set", setting)]
    done = fedbench(
        *("run", "digits-demo", "-a", "confident.py:Confident[distill_lr=0.001]", *overrides, "--trainer", trainer, "--json"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout.splitlines()[0])
    assert record["final"]["test_loss"] > 0
