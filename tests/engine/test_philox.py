"""Words and dropout masks that a device draws: those of RandomStream, bit for bit.

On torch's CPU device always; `pytest -m gpu` makes the same checks on a GPU.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedbench.engine.trainers.torch.philox import MaskDrawer, Streams
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.tasks.layers import Dropout, Dropout2d
from fedbench.tasks.torch_model import dropout_mask, mask_shape

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
WORDS = st.integers(0, 2**32 - 1)


def on(name: str) -> torch.device:
    if name == "cuda" and not torch.cuda.is_available():
        pytest.skip("skipped: no GPU")
    return torch.device(name)


@pytest.mark.parametrize("device", DEVICES)
@given(
    seeds=st.lists(st.integers(0, 2**64 - 1), min_size=4, max_size=4),
    clients=st.lists(WORDS, min_size=1, max_size=4),
    k=WORDS,
    first=st.integers(0, 40),
)
def test_words_are_those_of_the_stream(device: str, seeds: list[int], clients: list[int], k: int, first: int) -> None:
    """From any block on, for streams of any seeds side by side."""
    begin = first + np.arange(len(clients))
    seeds = seeds[: len(clients)]
    got = Streams(Purpose.dropout, on(device)).words(seeds, clients, [k] * len(clients), begin, 9)
    for words, seed, client, skipped in zip(got.cpu().numpy().view(np.uint32), seeds, clients, begin, strict=True):
        want = RandomStream(seed, Purpose.dropout, client, k).words(4 * (int(skipped) + 9))
        assert words.tolist() == want[4 * skipped :].tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_a_long_stream(device: str) -> None:
    got = Streams(Purpose.parameters, on(device)).words([2**63 + 5], [7], [2**31], np.array([400_000]), 100_000)
    want = RandomStream(2**63 + 5, Purpose.parameters, 7, 2**31).words(2_000_000)[-400_000:]
    assert np.array_equal(got.cpu().numpy().view(np.uint32)[0], want)


def test_the_counter_of_blocks_wraps_around() -> None:
    """As a 32-bit word does."""
    streams = Streams(Purpose.dropout, torch.device("cpu"))
    assert torch.equal(
        streams.words([3], [1], [2], np.array([2**32 - 1]), 3)[0, 4:], streams.words([3], [1], [2], np.array([0]), 2)[0]
    )


LAYERS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.1, 0.3, 0.5, 1 - 2**-20, 1 - 2**-40]),
        st.sampled_from([(1,), (5,), (3, 2, 2)]),
        st.booleans(),
    ),
    min_size=0,
    max_size=3,
)


@pytest.mark.parametrize("device", DEVICES)
@given(
    layers=LAYERS,
    forwards=st.integers(1, 2),
    sizes=st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=1, max_size=3),
    cut=st.integers(1, 4),
    change=st.integers(1, 5),
)
def test_masks_are_those_of_the_stream(
    device: str,
    layers: list[tuple[float, tuple[int, ...], bool]],
    forwards: int,
    sizes: list[list[int]],
    cut: int,
    change: int,
) -> None:
    """Forward by forward, layer by layer, example by example; short batches, lanes without a job,
    a lane whose job has ended and that has another one, and steps drawn in two parts."""
    dropouts = [((Dropout2d if channels and len(shape) == 3 else Dropout)(p), shape) for p, shape, channels in layers]
    steps, lanes = 5, len(sizes) + 1  # one lane is idle
    of_lanes = np.zeros((steps, lanes), np.int64)
    of_lanes[:, :-1] = np.transpose(sizes)
    begin = np.cumsum(of_lanes, 0) - of_lanes
    begin[change:, 0] -= of_lanes[:change, 0].sum()
    clients = np.tile(np.arange(lanes), (steps, 1))
    clients[change:, 0] = 2**31
    named = np.stack([11 + clients // 2, clients, 3 + clients]).astype(np.uint64)
    drawer = MaskDrawer(dropouts, 4, torch.float32, on(device))
    got = torch.full((steps, forwards, lanes, drawer.size), torch.nan, device=device)
    for part in (slice(cut), slice(cut, None)):
        drawer.draw(named[:, part], begin[part], of_lanes[part], got[part])
    streams = {tuple(one): RandomStream(int(one[0]), Purpose.dropout, *map(int, one[1:])) for one in named.reshape(3, -1).T}
    assert drawer.size == sum(math.prod(mask_shape(layer, (4, *shape))) for layer, shape in dropouts)
    for step in range(steps):
        for turn in range(forwards):
            assert not got[step, turn, -1].any()
            for lane in range(len(sizes)):
                stream = streams[tuple(named[:, step, lane])]
                n, at = int(of_lanes[step, lane]), 0
                for layer, shape in dropouts:
                    of_layer = mask_shape(layer, (4, *shape))
                    mask = got[step, turn, lane, at : at + math.prod(of_layer)].reshape(of_layer)
                    assert torch.equal(mask[:n].cpu(), dropout_mask(layer, (n, *shape), stream, torch.float32))
                    assert not mask[n:].any()
                    at += math.prod(of_layer)
