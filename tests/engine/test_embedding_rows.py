"""The rows of an embedding side by side: torch's rows and gradient, and no model knows its place.

On torch's CPU device always; `pytest -m gpu` makes the same checks on a GPU.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.func import vmap
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from fedbench.engine.trainers.torch import stacked_products
from fedbench.engine.trainers.torch.device import deterministic
from fedbench.engine.trainers.torch.lanes import Lanes
from fedbench.engine.trainers.torch.loss import CrossEntropy
from fedbench.engine.trainers.torch.stacked_products import Batch, Place, Rows

from .conftest import NETWORKS, digits_as_images

MODELS, SYMBOLS, WIDTH = 5, 11, 3
NOTHING = Batch(torch.empty(0), iter(()))


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("skipped: no GPU")
    return str(request.param)


def drawn(device: str, dtype: torch.dtype, shape: tuple[int, int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns weights and indices (examples, length) of some models, and slopes of the rows. Not
    every symbol is an index."""
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(MODELS, SYMBOLS, WIDTH, generator=generator, dtype=dtype)
    indices = torch.randint(SYMBOLS - 1, (MODELS, *shape), generator=generator)
    slopes = torch.randn(*indices.shape, WIDTH, generator=generator, dtype=dtype)
    return weight.to(device), indices.to(device), slopes.to(device)


def rows_and_gradient(weight: torch.Tensor, indices: torch.Tensor, slopes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The layer has examples behind symbols."""
    gradient = torch.full_like(weight, torch.nan)
    layer = Rows(Place({"weight": weight}, {"weight": gradient}, {}, tuple(indices.shape[2:]), wants=False))
    with deterministic():
        rows = layer.forward(indices.mT.to(weight.dtype), NOTHING).transpose(1, 2)
        layer.backward(slopes.transpose(1, 2))
    return rows, gradient


@pytest.mark.parametrize("elements", [1, 40 * MODELS, 1 << 22])
@pytest.mark.parametrize("shape", [(1, 1), (6, 1), (7, 4)])
def test_torchs_gradient(device: str, shape: tuple[int, int], elements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Index by index, some at a time, and all at once."""
    monkeypatch.setattr(stacked_products, "ELEMENTS", elements)
    weight, indices, slopes = drawn(device, torch.float64, shape)
    _, got = rows_and_gradient(weight, indices, slopes)
    (want,) = torch.autograd.grad(vmap(F.embedding)(indices, weight.requires_grad_()), weight, slopes)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-13)
    assert not got[:, -1].any()


def test_torchs_rows_bit_for_bit(device: str) -> None:
    """A negative zero is one, and what is not finite stays in its row."""
    weight, indices, slopes = drawn(device, torch.float32, (7, 4))
    for row, value in enumerate((-0.0, float("nan"), float("inf"))):
        weight[:, row] = value
    (got, _), want = rows_and_gradient(weight, indices, slopes), vmap(F.embedding)(indices, weight)
    assert got.contiguous().view(torch.int32).equal(want.view(torch.int32))
    assert 0 < got.isfinite().sum() < got.numel()


def test_a_model_does_not_know_its_place(device: str) -> None:
    """The same bits with the models in another order, and beside others."""
    weight, indices, slopes = drawn(device, torch.float32, (40, 30))
    _, together = rows_and_gradient(weight, indices, slopes)
    for order in ([4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [3, 3, 3, 3, 3]):
        assert rows_and_gradient(weight[order], indices[order], slopes[order])[1].equal(together[order])


def test_torchs_own_gradient_is_not_used_side_by_side(device: str) -> None:
    """Its bits depend on the model's place on a GPU, though not on the CPU."""
    model, seen = digits_as_images(NETWORKS["symbols"]).layered, set()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.add(function.overloadpacket.__name__)
            return function(*args, **(kwargs or {}))

    lanes = Lanes(model, 2, 4, torch.float32, torch.device(device), CrossEntropy())
    inputs = lanes.inputs(1)
    inputs.features.copy_(torch.arange(2 * 4 * 64).reshape(2, 4, 1, 8, 8).remainder(17))
    inputs.slopes.fill_(0.25)
    with Watch():
        lanes.backward(inputs)
    assert {"bmm", "gather", "baddbmm_"} <= seen
    assert not [name for name in seen if name.startswith("embedding_") and "backward" in name], seen
