"""The JAX program trains the steps that torch trains. Without jax it is skipped, as its ways
are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.bench.hand import progress
from fedbench.bench.orders import Clients, Orders
from fedbench.bench.torch_ways import tensors
from fedbench.bench.train import FLATTEN, POOL, RELU, Net, conv, linear, tensor_sizes
from fedbench.bench.train_ways import module_of, set_parameters
from fedbench.kernels.train import LayerSpec
from fedbench.types import Job

jax = pytest.importorskip("jax")
in_jax = pytest.importorskip("fedbench.bench.in_jax")

NET = Net((conv(1, 3), POOL, RELU, FLATTEN, linear(27, 8), RELU, linear(8, 4)), (1, 10, 11), 4, 5)


@pytest.fixture(name="given")
def _given() -> Orders:
    draws = np.random.default_rng(0)
    x, y = draws.standard_normal((40, *NET.shape)).astype(np.float32), draws.integers(0, 4, 40)
    start = np.concatenate([draws.uniform(-1, 1, n) / np.sqrt(window) for n, window in tensor_sizes(NET)]).astype(np.float32)
    updates = [[Job(client, k, k, 3) for client in (0, 1)] for k in range(2)]
    clients = Clients(NET, [np.arange(20), np.arange(20, 40)], lr=0.1, seed=1)
    return Orders(updates, frozenset({2}), start, 0.5, (x, y), (x, y), clients)


@pytest.mark.parametrize("clients_by", ["map", "vmap"])
def test_the_first_model_is_torch_s(given: Orders, clients_by: Any) -> None:
    torch = pytest.importorskip("torch")
    ready = in_jax.rounds(given, clients_by)
    found = ready.act()
    assert (found.trained, ready.outcome()["updates"]) == (12, 2)
    assert ready.compile_seconds > 0
    first, (x, y) = torch.from_numpy(given.x0), tensors(given.train)
    steps = [progress(given.clients, module_of(NET), (x, y), first, job).numpy() for job in given.updates[0]]
    want = given.x0 + 0.5 * np.mean(steps, axis=0)
    assert np.abs(found.first - want).max() < 1e-5 < np.abs(want - given.x0).max()


def test_dropout_keeps_the_mean_and_is_off_in_evaluation() -> None:
    for name, shape in (("dropout", (100, 400)), ("dropout2d", (100, 400, 2, 2))):
        layer, ones = LayerSpec(name, p=0.5), np.ones(shape, np.float32)
        dropped = np.asarray(in_jax.applied(layer, [], ones, jax.random.key(0)))
        assert set(np.unique(dropped)) == {0.0, 2.0}
        assert dropped.mean() == pytest.approx(1, abs=0.02)
        assert np.ptp(dropped.reshape(40_000, -1), axis=1).max() == 0
        assert in_jax.applied(layer, [], ones, None) is ones


def test_logits_are_torch_s(given: Orders) -> None:
    torch = pytest.importorskip("torch")
    module = module_of(NET)
    set_parameters(module, given.x0)
    x = given.train[0]
    want = module(torch.from_numpy(x)).detach().numpy()
    assert np.allclose(in_jax.logits(NET, in_jax.unflattened(given.x0, NET), x, None), want, atol=1e-5)
