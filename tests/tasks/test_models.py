"""Layer lists: counts, shapes, refusals, x0; and the torch module against a torch.nn.Sequential
written out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.tasks import model_library
from fedbench.tasks.layers import Conv2d, Dropout, Dropout2d, Flatten, Layer, Linear, MaxPool2d, ReLU
from fedbench.tasks.models import Model
from fedbench.tasks.tensors import Shape, Uniform
from fedbench.tasks.torch_model import build, flatten_parameters

IMAGES: Shape = (1, 28, 28)


def by_hand(name: str) -> nn.Sequential:
    """The same networks in the papers' order of layers: ReLU directly after each convolution
    (evaluation: no dropout)."""
    head: list[nn.Module]
    match name:
        case "softmax":
            return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
        case "mlp":
            return nn.Sequential(nn.Flatten(), nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 10))
        case "mlp_25450":
            return nn.Sequential(nn.Flatten(), nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))
        case "mlp_101770":
            return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
        case "cnn_21840":
            channels, head = (10, 20), [nn.Linear(320, 50), nn.ReLU(), nn.Linear(50, 10)]
        case _:
            channels, head = (32, 64), [nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 10)]
    first = [nn.Conv2d(1, channels[0], 5), nn.ReLU(), nn.MaxPool2d(2)]
    second = [nn.Conv2d(channels[0], channels[1], 5), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*first, *second, nn.Flatten(), *head)


def batch(shape: Shape, n: int = 5) -> torch.Tensor:
    values = RandomStream(1, Purpose.evaluation).normal(n * math.prod(shape))
    return torch.from_numpy(values.astype(np.float32).reshape(n, *shape))


@pytest.mark.parametrize(
    ("name", "dim"),
    [
        ("softmax", 7_850),
        ("mlp", 159_010),
        ("mlp_25450", 25_450),
        ("mlp_101770", 101_770),
        ("cnn_21840", 21_840),
        ("cnn_582026", 582_026),
    ],
)
def test_parameter_counts(name: str, dim: int) -> None:
    model = model_library.make_model(name, IMAGES, 10)
    assert model.dim == dim
    assert model.output_shape == (10,)
    assert sum(p.numel() for p in build(model).parameters()) == dim


def test_parameters_of_the_small_cnn() -> None:
    model = model_library.make_model("cnn_21840", IMAGES, 10)
    layout = [(p.name, p.shape, p.offset) for p in model.parameters]
    assert [layer for layer in model.layers if isinstance(layer, Dropout)] == [Dropout2d(0.5), Dropout(0.5)]
    assert layout[:4] == [
        ("0.weight", (10, 1, 5, 5), 0),
        ("0.bias", (10,), 250),
        ("3.weight", (20, 10, 5, 5), 260),
        ("3.bias", (20,), 5260),
    ]
    laws = [Uniform(1 / math.sqrt(fan_in)) for fan_in in (25, 25, 250, 250, 320, 320, 50, 50)]
    assert [p.law for p in model.parameters] == laws
    assert [(name, tuple(p.shape)) for name, p in build(model).named_parameters()] == [
        (p.name, p.shape) for p in model.parameters
    ]


@pytest.mark.parametrize("name", ["softmax", "mlp", "mlp_25450", "mlp_101770", "cnn_21840", "cnn_582026"])
def test_forward_and_gradient_equal_plain_torch(name: str) -> None:
    model = model_library.make_model(name, IMAGES, 10)
    ours, theirs = build(model), by_hand(name)
    flat = torch.from_numpy(model.x0(3))
    gradient = flatten_parameters(ours, flat)
    nn.utils.vector_to_parameters(flat, theirs.parameters())
    ours.eval()
    x, y = batch(IMAGES), torch.tensor([0, 3, 9, 1, 1])
    torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=0)
    for module in (ours, theirs):
        torch.autograd.backward(nn.functional.cross_entropy(module(x), y))
    expected = torch.cat([p.grad.reshape(-1) for p in theirs.parameters() if p.grad is not None])
    torch.testing.assert_close(gradient, expected, rtol=1e-6, atol=1e-8)


def test_stride_and_padding_reach_torch() -> None:
    layers = (Conv2d(3, 4, 3, stride=2, padding=1), MaxPool2d(2), Flatten(), Linear(4 * 4 * 3, 2))
    model = Model("odd", (3, 17, 12), layers)
    assert model.shapes == ((3, 17, 12), (4, 9, 6), (4, 4, 3), (48,), (2,))
    module = build(model)
    x = batch((3, 17, 12))
    for child, shape in zip(module, model.shapes[1:], strict=True):
        x = child(x)
        assert x.shape[1:] == shape


def test_x0_is_bound_times_the_stream() -> None:
    model = model_library.make_model("cnn_21840", IMAGES, 10)
    x = model.x0(11, np.float64)
    for tensor, parameter in enumerate(model.parameters):
        part = x[parameter.offset :][: parameter.size]
        bound = parameter.law.bound  # type: ignore[union-attr]
        np.testing.assert_array_equal(part, bound * (2 * RandomStream(11, Purpose.parameters, 0, tensor).uniform(part.size) - 1))
        assert abs(part).max() <= bound
        if part.size > 1000:
            # A uniform law fills its range and has standard deviation bound / sqrt(3).
            assert abs(part).max() > 0.99 * bound
            assert part.std() == pytest.approx(bound / math.sqrt(3), rel=0.05)


def test_x0_dtype_and_seed() -> None:
    model = model_library.make_model("mlp", (64,), 10)
    single, double = model.x0(5), model.x0(5, np.float64)
    assert (single.dtype, double.dtype) == (np.dtype(np.float32), np.dtype(np.float64))
    np.testing.assert_array_equal(single, double.astype(np.float32))
    np.testing.assert_array_equal(single, model.x0(5))
    assert (single != model.x0(6)).mean() > 0.99


def test_x0_has_torchs_default_law() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layer = nn.Conv2d(10, 20, 5)
    bound = model_library.make_model("cnn_21840", IMAGES, 10).parameters[2].law.bound  # type: ignore[union-attr]
    weight, bias = (parameter.detach().abs().max().item() for parameter in layer.parameters())
    assert weight == pytest.approx(bound, rel=0.01)
    assert 0.8 * bound < bias <= bound


def test_flat_views_are_views() -> None:
    model = model_library.make_model("mlp", (64,), 10)
    module, flat = build(model), torch.from_numpy(model.x0(0))
    gradient = flatten_parameters(module, flat)
    tensors = dict(module.named_parameters())
    for parameter in model.parameters:
        tensor = tensors[parameter.name]
        assert tensor.data_ptr() == flat[parameter.offset :].data_ptr()
        assert tensor.grad is not None
        assert tensor.grad.data_ptr() == gradient[parameter.offset :].data_ptr()
    x = batch((64,))
    module(x).square().sum().backward()
    once = gradient.clone()
    assert once.abs().sum() > 0
    module(x).square().sum().backward()
    torch.testing.assert_close(gradient, 2 * once)
    flat.zero_()
    assert module(x).abs().sum() == 0


def test_flat_of_another_kind_is_refused() -> None:
    module = build(model_library.make_model("softmax", (3,), 2))
    with pytest.raises(UsageError, match=r"must be a contiguous \(8,\), got \(7,\)"):
        flatten_parameters(module, torch.zeros(7))
    with pytest.raises(UsageError, match=r"1\.weight is torch\.float32 on cpu, flat is torch\.float64"):
        flatten_parameters(module, torch.zeros(8, dtype=torch.float64))


def test_build_leaves_torchs_generator_alone() -> None:
    before = torch.get_rng_state()
    module = build(model_library.make_model("cnn_21840", IMAGES, 10), torch.float64)
    torch.testing.assert_close(torch.get_rng_state(), before)
    assert all(p.dtype == torch.float64 and not p.any() for p in module.parameters())


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (
            (Linear(784, 10),),
            r"model bad: layer 0, Linear\(inputs=784, outputs=10\), takes \(784,\), gets \(1, 28, 28\); put Flatten",
        ),
        ((Flatten(), Linear(783, 10)), r"layer 1, .* takes \(783,\), gets \(784,\)"),
        ((Conv2d(3, 4, 5),), r"layer 0, Conv2d.* takes images \(3, h, w\), gets \(1, 28, 28\)"),
        ((Conv2d(1, 4, 29),), "has a kernel of 29, gets a side of only 28"),
        ((Flatten(), MaxPool2d(2)), r"layer 1, MaxPool2d\(kernel=2\), takes images"),
        ((Flatten(), Dropout2d(0.5)), r"layer 1, Dropout2d\(p=0\.5\), takes images"),
        ((Flatten(), ReLU()), "has no parameters"),
    ],
)
def test_layers_that_do_not_chain(layers: tuple[Layer, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Model("bad", IMAGES, layers)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Linear(0, 3), r"inputs must be an integer >= 1, got 0"),
        (lambda: Conv2d(1, 1, 3, padding=-1), r"padding must be an integer >= 0, got -1"),
        (lambda: MaxPool2d(2.0), r"kernel must be an integer >= 1, got 2\.0"),  # type: ignore[arg-type]
        (lambda: Dropout(1.0), r"Dropout\(p=1\.0\): p must be in \[0, 1\), got 1\.0"),
        (lambda: Dropout2d(math.nan), r"got nan"),
        (lambda: model_library.make_model("cnn_21480", IMAGES, 10), r"unknown name 'cnn_21480'; did you mean 'cnn_21840'\?"),
        (
            lambda: model_library.make_model("cnn_582026", (3, 32, 32), 10),
            r"takes images \(1, 28, 28\) .* got \(3, 32, 32\) in 10; use softmax",
        ),
    ],
)
def test_refused_values(make: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()
