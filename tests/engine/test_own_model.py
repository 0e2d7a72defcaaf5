"""Runs with a model of the user's own: the same record for every number of workers and waves of one
job, after a kill, and in another process; and the library's bits where the layers are the
library's."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import fedbench as fb
from fedbench import own_models, registry
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.errors import OriginError, UsageError
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load, validate
from fedbench.scenarios.schema import Scenario

pytestmark = pytest.mark.extra("torch")

NETS = """
import math
import torch
from torch import nn

def mlp(input_shape, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(input_shape), 200), nn.ReLU(), nn.Linear(200, classes))

class Net(nn.Module):
    def __init__(self, input_shape, classes):
        super().__init__()
        self.inner, self.head = nn.Linear(math.prod(input_shape), 20), nn.Linear(20, classes)
        self.norm, self.drop = nn.BatchNorm1d(20), nn.Dropout(0.25)

    def forward(self, x):
        return self.head(self.drop(torch.tanh(self.norm(self.inner(x.flatten(1))))))
"""
SMALL = ("clients=6", "budget.updates=6", "local.steps=3")


@pytest.fixture(name="nets")
def _nets(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(NETS)
    return tmp_path / "nets.py"


def scenario(nets: Path, name: str = "Net", *more: str) -> Scenario:
    return load("digits-demo", [*SMALL, f"task.model={nets}:{name}", *more])


def record(of: Scenario, algorithm: str = "fedbuff[buffer_size=3]", **options: Any) -> Record:
    (found,) = fb.run(of, algorithm, options=RunOptions(**options))
    return found


def test_a_run_says_which_trainer_computes_it_and_why(nets: Path) -> None:
    found = record(scenario(nets))
    assert found.provenance.trainer == "torch"
    assert found.provenance.trainer_reason == "model nets.py:Net: it is a Net, and no plain nn.Sequential"
    planned = fb.plan(scenario(nets), "fedbuff[buffer_size=3]")
    assert (planned.trainer, planned.trainer_reason) == (found.provenance.trainer, found.provenance.trainer_reason)
    task = found.spec.scenario.task
    assert task.model_sha256 == own_models.named(f"{nets}:Net").sha256
    assert found.spec.overrides is not None
    assert f'task.model_sha256="{task.model_sha256}"' in found.spec.overrides


def test_known_layers_have_the_bits_of_the_library_s_model(nets: Path) -> None:
    ours, theirs = record(scenario(nets, "mlp")), record(load("digits-demo", [*SMALL, "task.model=mlp"]))
    assert ours.provenance.trainer == "native"
    assert ours.digests == theirs.digests
    assert ours.run_id != theirs.run_id


@pytest.mark.parametrize("algorithm", ["fedbuff[buffer_size=3]", "scaffold[cohort_size=3]"])
def test_workers_and_waves_change_no_bit(nets: Path, algorithm: str) -> None:
    whole = record(scenario(nets), algorithm)
    for options in ({"workers": 2}, {"workers": 4, "wave_size": 3}, {"wave_size": 1}):
        again = record(scenario(nets), algorithm, **options)
        assert again.digests == whole.digests, options
        assert again.final == whole.final


class Killed(Exception):
    pass


def test_a_run_goes_on_where_it_was_killed(nets: Path, tmp_path: Path) -> None:
    spec = RunSpec(scenario(nets), registry.algorithm("fedbuff[buffer_size=3]"), 0)
    whole = Run(spec).record()

    def kill(version: int, seconds: float, evaluated: object) -> None:
        if version == 4:
            raise Killed

    with pytest.raises(Killed):
        Run(spec, Store(tmp_path), RunOptions(checkpoint_seconds=0.0), kill).record()
    versions: list[int] = []
    again = Run(spec, Store(tmp_path), RunOptions(resume=True), lambda version, *rest: versions.append(version)).record()
    assert versions[0] > 1
    assert again.digests == whole.digests


def test_another_process_gets_what_the_user_has_named(nets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = RunSpec(scenario(nets), registry.algorithm("fedavg"), 0)
    sent = pickle.dumps(spec)
    monkeypatch.setattr(own_models, "_NAMED", {})
    with pytest.raises(OriginError, match="no file is run because a record names it"):
        Setup(RunSpec(spec.scenario, spec.algorithm, 0)).x0()
    assert pickle.loads(sent) == spec
    assert len(Setup(spec).x0()) == 1550


def test_a_record_s_scenario_runs_nothing(nets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it as the scenario of another run, whatever it says of the sum."""
    content = scenario(nets).resolved()
    monkeypatch.setattr(own_models, "_NAMED", {})
    nets.write_text(NETS + "\nopen(__file__ + '.trace', 'w')\n")
    task: Any = content["task"]
    for sha256 in (task["model_sha256"], own_models.named(f"{nets}:Net").sha256):
        monkeypatch.setattr(own_models, "_NAMED", {})
        forged = validate(content | {"task": task | {"model_sha256": sha256}}, "record")
        with pytest.raises(OriginError, match=r"its model is nets.py:Net with sha256 .*--model path/to/nets.py:Net"):
            fb.run(forged, "fedavg")
    with pytest.raises(
        UsageError, match=r"model_sha256 belongs to a model of your own, file.py:Class; got model '.*and sum None"
    ):
        validate(content | {"task": task | {"model_sha256": None}}, "record")
    assert not nets.with_name("nets.py.trace").exists()


