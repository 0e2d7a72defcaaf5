"""Dropout masks: word by word from our streams, compared with numpy on the same words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fedbench.kernels.random import Purpose, RandomStream
from fedbench.tasks.layers import Conv2d, Dropout, Dropout2d, Flatten, Linear
from fedbench.tasks.model_library import make_model
from fedbench.tasks.models import Model
from fedbench.tasks.torch_model import LayerStack, build, dropout_mask, flatten_parameters

P = 0.3
SMALL = Model("small", (2, 3, 3), (Conv2d(2, 4, 2), Dropout2d(P), Flatten(), Dropout(P), Linear(16, 3)))


def stream(k: int = 0) -> RandomStream:
    return RandomStream(2024, Purpose.dropout, 5, k)


def network(model: Model = SMALL) -> LayerStack:
    module = build(model)
    flatten_parameters(module, torch.from_numpy(model.x0(9)))
    return module.train()


def images(n: int, model: Model = SMALL) -> torch.Tensor:
    shape = (n, *model.input_shape)
    return torch.from_numpy(RandomStream(0, Purpose.evaluation).normal(int(np.prod(shape))).astype(np.float32).reshape(shape))


def numpy_mask(words: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    kept = words.astype(np.float64) >= P * 2.0**32
    return (kept * np.float32(1 / (1 - P))).astype(np.float32).reshape(shape)


def test_masks_follow_the_words_step_by_step_and_layer_by_layer() -> None:
    module, words = network(), stream()
    module.set_masks(stream())
    conv, _, _, _, linear = module
    for n in (3, 2):
        x = images(n)
        channels = torch.from_numpy(numpy_mask(words.words(n * 4), (n, 4, 1, 1)))
        elements = torch.from_numpy(numpy_mask(words.words(n * 16), (n, 16)))
        expected = linear((conv(x) * channels).flatten(1) * elements)
        torch.testing.assert_close(module(x), expected, rtol=0, atol=0)


def test_threshold_is_inclusive_and_scale_is_exact() -> None:
    words = stream().words(4000)
    # With p = word / 2^32 exactly, that word itself is kept and all smaller ones are dropped.
    p = int(words[17]) / 2**32
    mask = dropout_mask(Dropout(p), (40, 100), stream(), torch.float64).numpy().ravel()
    np.testing.assert_array_equal(mask != 0, words >= words[17])
    assert mask[17] == 1 / (1 - p)
    assert set(np.unique(mask)) == {0, 1 / (1 - p)}


def test_rate() -> None:
    dropped = (dropout_mask(Dropout(P), (100, 1000), stream(), torch.float32) == 0).double().mean()
    # Standard deviation of the mean of 1e5 draws: sqrt(0.21 / 1e5) = 0.00145.
    assert float(dropped) == pytest.approx(P, abs=0.006)


def test_gradient_passes_through_the_mask() -> None:
    x = torch.ones(2, 6, requires_grad=True)
    layer = build(Model("one", (6,), (Dropout(P), Linear(6, 1)))).train()
    layer.set_masks(stream())
    layer[0](x).sum().backward()
    np.testing.assert_array_equal(x.grad, numpy_mask(stream().words(12), (2, 6)))


def test_same_stream_same_output_and_other_stream_another() -> None:
    model = make_model("cnn_21840", (1, 28, 28), 10)
    module, x = network(model), images(4, model)
    outputs = []
    for k in (0, 0, 1):
        module.set_masks(stream(k))
        outputs.append(module(x))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])
    # The next step of the same job has new masks.
    assert not torch.equal(module(x), outputs[2])


def test_identity_in_evaluation_and_without_a_stream() -> None:
    module, x = network(), images(3)
    plain = module[4](module[0](x).flatten(1))
    assert torch.equal(module(x), plain)
    ours = stream()
    module.set_masks(ours)
    assert torch.equal(module.eval()(x), plain)
    # Evaluation has used no word of the stream.
    np.testing.assert_array_equal(ours.words(8), stream().words(8))
    module.train()
    assert not torch.equal(module(x), plain)
    module.set_masks(None)
    assert torch.equal(module(x), plain)


def test_torchs_generator_is_untouched() -> None:
    module = network()
    before = torch.get_rng_state()
    module.set_masks(stream())
    module(images(3))
    assert torch.equal(torch.get_rng_state(), before)
