"""What a scenario names and the engine looks up."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench import registry
from fedbench.engine.plan import plan
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.errors import MissingDataError, UsageError
from fedbench.scenarios.load import load


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("task.name=digit", r"^scenario digits-demo, task: unknown task 'digit'; did you mean 'digits'\?$"),
        ("task.model=mpl", r"^scenario digits-demo, task: model: unknown name 'mpl'; did you mean 'mlp'\?$"),
    ],
)
def test_an_unknown_task_or_model_is_the_scenarios(override: str, message: str) -> None:
    spec = RunSpec(load("digits-demo", [override]), registry.algorithm("fedavg"), 0)
    with pytest.raises(UsageError, match=message):
        plan(spec)
    with pytest.raises(UsageError, match=message):
        _ = Setup(spec).task


def test_data_that_are_not_here_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    spec = RunSpec(load("digits-demo", ["task.name=cifar10", "task.model=softmax"]), registry.algorithm("fedavg"), 0)
    with pytest.raises(MissingDataError, match=r"^data set cifar10: not on this machine"):
        _ = Setup(spec).task


def test_payload_prices_need_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Softmax on CIFAR-10 has 30,730 parameters; 0.98336 Mbit at 24 Mbit/s."""
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    spec = RunSpec(load("digits-demo", ["task={name: cifar10, model: softmax}"]), registry.algorithm("fedavg"), 0)
    assert Setup(spec).timing().download.a == pytest.approx(30_730 * 32 / 24e6)
    assert plan(spec).ended_by == "time"


def test_inputs_do_not_depend_on_what_an_algorithm_sends() -> None:
    """SCAFFOLD sends two vectors, FedLin waits for full gradients, QuAFL is polled: the scenario drew the same for all of them."""
    digests = {
        Setup(RunSpec(load("digits-demo"), registry.algorithm(name), 0)).inputs_digest()
        for name in ("fedavg", "scaffold", "fedlin", "quafl")
    }
    assert len(digests) == 1
