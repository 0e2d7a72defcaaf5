"""AlexNet, VGG-19 and ResNet-18: exact counts, x0, and the torch module against the papers'
networks written out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.tasks.layers import AvgPool2d, BatchNorm2d, Conv2d, Flatten, Layer, Linear, ReLU, Residual
from fedbench.tasks.model_library import make_model
from fedbench.tasks.models import Model
from fedbench.tasks.tensors import Constant, Normal
from fedbench.tasks.torch_model import build, flatten_buffers, flatten_parameters

IMAGES = (3, 32, 32)


class Block(nn.Module):
    """He et al. 2016, figure 2, with batch normalisation after every convolution."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(inner)) + self.shortcut(x))


def conv(inputs: int, outputs: int, kernel: int = 3, **options: int) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, kernel, **({"padding": 1} | options)), nn.ReLU()]  # type: ignore[arg-type]


def by_hand(name: str) -> nn.Sequential:
    """In the papers' order of layers, ReLU directly after each convolution; without dropout."""
    pool = nn.MaxPool2d(2)
    match name:
        case "cnn_878538":
            body = [*conv(3, 32, 5, padding=0), pool, *conv(32, 64, 5, padding=0), pool]
            head: list[nn.Module] = [nn.Linear(1600, 512), nn.ReLU(), nn.Linear(512, 10)]
        case "alexnet":
            body = [*conv(3, 64, 11, stride=4, padding=5), pool, *conv(64, 192, 5, padding=2), pool]
            body += [*conv(192, 384), *conv(384, 256), *conv(256, 256), pool]
            head = [nn.Linear(256, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 10)]
        case "vgg19":
            body, inputs = [], 3
            for outputs, times in ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4)):
                for _ in range(times):
                    body += conv(inputs, outputs)
                    inputs = outputs
                body.append(pool)
            head = [nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
        case _:
            blocks: Sequence[tuple[int, int, int]] = ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2))
            body = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
            for i, o, stride in blocks:
                body += [Block(i, o, stride), Block(o, o, 1)]
            body.append(nn.AvgPool2d(4))
            head = [nn.Linear(512, 10)]
    return nn.Sequential(*body, nn.Flatten(), *head)


def images(n: int) -> torch.Tensor:
    return torch.from_numpy(RandomStream(1, Purpose.evaluation).normal(n * 3072).astype(np.float32).reshape(n, *IMAGES))


@pytest.mark.parametrize(
    ("name", "classes", "dim"),
    [
        ("cnn_878538", 10, 878_538),
        ("alexnet", 10, 7_212_874),
        ("vgg19", 10, 20_554_826),
        ("resnet18", 10, 11_173_962),
        ("resnet18", 100, 11_220_132),
    ],
)
def test_parameter_counts(name: str, classes: int, dim: int) -> None:
    model = make_model(name, IMAGES, classes)
    assert (model.dim, model.output_shape) == (dim, (classes,))
    module = build(model)
    assert [(n, tuple(p.shape)) for n, p in module.named_parameters()] == [(p.name, p.shape) for p in model.parameters]
    assert [(n, tuple(b.shape)) for n, b in module.named_buffers()] == [(b.name, b.shape) for b in model.buffers]
    assert len(model.buffers0()) == (9_600 if name == "resnet18" else 0)


@pytest.mark.parametrize("name", ["cnn_878538", "alexnet", "vgg19", "resnet18"])
def test_forward_and_gradient_equal_plain_torch(name: str) -> None:
    """In training for ResNet, whose buffers must move alike; in evaluation for the others, which
    have dropout."""
    model = make_model(name, IMAGES, 10)
    ours, theirs = build(model), by_hand(name)
    flat, buffers = torch.from_numpy(model.x0(3)), torch.from_numpy(model.buffers0())
    gradient = flatten_parameters(ours, flat)
    flatten_buffers(ours, buffers)
    nn.utils.vector_to_parameters(flat, theirs.parameters())
    ours.train(name == "resnet18")
    x, y = images(5), torch.tensor([0, 3, 9, 1, 1])
    torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=0)
    for module in (ours, theirs):
        torch.autograd.backward(F.cross_entropy(module(x), y))
    expected = torch.cat([p.grad.reshape(-1) for p in theirs.parameters() if p.grad is not None])
    torch.testing.assert_close(gradient, expected, rtol=1e-5, atol=1e-7)
    if name == "resnet18":
        kept = torch.cat([b.reshape(-1) for n, b in theirs.named_buffers() if "num" not in n])
        torch.testing.assert_close(buffers, kept, rtol=0, atol=0)
        assert not torch.equal(buffers, torch.from_numpy(model.buffers0()))