def test_a_file_that_changes_is_another_scenario(nets: Path, tmp_path: Path) -> None:
    one = scenario(nets)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "same.py").write_text(NETS)
    same = scenario(tmp_path / "elsewhere" / "same.py")
    assert same.content_hash() == one.content_hash() != scenario(nets, "mlp").content_hash()
    one = scenario(nets)
    nets.write_text(NETS + "\n")
    assert scenario(nets).content_hash() != one.content_hash()
    with pytest.raises(OriginError, match=r"nets.py has .*: it was changed after the run, or is another one, and was not run"):
        Setup(RunSpec(one, registry.algorithm("fedavg"), 0)).x0()


def test_a_scenario_s_file_names_a_model_beside_it(nets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With or without its sum, which must be the file's. The model takes own data too."""
    np.savez(nets.with_name("mine.npz"), x=np.arange(80.0).reshape(40, 2), y=np.arange(40) % 2)
    task: dict[str, Any] = {"file": "mine.npz", "label": "y", "model": "nets.py:Net"}
    content = load("digits-demo", SMALL).resolved() | {"task": task, "public": None}
    file = nets.with_name("mine.yaml")
    file.write_text(yaml.safe_dump(content))
    given = load(file)
    setup = Setup(RunSpec(given, registry.algorithm("fedavg"), 0))
    assert (len(setup.x0()), setup.task.name, setup.task.model.name) == (142, "file:mine", "nets.py:Net")
    file.write_text(yaml.safe_dump(given.resolved()))
    assert load(file).content_hash() == given.content_hash()
    file.write_text(yaml.safe_dump(content | {"task": task | {"model_sha256": "0" * 64}}))
    with pytest.raises(OriginError, match=r"from a file with sha256 0000000000000000..; nets.py has"):
        load(file)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("task.model=./nothing.py:Net", r"task.model ./nothing.py: not on this machine; looked for"),
        ("task.model=./nothing.py", r"model './nothing.py': expected path/to/file.py:Class or package.module:Class"),
        ("task.model=no_such.module:Net", r"model no_such.module:Net: no module no_such.module is installed"),
        ("task.model=a:b:c", r"model 'a:b:c': expected path/to/file.py:Class"),
        (
            "task.model_sha256=" + "0" * 64,
            r"model_sha256 belongs to a model of your own, file.py:Class; got model 'mlp' and sum 0000000000000000",
        ),
    ],
)
def test_one_line_for_a_name_that_names_no_code(override: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load("digits-demo", [override])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["task.name=mrpc"], r"task mrpc: takes a pretrained encoder, and no model of your own"),
        (["task.augmentation=crop_flip"], r"task.augmentation must be none for task digits"),
    ],
)
def test_one_line_for_what_does_not_go_together(nets: Path, overrides: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fb.run(scenario(nets, "Net", *overrides), "fedavg")


def test_a_device_and_the_native_trainer_refuse_a_black_box(nets: Path) -> None:
    with pytest.raises(
        UsageError, match=r"trainer native: model nets.py:Net: it is a Net, and no plain nn.Sequential; use --trainer"
    ):
        record(scenario(nets), trainer="native")
    with pytest.raises(UsageError, match=r"device cuda: model nets.py:Net trains on the cpu only"):
        fb.plan(scenario(nets), "fedavg", device="cuda")


def test_a_module_of_a_package_is_named_by_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a_package_of_nets").mkdir()
    (tmp_path / "a_package_of_nets" / "__init__.py").touch()
    (tmp_path / "a_package_of_nets" / "some.py").write_text(NETS)
    monkeypatch.syspath_prepend(str(tmp_path))
    given = load("digits-demo", [*SMALL, "task.model=a_package_of_nets.some:mlp"])
    assert record(given, "fedavg[cohort_size=2]").provenance.trainer == "native"
    assert given.task.model == "a_package_of_nets.some:mlp"
