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

from fedbench.engine.trainers.torch import embedding
from fedbench.engine.trainers.torch.device import deterministic
from fedbench.engine.trainers.torch.embedding import gather
from fedbench.engine.trainers.torch.lanes import Lanes
from fedbench.engine.trainers.torch.loss import CrossEntropy

from .conftest import NETWORKS, digits_as_images

MODELS, SYMBOLS, WIDTH = 5, 11, 3


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("skipped: no GPU")
    return str(request.param)


def drawn(device: str, dtype: torch.dtype, shape: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns weights and indices of some models, and slopes of the rows. Not every symbol is an
    index."""
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(MODELS, SYMBOLS, WIDTH, generator=generator, dtype=dtype)
    indices = torch.randint(SYMBOLS - 1, (MODELS, *shape), generator=generator)
    slopes = torch.randn(*indices.shape, WIDTH, generator=generator, dtype=dtype)
    return weight.to(device), indices.to(device), slopes.to(device)


def gradient(function: Any, weight: torch.Tensor, indices: torch.Tensor, slopes: torch.Tensor) -> torch.Tensor:
    weight = weight.clone().requires_grad_()
    with deterministic():
        return torch.autograd.grad(vmap(function)(indices, weight), weight, slopes)[0]


@pytest.mark.parametrize("elements", [1, 40, 1 << 22])
@pytest.mark.parametrize("shape", [(), (6,), (7, 4)])
def test_torchs_gradient(device: str, shape: tuple[int, ...], elements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Index by index, some at a time, and all at once."""
    monkeypatch.setattr(embedding, "ELEMENTS", elements)
    given = drawn(device, torch.float64, shape)
    got = gradient(gather, *given)
    torch.testing.assert_close(got, gradient(F.embedding, *given), rtol=0, atol=1e-13)
    assert not got[:, -1].any()


def test_torchs_rows_bit_for_bit(device: str) -> None:
    """A negative zero is one, and what is not finite stays in its row."""
    weight, indices, _ = drawn(device, torch.float32, (7, 4))
    for row, value in enumerate((-0.0, float("nan"), float("inf"))):
        weight[:, row] = value
    got, want = vmap(gather)(indices, weight), vmap(F.embedding)(indices, weight)
    assert got.view(torch.int32).equal(want.view(torch.int32))
    assert 0 < got.isfinite().sum() < got.numel()


def test_a_model_does_not_know_its_place(device: str) -> None:
    """The same bits with the models in another order, and beside others."""
    weight, indices, slopes = drawn(device, torch.float32, (40, 30))
    together = gradient(gather, weight, indices, slopes)
    for order in ([4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [3, 3, 3, 3, 3]):
        assert gradient(gather, weight[order], indices[order], slopes[order]).equal(together[order])


def test_torchs_own_gradient_is_not_used_side_by_side(device: str) -> None:
    """Its bits depend on the model's place on a GPU, though not on the CPU."""
    model, seen = digits_as_images(NETWORKS["symbols"]).layered, set()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.add(function.overloadpacket.__name__)
            return function(*args, **(kwargs or {}))

    lanes = Lanes(model, 2, torch.float32, torch.device(device), CrossEntropy())
    features = torch.arange(2 * 4 * 64, device=device).reshape(2, 4, 1, 8, 8).remainder(17).float()
    labels, weights = torch.zeros(2, 4, dtype=torch.int64, device=device), torch.full((2, 4), 0.25, device=device)
    with Watch():
        lanes.backward(features, labels, weights, list)
    assert "bmm" in seen
    assert not [name for name in seen if name.startswith("embedding_") and "backward" in name], seen
