"""Models of the user's own: what they are made of, where they begin, and one line for what cannot
be trained."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedbench import own_models
from fedbench.engine.trainers.base import Assignment, Workload
from fedbench.engine.trainers.torch.one_by_one import TorchTrainer
from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.scenarios.partition import iid
from fedbench.tasks import digits
from fedbench.tasks.model_library import make_model
from fedbench.tasks.models import Model
from fedbench.tasks.own_model import OwnLayers, OwnModel, of_source
from fedbench.tasks.own_module import Here
from fedbench.tasks.task import Task
from fedbench.types import Job, LocalRule, Vector


def made(factory: Any, shape: tuple[int, ...] = (64,), classes: int = 10) -> Model | OwnModel:
    return of_source("mine.py:Net", shape, classes, Here(factory, "mine.py:Net", shape, classes))


def mlp(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(input_shape), 200), nn.ReLU(), nn.Linear(200, classes))


class Net(nn.Module):
    """Known layers in an order that only forward knows, with buffers and dropout."""

    def __init__(self, input_shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.inner, self.head = nn.Linear(math.prod(input_shape), 20), nn.Linear(20, classes)
        self.norm, self.drop = nn.BatchNorm1d(20), nn.Dropout(0.25)
        self.register_buffer("scale", torch.ones(20), persistent=False)
        self.register_buffer("order", torch.arange(20))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.head(self.drop(torch.tanh(self.norm(self.inner(x.flatten(1))) * self.scale)[:, self.order]))
        return found


def test_known_layers_with_default_values_are_the_library_s_model() -> None:
    """Of the same bits at the beginning, and so everywhere: every trainer sees the same layers."""
    ours, theirs = made(mlp), make_model("mlp", (64,), 10)
    assert type(ours) is Model
    assert ours.layers == theirs.layers
    assert ours.x0(3).tobytes() == theirs.x0(3).tobytes()


def test_known_layers_may_begin_elsewhere() -> None:
    def scaled(input_shape: tuple[int, ...], classes: int) -> nn.Module:
        net = mlp(input_shape, classes)
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.mul_(0.5)
        return net

    model, plain = made(scaled), made(mlp)
    assert isinstance(model, OwnLayers)
    assert model.layers == plain.layers
    assert model.x0(0).tobytes() == model.x0(0).tobytes() != model.x0(1).tobytes()
    assert abs(float(model.x0(0)[:12800].std()) / float(plain.x0(0)[:12800].std()) - 0.5) < 0.02


def test_initial_values_are_those_of_the_constructor_under_the_run_s_seed() -> None:
    """And torch's own generator goes on as if nothing had been drawn."""
    before = torch.get_rng_state()
    model = made(Net)
    x = model.x0(5)
    assert torch.equal(before, torch.get_rng_state())
    high, low = RandomStream(5, Purpose.parameters, 0, 0).words(2).tolist()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(high << 32 | low)
        net = Net((64,), 10)
    assert x.tobytes() == torch.cat([one.detach().ravel() for one in net.parameters()]).numpy().tobytes()


def test_the_flat_vectors_have_parameters_and_buffers_in_order() -> None:
    """Buffers of whole numbers, and those that are not saved, are constants."""
    model = made(Net)
    assert isinstance(model, OwnModel)
    names = ["inner.weight", "inner.bias", "head.weight", "head.bias", "norm.weight", "norm.bias"]
    assert [one.name for one in model.parameters] == names
    assert [one.offset for one in model.parameters] == [0, 1280, 1300, 1500, 1510, 1530]
    assert [one.name for one in model.buffers] == ["norm.running_mean", "norm.running_var"]
    assert (model.dim, model.output_shape) == (1550, (10,))
    assert model.buffers0().tolist() == [0.0] * 20 + [1.0] * 20
    assert model.why == "it is a Net, and no plain nn.Sequential"


def trained_here(model: OwnModel, steps: int) -> tuple[Vector, Vector, TorchTrainer]:
    data = digits.dataset()
    trainer = TorchTrainer(Workload(Task("digits", model, data), iid(len(data.train), 4, 0), batch_size=7, seed=3))
    rule = LocalRule(start=model.x0(0), lr=0.1)
    (work,) = trainer.train([Assignment(Job(1, 2, 0, steps), rule, trainer.initial_buffers())])
    return work.end, work.buffers, trainer


