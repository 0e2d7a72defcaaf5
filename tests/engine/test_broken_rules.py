"""A plugin whose rule for one client is broken is told which client, job, base version and field,
whatever the trainer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedavg import FedAvg
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.errors import ClientError
from fedbench.scenarios.load import load
from fedbench.types import Job, LocalRule, Message, Vector

SMALL = ["clients=6", "budget.seconds=4", "local.steps=2", "task.model=softmax"]
BROKEN: dict[str, Any] = {}
"""What `Broken` does to the rule of client 3's second job: a field and its value, made from the
model."""


@dataclass(frozen=True, kw_only=True)
class Broken(FedAvg):
    name = "broken"

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        rule = super().local(message, job, memory)
        wrong = (job.client, job.k) == (3, 1)
        return replace(rule, **{name: value(message.x) for name, value in BROKEN.items()}) if wrong else rule


@pytest.mark.parametrize("trainer", ["native", pytest.param("torch", marks=pytest.mark.extra("torch"))])
@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("start", lambda x: x * np.float64(1), "TypeError: start must be float32 (650,), got float64 (650,); a numpy float64"),
        ("start", lambda x: None, "TypeError: start must be float32 (650,), got NoneType"),
        ("start", lambda x: x.tolist(), "TypeError: start must be float32 (650,), got list"),
        ("correction", lambda x: x[:-1], "TypeError: correction must be float32 (650,), got float32 (649,)"),
        ("correction", lambda x: x.astype(np.int64), "TypeError: correction must be float32 (650,), got int64 (650,)"),
        ("anchor", lambda x: x.reshape(1, -1), "TypeError: anchor must be float32 (650,), got float32 (1, 650)"),
        ("lr", lambda x: "0.1", "TypeError: lr must be a number, got '0.1'"),
        ("prox", lambda x: None, "TypeError: prox must be a number, got None"),
        ("optimizer", lambda x: "adam", "ValueError: optimizer must be one of 'sgd', 'adamw', got 'adam'"),
        ("prox_form", lambda x: "l1", "ValueError: prox_form must be one of 'l2', 'l1_squared', got 'l1'"),
        ("wants", lambda x: "first_gradient", "ValueError: wants must be a tuple of 'first_gradient', "),
        ("wants", lambda x: ("last_gradient",), "'public_logits', got ('last_gradient',)"),
    ],
)
def test_the_job_and_the_field_are_named(
    field: str, value: Any, message: str, trainer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BROKEN, field, value)
    spec = RunSpec(load("digits-demo", SMALL), Broken(sampling="all"), 0)
    place = re.escape("client 3, job k=1 (base version 1, 2 steps), local rule of broken: ")
    with pytest.raises(ClientError, match=f"{place}.*{re.escape(message)}"):
        Run(spec, options=RunOptions(trainer=trainer)).record()


def test_numbers_of_numpy_and_whole_numbers_are_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = RunSpec(load("digits-demo", SMALL), Broken(sampling="all"), 0)
    wanted = Run(spec).record().digests
    monkeypatch.setitem(BROKEN, "lr", lambda x: np.float64(spec.algorithm.local_lr))
    monkeypatch.setitem(BROKEN, "prox", lambda x: np.float32(0))
    monkeypatch.setitem(BROKEN, "momentum", lambda x: 0)
    assert Run(spec).record().digests == wanted
