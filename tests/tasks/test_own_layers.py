"""Modules of torch that are layers of the library, and those that only look like them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from fedbench.tasks import layers as ours
from fedbench.tasks.own_layers import layers_of


class Inherited(nn.Sequential):
    """A Sequential like any other."""

    def __init__(self, width: int) -> None:
        super().__init__(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))


class Doubled(nn.Sequential):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = 2 * super().forward(x)
        return found


def test_every_layer_of_the_library_is_known() -> None:
    first = nn.Sequential(nn.Conv2d(1, 4, 5, 2, 1, bias=False), nn.BatchNorm2d(4), nn.MaxPool2d((2, 2)), nn.Identity())
    module = nn.Sequential(
        *(first, nn.Conv2d(4, 6, (3, 3)), nn.AvgPool2d(2, stride=2), nn.Dropout2d(0.25)),
        *(nn.Flatten(), nn.Linear(54, 20), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(20, 10)),
    )
    assert layers_of(module) == (
        *(ours.Conv2d(1, 4, 5, 2, 1, bias=False), ours.BatchNorm2d(4), ours.MaxPool2d(2)),
        *(ours.Conv2d(4, 6, 3), ours.AvgPool2d(2), ours.Dropout2d(0.25)),
        *(ours.Flatten(), ours.Linear(54, 20), ours.ReLU(), ours.Dropout(0.5), ours.Linear(20, 10)),
    )
    assert layers_of(Inherited(30)) == (ours.Linear(64, 30), ours.ReLU(), ours.Linear(30, 10))


SHARED = nn.Linear(10, 10)


def hooked() -> nn.Linear:
    layer = nn.Linear(10, 10)
    layer.register_forward_hook(lambda module, given, found: 2 * found)
    return layer


def replaced() -> nn.Linear:
    layer = nn.Linear(10, 10)
    layer.forward = lambda input: 2 * input  # type: ignore[method-assign]
    return layer


def frozen() -> nn.Linear:
    layer = nn.Linear(10, 10)
    layer.bias.requires_grad_(False)
    return layer


@pytest.mark.parametrize(
    "layer",
    [
        *(nn.Linear(10, 10, bias=False), nn.GELU(), nn.ReLU6(), nn.Flatten(0), nn.Dropout(1.0), nn.AlphaDropout(0.1)),
        *(nn.Conv2d(1, 1, 3, dilation=2), nn.Conv2d(2, 2, 3, groups=2), nn.Conv2d(1, 1, 3, padding="same")),
        *(nn.Conv2d(1, 1, (3, 1)), nn.Conv2d(1, 1, 3, padding_mode="circular"), nn.Conv2d(1, 1, 3, stride=(1, 2))),
        *(nn.MaxPool2d(2, stride=1), nn.MaxPool2d(2, ceil_mode=True), nn.MaxPool2d(3, padding=1), nn.MaxPool2d(2, dilation=2)),
        *(nn.AvgPool2d(2, ceil_mode=True), nn.AvgPool2d(2, divisor_override=3), nn.AvgPool2d(2, padding=1)),
        *(nn.BatchNorm2d(3, momentum=0.2), nn.BatchNorm2d(3, eps=1e-3), nn.BatchNorm2d(3, affine=False)),
        *(nn.Linear(10, 10).double(), nn.utils.parametrizations.weight_norm(nn.Linear(10, 10))),
        *(hooked(), replaced(), frozen(), Doubled(nn.Linear(10, 10))),
    ],
    ids=lambda layer: str(layer).replace("\n", " ")[:60],
)
def test_what_computes_something_else_is_not_known(layer: nn.Module) -> None:
    with pytest.raises(ValueError, match=r"none of the library's|no plain nn.Sequential"):
        layers_of(nn.Sequential(nn.Flatten(), layer))


def test_a_layer_that_is_used_twice_has_one_set_of_parameters() -> None:
    tied = nn.Linear(10, 10)
    tied.weight = SHARED.weight
    for module in (nn.Sequential(SHARED, nn.ReLU(), SHARED), nn.Sequential(SHARED, tied)):
        with pytest.raises(ValueError, match="a layer is used twice, or two share a parameter"):
            layers_of(module)
    assert layers_of(nn.Sequential(SHARED)) == (ours.Linear(10, 10),)
