"""Layers on sequences: shapes, refusals, laws, and their torch modules against formulas written
out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fedbench.errors import UsageError
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.layers import Flatten, Layer, Linear, ReLU, Residual
from fedbench.tasks.model_library import make_model
from fedbench.tasks.models import Model
from fedbench.tasks.sequences import LSTM, Embedding, Last
from fedbench.tasks.task import Task
from fedbench.tasks.tensors import Normal, Uniform
from fedbench.tasks.torch_model import build, flatten_parameters

LAYERS = (Last(3), Embedding(5, 2), Flatten(), Linear(6, 4))


def symbols(n: int = 6, length: int = 4, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 5, (n, length)).astype(np.float32))


def test_shapes_laws_and_symbols() -> None:
    model = Model("chars", (4,), LAYERS)
    assert model.shapes == ((4,), (3,), (3, 2), (6,), (4,))
    assert [(p.name, p.shape) for p in model.parameters] == [("1.weight", (5, 2)), ("3.weight", (4, 6)), ("3.bias", (4,))]
    assert model.parameters[0].law == Normal(1.0)
    assert model.symbols == 5
    assert Model("numbers", (4,), (Linear(4, 2),)).symbols is None
    recurrent = Model("lstm", (4,), (Embedding(5, 2), LSTM(2, 3), Last(1), Flatten(), Linear(3, 5)))
    assert recurrent.shapes == ((4,), (4, 2), (4, 3), (1, 3), (3,), (5,))
    assert {p.law for p in recurrent.parameters[1:5]} == {Uniform(1 / np.sqrt(3))}
    assert [p.shape for p in recurrent.parameters[1:5]] == [(12, 2), (12, 3), (12,), (12,)]


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ((Last(5), Linear(5, 2)), r"layer 0, Last\(count=5\), takes sequences of at least 5, gets \(4,\)"),
        ((Embedding(5, 2), Embedding(5, 2)), r"layer 1, .* takes sequences of symbols \(length,\), gets \(4, 2\)"),
        ((ReLU(), Embedding(5, 2), Flatten()), r"Embedding.* so only Last and Flatten may come before it"),
        ((ReLU(), Residual((Embedding(5, 1), Flatten()))), r"Embedding.* so only Last and Flatten may come before it"),
        ((Embedding(5, 2), LSTM(3, 4)), r"layer 1, .* takes sequences \(length, 3\), gets \(4, 2\)"),
    ],
)
def test_misfits_are_named(layers: tuple[Layer, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Model("odd", (4,), layers)


@pytest.mark.parametrize("make", [lambda: Last(0), lambda: Embedding(0, 1), lambda: Embedding(3, -1), lambda: LSTM(1, 0)])
def test_numbers_out_of_range(make: object) -> None:
    with pytest.raises(UsageError, match="must be an integer >= 1"):
        make()  # type: ignore[operator]


def test_an_embedding_is_a_product_with_one_hot_vectors() -> None:
    model, x = Model("chars", (4,), LAYERS), symbols()
    module, flat = build(model, torch.float64), torch.from_numpy(model.x0(3, np.float64))
    gradient = flatten_parameters(module, flat)
    torch.nn.functional.cross_entropy(module(x), torch.tensor([0, 1, 2, 3, 0, 1])).backward()

    w = flat.clone().requires_grad_()
    one_hot = torch.nn.functional.one_hot(x[:, 1:].long(), 5).double()
    hidden = (one_hot @ w[:10].reshape(5, 2)).flatten(1)
    logits = hidden @ w[10:34].reshape(4, 6).T + w[34:]
    torch.testing.assert_close(module(x), logits, rtol=1e-14, atol=1e-14)
    torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1, 2, 3, 0, 1])).backward()
    torch.testing.assert_close(gradient, w.grad, rtol=1e-12, atol=1e-14)


def test_an_lstm_is_its_equations() -> None:
    model = Model("lstm", (4,), (Embedding(5, 2), LSTM(2, 3), Last(1), Flatten(), Linear(3, 5)))
    module = build(model, torch.float64)
    flatten_parameters(module, torch.from_numpy(model.x0(3, np.float64)))
    x = symbols()
    table, w_ih, w_hh, b_ih, b_hh, w, b = list(module.parameters())
    h = c = torch.zeros(len(x), 3, dtype=torch.float64)
    for t in range(4):
        i, f, g, o = (table[x[:, t].long()] @ w_ih.T + b_ih + h @ w_hh.T + b_hh).split(3, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    torch.testing.assert_close(module(x), h @ w.T + b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "dim"), [("chars_mlp", 31_568), ("lstm_leaf", 819_920)])
def test_the_librarys_models(name: str, dim: int) -> None:
    """LEAF's has 2,048 parameters fewer, since torch's LSTM has two biases where TensorFlow's has
    one."""
    model = make_model(name, (80,), 80)
    assert (model.dim, model.output_shape, model.symbols) == (dim, (80,), 80)
    assert [(p.name, p.shape) for p in model.parameters] == [(n, tuple(p.shape)) for n, p in build(model).named_parameters()]
    with pytest.raises(UsageError, match=rf"model {name}: takes sequences \(80,\), got \(64,\)"):
        make_model(name, (64,), 10)


def test_chars_mlp_reads_the_last_twenty() -> None:
    module = build(make_model("chars_mlp", (80,), 80))
    flatten_parameters(module, torch.from_numpy(make_model("chars_mlp", (80,), 80).x0(1)))
    x = symbols(2, 80)
    changed = x.clone()
    changed[:, :60] = 79
    assert torch.equal(module(x), module(changed))
    changed[:, 60] = 79
    assert not torch.equal(module(x), module(changed))


@pytest.mark.parametrize("bad", [5.0, -1.0, 1.5])
@pytest.mark.parametrize("part", ["train", "test"])
def test_a_task_checks_its_symbols(part: str, bad: float) -> None:
    y = np.array([0, 1, 2, 3, 0, 1])
    parts = {name: symbols().numpy().copy() for name in ("train", "test")}
    parts[part][4, 2] = bad
    data = Dataset("letters", Examples(parts["train"], y), Examples(parts["test"], y), 4)
    with pytest.raises(UsageError, match=rf"letters, {part}: x\[4, 2\] must be a symbol, a whole number in 0 .. 4, got {bad:g}"):
        Task("letters", Model("chars", (4,), LAYERS), data)
    Task("letters", Model("linear", (4,), (Linear(4, 4),)), data)
