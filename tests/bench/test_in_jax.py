"""The JAX program trains the steps that torch trains. Without jax it is skipped, as its ways
are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.bench.hand import Local
from fedbench.bench.orders import Clients, Job, Orders
from fedbench.bench.torch_ways import tensors
from fedbench.bench.train import FLATTEN, POOL, RELU, Net, conv, tensor_sizes
from fedbench.bench.train_ways import module_of

jax = pytest.importorskip("jax")
in_jax = pytest.importorskip("fedbench.bench.in_jax")

NET = Net((conv(1, 3), POOL, RELU, FLATTEN, ("linear", 27, 8), RELU, ("linear", 8, 4)), (1, 10, 11), 4, 5)


@pytest.fixture(name="given")
def _given() -> tuple[Orders, Clients]:
    draws = np.random.default_rng(0)
    x, y = draws.standard_normal((40, *NET.shape)).astype(np.float32), draws.integers(0, 4, 40)
    start = np.concatenate([draws.uniform(-1, 1, n) / np.sqrt(window) for n, window in tensor_sizes(NET)]).astype(np.float32)
    updates = [[Job(client, k, k, 3) for client in (0, 1)] for k in range(2)]
    clients = Clients(NET, x, y, [np.arange(20), np.arange(20, 40)], lr=0.1, seed=1)
    return Orders(updates, frozenset({2}), start, 0.5, (x, y)), clients


@pytest.mark.parametrize("clients_by", ["map", "vmap"])
def test_the_first_model_is_torch_s(given: tuple[Orders, Clients], clients_by: Any) -> None:
    orders, clients = given
    torch = pytest.importorskip("torch")
    ready = in_jax.rounds(given, clients_by)
    found = ready.act()
    assert (found.trained, ready.read(found)["updates"]) == (12, 2)
    assert ready.compile_seconds > 0
    x, y = tensors((clients.x, clients.y))
    local = Local(Clients(NET, x, y, clients.shards, clients.lr, clients.seed))
    steps = [local.delta(torch.from_numpy(orders.x0), job).numpy() for job in orders.updates[0]]
    want = orders.x0 + 0.5 * np.mean(steps, axis=0)
    assert np.abs(found.first - want).max() < 1e-5 < np.abs(want - orders.x0).max()


def test_dropout_keeps_the_mean_and_is_off_in_evaluation() -> None:
    for name, shape in (("dropout", (100, 400)), ("dropout2d", (100, 400, 2, 2))):
        layer, ones = in_jax.layer_of((name, 0, 0, 0, 1, 0, 0.5)), np.ones(shape, np.float32)
        dropped = np.asarray(layer([], ones, jax.random.key(0)))
        assert set(np.unique(dropped)) == {0.0, 2.0}
        assert dropped.mean() == pytest.approx(1, abs=0.02)
        assert np.ptp(dropped.reshape(40_000, -1), axis=1).max() == 0
        assert layer([], ones, None) is ones


def test_logits_are_torch_s(given: tuple[Orders, Clients]) -> None:
    torch = pytest.importorskip("torch")
    orders, clients = given
    module = module_of(NET)
    torch.nn.utils.vector_to_parameters(torch.from_numpy(orders.x0.copy()), module.parameters())
    want = module(torch.from_numpy(clients.x)).detach().numpy()
    assert np.allclose(in_jax.logits_of(NET)(in_jax.unflattened(orders.x0, NET), clients.x, None), want, atol=1e-5)
