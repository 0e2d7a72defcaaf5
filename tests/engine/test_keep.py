"""The model that is kept beside a record: torch loads it, and its bits are those of the record's
digest."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import fedbench as fb
from fedbench import own_models
from fedbench.cli.main import app
from fedbench.engine import keep
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.setup import Setup
from fedbench.errors import RecordError, UsageError
from fedbench.launch.runner import specs
from fedbench.results import kept_model
from fedbench.results.record import Record
from fedbench.results.store import read, record_folders

pytestmark = pytest.mark.extra("torch")

NETS = """
import math
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, input_shape, classes):
        super().__init__()
        self.register_buffer("shift", torch.full((3,), 0.5))
        self.register_buffer("order", torch.arange(64).flip(0))
        self.register_buffer("scratch", torch.ones(2), persistent=False)
        self.inner, self.head = nn.Linear(math.prod(input_shape), 64), nn.Linear(64, classes)
        self.again = self.inner
        self.norm, self.drop = nn.BatchNorm1d(64), nn.Dropout(0.25)
        self.frozen = nn.Linear(64, 64, bias=False).requires_grad_(False)

    def forward(self, x):
        x = torch.tanh(self.norm(self.inner(x.flatten(1)[:, self.order])))
        return self.head(self.drop(self.frozen(self.again(x)))) + self.shift.sum()

def named(input_shape, classes):
    first = nn.Sequential(nn.Flatten(), nn.Identity(), nn.Linear(math.prod(input_shape), 8))
    return nn.Sequential(first, nn.ReLU(), nn.Linear(8, classes))
"""
SMALL = ["clients=6", "budget.updates=4", "local.steps=2"]


@pytest.fixture(name="nets")
def _nets(tmp_path: Path) -> str:
    (tmp_path / "nets.py").write_text(NETS)
    return str(tmp_path / "nets.py")


def kept(store: Path, model: str, *more: str, task: str = "digits-demo", **options: Any) -> tuple[Record, Path]:
    changes = [*SMALL, f"task.model={model}", *more]
    how = RunOptions(keep_model=True, **options)
    (record,) = fb.run(task, "fedbuff[buffer_size=3]", overrides=changes, store=store, options=how)
    (folder,) = record_folders(store)
    return record, folder


def test_torch_loads_a_model_of_the_users_as_it_was_judged(nets: str, tmp_path: Path) -> None:
    """All tensors of a state_dict are there: with buffers, constants and second names."""
    import torch
    from safetensors.torch import load_file

    record, folder = kept(tmp_path / "runs", f"{nets}:Net")
    state = load_file(folder / kept_model.FILE)
    net = own_models.named(f"{nets}:Net").found()((64,), 10).eval()
    assert state.keys() == net.state_dict().keys() - {"norm.num_batches_tracked"}
    net.load_state_dict(state)  # strictly
    dataset = Run(specs("digits-demo", "fedavg", 1)[0]).setup.task.dataset
    with torch.no_grad():
        right = net(torch.from_numpy(dataset.test.x)).argmax(1).numpy() == dataset.test.y
    assert right.mean() == pytest.approx(record.final.test_accuracy, abs=1e-6)
    assert state["order"].dtype == torch.int64
    assert torch.equal(state["again.weight"], state["inner.weight"])
    kept_model.check(folder, record)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ("mlp", ["1.weight", "1.bias", "3.weight", "3.bias"]),
        ("named", ["0.2.weight", "0.2.bias", "2.weight", "2.bias"]),
    ],
)
def test_names_and_shapes(model: str, names: list[str], nets: str, tmp_path: Path) -> None:
    """Layers of the library are numbered as in a Sequential; in a file of the user's they have its
    names, also where the native trainer computes them."""
    from safetensors.numpy import load_file

    record, folder = kept(tmp_path / "runs", model if model == "mlp" else f"{nets}:{model}")
    assert record.provenance.trainer == "native"
    state = load_file(folder / kept_model.FILE)
    assert list(json.loads(_head(folder))) == ["__metadata__", *names]
    assert sum(one.size for one in state.values()) * 4 == len(_data(folder))
    assert all(one.dtype == np.float32 and math.prod(one.shape) for one in state.values())


def _head(folder: Path) -> bytes:
    content = (folder / kept_model.FILE).read_bytes()
    return content[8 : 8 + int.from_bytes(content[:8], "little")]


def _data(folder: Path) -> bytes:
    return (folder / kept_model.FILE).read_bytes()[8 + len(_head(folder)) :]


def test_buffers_of_the_library_are_kept(tmp_path: Path) -> None:
    """ResNet-18 of the library has BatchNorm, whose buffers follow the parameters."""
    from fedbench.engine.keep import kept_model as content
    from fedbench.engine.trainers.base import Snapshot
    from fedbench.scenarios.load import load
    from fedbench.tasks.data import Dataset, Examples
    from fedbench.tasks.task import Task

    some = Examples(np.zeros((4, 3, 32, 32), np.float32), np.arange(4) % 10)
    task = Task.of(Dataset("made-up", some, some, 10), "resnet18")
    judged = Snapshot(task.model.x0(1), task.model.buffers0())
    (tmp_path / kept_model.FILE).write_bytes(content(task, load("digits-demo").task, judged))
    from safetensors.numpy import load_file

    state = load_file(tmp_path / kept_model.FILE)
    buffer = task.model.buffers[-1]  # type: ignore[union-attr]
    assert np.array_equal(state[buffer.name], judged.buffers[buffer.offset :].reshape(buffer.shape))
    assert len(state) == len(task.model.parameters) + len(task.model.buffers)  # type: ignore[union-attr]


def test_the_record_is_the_same_and_so_is_the_model_for_all_ways_to_compute_it(nets: str, tmp_path: Path) -> None:
    model = f"task.model={nets}:Net"
    (plain,) = fb.run("digits-demo", "fedbuff[buffer_size=3]", overrides=[*SMALL, model])
    ways: list[dict[str, Any]] = [{}, {"workers": 3}, {"wave_size": 1}]
    found = [kept(tmp_path / str(i), f"{nets}:Net", **way) for i, way in enumerate(ways)]
    assert {record.digests.result for record, _ in found} == {plain.digests.result}
    assert len({(folder / kept_model.FILE).read_bytes() for _, folder in found}) == 1
    assert "model" not in {**read(found[0][1]).as_dict()}


def test_a_finished_record_without_its_model_is_made_again(tmp_path: Path) -> None:
    """Resuming takes the record as it is where its model lies beside it."""
    changes = [*SMALL, "task.model=softmax"]
    fb.run("digits-demo", "fedbuff[buffer_size=3]", overrides=changes, store=tmp_path)
    (folder,) = record_folders(tmp_path)
    assert not (folder / kept_model.FILE).exists()
    kept(tmp_path, "softmax", resume=True)
    first = (folder / kept_model.FILE).stat().st_mtime_ns
    kept(tmp_path, "softmax", resume=True)
    assert (folder / kept_model.FILE).stat().st_mtime_ns == first


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-4], r"is not what `fedbench run --keep-model` writes"),
        (lambda content: content[:5], r"\(it is truncated\); delete it"),
        (lambda content: b"\xff" * 8 + content[8:], r"\(it is truncated\); delete it"),
        (lambda content: content[:8] + b"[" + content[9:], r"is not what `fedbench run --keep-model` writes"),
        (lambda content: content.replace(b'"parameters"', b'"parameter_"'), r"writes \('parameters'\); delete it"),
        (lambda content: content[:-4] + b"\0\0\1\0", r"its digest is [0-9a-f]{32}, the record's model has"),
    ],
)
def test_a_changed_model_is_found(change: Any, message: str, tmp_path: Path) -> None:
    record, folder = kept(tmp_path, "softmax")
    file = folder / kept_model.FILE
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(RecordError, match=message) as error:
        kept_model.check(folder, record)
    assert "\n" not in str(error.value)


def renamed(content: bytes, change: Any) -> bytes:
    size = int.from_bytes(content[:8], "little")
    text = json.dumps(change(json.loads(content[8 : 8 + size]))).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


def swapped(head: dict[str, Any]) -> dict[str, Any]:
    """The first two tensors have each other's name."""
    note, (a, one), (b, other), *rest = head.items()
    return dict([note, (b, one), (a, other), *rest])