def test_x0_of_the_convolutions_of_vgg() -> None:
    """N(0, sqrt(2 / (k^2 c_out))), biases 0; linear layers by torch's default."""
    model = make_model("vgg19", IMAGES, 10)
    x, last = model.x0(4), model.parameters[-1]
    assert (model.parameters[0].law, model.parameters[1].law) == (Normal(math.sqrt(2 / (9 * 64))), Constant(0.0))
    for t, parameter in enumerate(model.parameters):
        part = x[parameter.offset :][: parameter.size]
        if len(parameter.shape) == 4:
            std = math.sqrt(2 / (9 * parameter.shape[0]))
            np.testing.assert_array_equal(
                part, (std * RandomStream(4, Purpose.parameters, 0, t).normal(part.size)).astype(np.float32)
            )
            assert part.size < 10_000 or part.std() == pytest.approx(std, rel=0.02)
        elif int(parameter.name.split(".")[0]) < 37:
            assert not part.any()
    assert np.abs(x[last.offset :]).max() <= 1 / math.sqrt(512)


def test_x0_and_buffers_of_batch_norm() -> None:
    model = Model("tiny", (2, 4, 4), (Conv2d(2, 3, 3, bias=False), BatchNorm2d(3), AvgPool2d(2), Flatten(), Linear(3, 2)))
    assert [p.name for p in model.parameters] == ["0.weight", "1.weight", "1.bias", "4.weight", "4.bias"]
    assert model.x0(0)[54:60].tolist() == [1, 1, 1, 0, 0, 0]
    assert model.buffers0().tolist() == [0, 0, 0, 1, 1, 1]
    assert model.shapes[3] == (3, 1, 1)


def test_names_inside_a_residual() -> None:
    body = (BatchNorm2d(2), ReLU())
    model = Model("r", (2, 2, 2), (Residual(body, (Conv2d(2, 2, 1),)), Flatten()))
    assert [p.name for p in model.parameters] == ["0.body.0.weight", "0.body.0.bias", "0.shortcut.0.weight", "0.shortcut.0.bias"]
    assert [b.name for b in model.buffers] == ["0.body.0.running_mean", "0.body.0.running_var"]


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ((BatchNorm2d(2),), r"layer 0, BatchNorm2d\(channels=2\), takes images \(2, h, w\), gets \(3, 32, 32\)"),
        ((Residual((Conv2d(3, 3, 3),)),), r"adds \(3, 30, 30\) of its body and \(3, 32, 32\) of its shortcut"),
        ((Residual((ReLU(), Linear(3, 3))),), r"layer 0, Residual.*, layer 1, Linear.* takes \(3,\), gets \(3, 32, 32\)"),
    ],
)
def test_layers_that_do_not_fit(layers: tuple[Layer, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Model("bad", IMAGES, layers)


def test_models_of_another_size() -> None:
    with pytest.raises(UsageError, match=r"alexnet: takes images \(3, 32, 32\), got \(1, 28, 28\) in 10"):
        make_model("alexnet", (1, 28, 28), 10)
    with pytest.raises(UsageError, match=r"cnn_878538: takes images \(3, 32, 32\) in 10 classes, got \(3, 32, 32\) in 100"):
        make_model("cnn_878538", IMAGES, 100)


def test_flat_buffers_of_another_size() -> None:
    with pytest.raises(UsageError, match=r"flat buffers: must be \(9600,\), got \(9601,\)"):
        flatten_buffers(build(make_model("resnet18", IMAGES, 10)), torch.zeros(9601))
