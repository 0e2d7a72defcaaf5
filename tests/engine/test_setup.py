"""What a scenario names and the engine looks up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
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


@pytest.mark.parametrize("model", ["softmax", "mlp"])
def test_uploads_weigh_the_same_for_small_and_large_models(model: str) -> None:
    """Jobs take 2, 4 and 6 s; FedAvg's upload is one vector and SCAFFOLD's are two, whatever a
    vector's size is. Downloads have a rate of their own: none."""
    overrides = [
        "clients=3",
        "local.steps=[1, 2, 3]",
        "compute={kind: per_step, step_seconds: 2}",
        "network={upload_over_compute: 0.5}",
    ]
    scenario = load("digits-demo", [*overrides, f"task.model={model}"])
    timings = [
        Setup(RunSpec(scenario, registry.algorithm(f"{name}[cohort_size=3]"), 0)).timing() for name in ("fedavg", "scaffold")
    ]
    assert [timing.upload.a for timing in timings] == pytest.approx([2, 4])
    assert timings[0].download.a == 0


def test_inputs_do_not_depend_on_what_an_algorithm_sends() -> None:
    """SCAFFOLD sends two vectors, FedLin waits for full gradients, QuAFL is polled: the scenario
    drew the same for all of them."""
    digests = {
        Setup(RunSpec(load("digits-demo"), registry.algorithm(name), 0)).inputs_digest()
        for name in ("fedavg", "scaffold", "fedlin", "quafl")
    }
    assert len(digests) == 1


def test_one_worker_has_what_clients_have_and_no_more(tmp_path: Path) -> None:
    """Of five owners the three largest are clients: a pooled worker has the examples of these
    three."""
    owner = np.repeat([0, 1, 2, 3, 4], [10, 40, 20, 5, 25])
    np.savez(tmp_path / "mine.npz", x=np.arange(100.0), y=np.arange(100) % 2, who=owner)
    task = f"task={{file: {tmp_path / 'mine.npz'}, label: y, client: who, features: [x]}}"
    scenario = load("digits-demo", [task, "clients=3", "partition={kind: natural}", "public=null"])
    apart, pooled = (Setup(RunSpec(scenario, registry.algorithm(name), 0)) for name in ("fedavg", "centralised"))
    owners = apart.task.dataset.train.owner
    assert owners is not None
    assert [np.unique(owners[rows]).tolist() for rows in apart.shards] == [[1], [2], [4]]
    assert pooled.shards[0].tolist() == np.flatnonzero(np.isin(owners, [1, 2, 4])).tolist()