def test_a_job_by_hand() -> None:
    """Two steps in plain torch, with masks from the job's stream: the words of the first step, then
    those of the second."""
    model = made(Net)
    assert isinstance(model, OwnModel)
    end, buffers, trainer = trained_here(model, 2)
    net, stream = Net((64,), 10), RandomStream(3, Purpose.dropout, 1, 2)
    masks = [torch.from_numpy(stream.words(7 * 20) >= 0.25 * 2**32).view(7, 20) / 0.75 for _ in range(2)]
    nn.utils.vector_to_parameters(torch.from_numpy(model.x0(0)), net.parameters())
    net.drop.forward = lambda input: input * masks.pop(0)  # type: ignore[method-assign]
    for features, labels in trainer._batches(Job(1, 2, 0, 2)):
        loss = F.cross_entropy(net(features), labels)
        gradients = torch.autograd.grad(loss, list(net.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(net.parameters(), gradients, strict=True):
                parameter.sub_(0.1 * gradient)
    np.testing.assert_allclose(end, torch.cat([one.detach().ravel() for one in net.parameters()]).numpy(), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(buffers[:20], net.norm.running_mean, rtol=1e-6)


class InPlace(Net):
    """Changes the batch that it is given."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.sub_(1.0))


def test_a_module_may_change_its_batch_and_not_the_data() -> None:
    model = made(InPlace)
    assert isinstance(model, OwnModel)
    end, buffers, trainer = trained_here(model, 1)
    before = trainer.test_x.kept.clone()
    from fedbench.engine.trainers.base import Snapshot

    trainer.test_scores([Snapshot(end, buffers)])
    assert torch.equal(before, trainer.test_x.kept)


def test_what_a_factory_is_called_with() -> None:
    """The shape and the classes by their names, or in order, or nothing."""

    def by_name(width: int = 5, *, classes: int, input_shape: tuple[int, ...]) -> nn.Module:
        return nn.Linear(math.prod(input_shape), classes)

    def in_order(shape: tuple[int, ...], labels: int) -> nn.Module:
        return nn.Linear(math.prod(shape), labels)

    for factory in (by_name, in_order, lambda: nn.Linear(64, 10), lambda classes: nn.Linear(64, classes)):
        assert made(factory).dim == 650
    with pytest.raises(UsageError, match=r"expected parameters \(input_shape, classes\) or none, got width without a default"):
        made(lambda width: nn.Linear(64, width))


class Other(Net):
    """A model with one mistake."""

    mistake = staticmethod(lambda net, x: net)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return type(self).mistake(self, x)  # type: ignore[no-any-return]


def with_mistake(body: Any) -> type[nn.Module]:
    return type("Wrong", (Other,), {"mistake": staticmethod(body)})


def counts(net: Any, x: torch.Tensor) -> torch.Tensor:
    net.calls = getattr(net, "calls", 0) + 1
    found: torch.Tensor = Net.forward(net, x) * net.calls
    return found


def writes(net: Any, x: torch.Tensor) -> torch.Tensor:
    net.order.copy_(net.order.roll(1))
    return Net.forward(net, torch.zeros_like(x))


def shared() -> nn.Module:
    one, other = nn.BatchNorm1d(64), nn.BatchNorm1d(64)
    other.running_mean = one.running_mean
    return nn.Sequential(one, other, nn.Linear(64, 10))


def unseeded() -> nn.Module:
    net = nn.Linear(64, 10)
    with torch.no_grad():
        net.weight.copy_(torch.from_numpy(np.random.default_rng().normal(size=(10, 64))))
    return net


def of_frozen(layer: nn.Module) -> nn.Module:
    return layer.requires_grad_(False)


BAD: dict[str, tuple[Any, str]] = {
    "no module": (lambda: 3, "expected a torch.nn.Module, or a function that returns one, got int"),
    "fails when made": (lambda: nn.Linear(64, 10, nothing=1), "cannot be made for examples of shape (64,) in 10 classes: "),  # type: ignore[call-arg]
    "no size": (lambda: nn.LazyLinear(10), "parameter weight has no shape before the first batch"),
    "nothing to train": (nn.Flatten, "has no parameters"),
    "all frozen": (lambda: of_frozen(nn.Linear(64, 10)), "has no parameters that are trained"),
    "other shape": (lambda: nn.Sequential(nn.Linear(32, 10)), "fails on 2 examples of shape (64,): RuntimeError: mat1 and mat2"),
    "too few logits": (
        lambda: nn.Sequential(nn.Linear(64, 9)),
        "forward must give logits (2, 10) in torch.float32 for 2 examples, got",
    ),
    "no tensor": (with_mistake(lambda net, x: [x]), "forward must give a tensor of logits, got list"),
    "float64": (with_mistake(lambda net, x: Net.forward(net, x).double()), "got (2, 10) in torch.float64"),
    "draws": (with_mistake(lambda net, x: F.dropout(Net.forward(net, x))), "forward draws from torch's generator"),
    "counts": (with_mistake(counts), "forward gives other logits the second time"),
    "writes a constant": (with_mistake(writes), "forward changes order, which is a constant"),
    "unused": (with_mistake(lambda net, x: net.head(net.inner(x))), "forward does not use parameter norm.weight"),
    "counts batches": (lambda: nn.Sequential(nn.BatchNorm1d(64, momentum=None), nn.Linear(64, 10)), "counts batches; give it"),
    "shares a buffer": (shared, "two modules share a buffer"),
    "draws when made": (unseeded, "is made with other values the second time; only torch's generator has a seed there"),
    "complex": (
        lambda: nn.Linear(64, 10, dtype=torch.complex64),
        "parameter weight must be of real numbers, got torch.complex64",
    ),
    "dropout of all": (lambda: nn.Sequential(nn.Dropout(1.0), nn.Linear(64, 10)), "p must be in [0, 1), got 1.0"),
}


@pytest.mark.parametrize("name", BAD)
def test_one_line_for_what_cannot_be_trained(name: str) -> None:
    factory, message = BAD[name]
    with pytest.raises(UsageError) as error:
        made(factory)
    first = str(error.value).split("\n")[0]
    assert message in first
    assert "mine.py:Net" in first or name == "dropout of all"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("class Net: pass", "Nett", r"mine.py has no class or function 'Nett'; did you mean 'Net'\?"),
        ("net = 3", "net", r"expected a class or a function, got int"),
        ("import nothing_of_this_name", "Net", r"cannot be imported: .*mine.py, line 1.*ModuleNotFoundError"),
    ],
)
def test_one_line_for_code_that_has_no_model(tmp_path: Path, text: str, name: str, message: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(UsageError, match=message):
        own_models.named(f"{tmp_path}/mine.py:{name}").found()