def reshaped(head: dict[str, Any]) -> dict[str, Any]:
    next(one for one in head.values() if "shape" in one)["shape"].append(1)
    return head


@pytest.mark.parametrize("model", ["mlp", "named", "Net"])
@pytest.mark.parametrize(
    "change",
    [
        swapped,
        reshaped,
        lambda head: {f"a.{name}" if "dtype" in one else name: one for name, one in head.items()},
        lambda head: {name: one for name, one in head.items() if name != [*head][2]},
        lambda head: {name: one if "dtype" not in one else {**one, "dtype": "I32"} for name, one in head.items()},
        lambda head: {name: one if "dtype" not in one else {"dtype": "F32"} for name, one in head.items()},
        lambda head: {"more": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}, **head},
    ],
)
def test_names_and_shapes_are_compared(model: str, change: Any, nets: str, tmp_path: Path) -> None:
    """The bytes of the numbers stay as they are, and so does their digest."""
    model = model if model == "mlp" else f"{nets}:{model}"
    record, folder = kept(tmp_path / "runs", model)
    setup = Setup(specs("digits-demo", "fedbuff[buffer_size=3]", 1, [*SMALL, f"task.model={model}"])[0])
    assert list(keep.apart(folder, {}, setup)) == []
    file = folder / kept_model.FILE
    file.write_bytes(renamed(file.read_bytes(), change))
    kept_model.check(folder, record)
    assert list(keep.apart(folder, {}, setup)) == ["model.names"]


@pytest.mark.parametrize("model", ["mlp", pytest.param("Net", marks=pytest.mark.slow)])
def test_verify_says_so(model: str, nets: str, tmp_path: Path) -> None:
    """Also of a module that runs in a process of its own."""
    _, folder = kept(tmp_path / "runs", model if model == "mlp" else f"{nets}:{model}")
    own = [] if model == "mlp" else ["-m", f"{nets}:{model}"]
    assert ": identical" in CliRunner().invoke(app, ["verify", str(folder), *own]).output
    file = folder / kept_model.FILE
    file.write_bytes(renamed(file.read_bytes(), swapped))
    found = CliRunner().invoke(app, ["verify", str(folder), *own])
    assert found.exit_code == 1
    assert ": differs (first in model.names)" in found.output


def test_what_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^keep_model: what is kept lies beside its record, so it needs a store, got none$"):
        fb.run("digits-demo", "fedavg", options=RunOptions(keep_model=True))
    with pytest.raises(UsageError, match=r"^keep_model: expected an algorithm with one model for all, got local_only"):
        fb.run("digits-demo", "local_only", overrides=SMALL, store=tmp_path, options=RunOptions(keep_model=True))
