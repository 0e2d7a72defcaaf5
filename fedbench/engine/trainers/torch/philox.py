"""Random words on any device of torch, bit for bit those of `RandomStream`, and dropout masks of
many jobs and steps at once.

A word is a function of its place in its stream, so a device computes all of them side by side.
csrc/include/fedbench/philox.hpp has the layout. Integers are int64, whose products wrap around;
their halves are views (a device has the lower half first, as the CPUs that we know).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from fedbench.kernels.random import Purpose
from fedbench.tasks.layers import Dropout
from fedbench.tasks.torch_model import mask_shape

MULTIPLIERS, WEYL, ROUNDS = (0xCD9E8D57, 0xD2511F53), (0x9E3779B9, 0xBB67AE85), 10
WORD = 2**32 - 1


class Streams:
    """The streams of a purpose on a device, one for every (seed, client, k)."""

    def __init__(self, purpose: Purpose, device: torch.device) -> None:
        self.purpose, self.device = int(purpose.value), device
        self.multipliers = torch.tensor(MULTIPLIERS, device=device)[:, None, None]

    def words(
        self, seeds: npt.ArrayLike, clients: npt.ArrayLike, ks: npt.ArrayLike, first: npt.NDArray[np.int64], blocks: int
    ) -> torch.Tensor:
        """Returns words of some streams (n, 4 * blocks) as int32, each from block first[i] on,
        which are four words.

        A round is four launches, whatever their number.
        """
        n = len(first)
        counters = torch.empty(2, n, blocks, dtype=torch.int64, device=self.device)
        counters[0] = torch.arange(blocks, device=self.device) + torch.from_numpy(first).to(self.device)[:, None]
        counters[0] &= WORD
        counters[1] = torch.from_numpy(np.asarray(clients, np.int64)).to(self.device)[:, None]
        others = _words(np.stack([np.asarray(ks, np.uint64), np.full(n, self.purpose, np.uint64)])).to(self.device)[..., None]
        low = _halves(counters)[0]
        for key in self._keys(seeds):
            lower, upper = _halves(counters.flip(0) * self.multipliers)
            torch.bitwise_xor(upper ^ others, key, out=low)
            others = lower
        return torch.stack([low[0], others[0], low[1], others[1]], -1).flatten(1)

    def _keys(self, seeds: npt.ArrayLike) -> torch.Tensor:
        """Returns the keys of all rounds (rounds, 2, n, 1)."""
        halves = np.asarray(seeds, np.uint64) >> np.array([[0], [32]], np.uint64) & np.uint64(WORD)
        turns = np.arange(ROUNDS, dtype=np.uint64)[:, None] * np.array(WEYL, np.uint64)
        return _words(halves + turns[..., None] & np.uint64(WORD)).to(self.device)[..., None]


def _words(values: npt.ArrayLike) -> torch.Tensor:
    """Returns 32-bit words as int32."""
    return torch.from_numpy(np.asarray(values, np.uint32).view(np.int32))


def _halves(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns views of the lower and the upper 32 bits of int64."""
    both = torch.unflatten(values.view(torch.int32), -1, (-1, 2))
    return both[..., 0], both[..., 1]


class MaskDrawer:
    """Draws the masks of all dropout layers of a model, for jobs side by side and steps one after
    another.

    A step's masks of a lane are one vector (size,): layer by layer and, within a layer, example by
    example of a batch of `examples`. The words of a job's stream are used forward by forward, layer
    by layer and example by example of its batch, which may be shorter: the rest is 0.
    """

    BYTES = 40
    """What the draw of an element takes, at least: its place, twice, and its word, twice."""

    def __init__(
        self,
        dropouts: Sequence[tuple[Dropout, tuple[int, ...]]],
        examples: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """`dropouts` has the layers in the order of use, with the shapes of their inputs."""
        self.streams = Streams(Purpose.dropout, device)
        self.shapes = [mask_shape(layer, (examples, *shape)) for layer, shape in dropouts]
        elements = [math.prod(shape[1:]) for shape in self.shapes]
        self.of_example, self.size = sum(elements), examples * sum(elements)

        def column(of_layer: Sequence[float], dtype: torch.dtype = torch.int64) -> torch.Tensor:
            of_all = [torch.full((examples * n,), value, dtype=dtype) for n, value in zip(elements, of_layer, strict=True)]
            return torch.cat([torch.empty(0, dtype=dtype), *of_all]).to(device)

        numbers = [torch.arange(examples * n) for n in elements]
        self.before = column(np.cumsum([0, *elements])[:-1].tolist())  # words of an example in the layers before
        self.within = torch.cat([torch.empty(0, dtype=torch.int64), *numbers]).to(device)
        self.example = self.within // column(elements) if elements else self.within
        self.least = column([math.ceil(layer.p * 2.0**32) for layer, _ in dropouts])
        self.scale = column([1 / (1 - layer.p) for layer, _ in dropouts], dtype)

    def draw(
        self,
        streams: npt.NDArray[np.uint64],
        begin: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.int64],
        into: torch.Tensor,
    ) -> None:
        """Writes the masks of some steps into a tensor (steps, forwards, lanes, size).

        Args:
            streams: the seed, the client and the k of the job of a lane (3, steps, lanes).
            begin: how many examples of its job a lane saw before every step (steps, lanes).
            sizes: the sizes of its batches (steps, lanes), 0 for a lane without work: its masks are
                0.
            into: where they go.
        """
        forwards = into.shape[1]
        turn = np.arange(forwards)[:, None]
        at = self.of_example * (forwards * begin[:, None] + turn * sizes[:, None])  # (steps, forwards, lanes)
        first = at[:, :1] // 4
        blocks = int((-(-(at + self.of_example * sizes[:, None]) // 4) - first).max(initial=1))
        seeds, clients, ks = streams.reshape(3, -1)
        words = self.streams.words(seeds, clients, ks, first.flatten(), blocks)
        start = at + 4 * (blocks * np.arange(first.size).reshape(first.shape) - first)
        n = torch.from_numpy(sizes).to(into.device)[:, None, :, None]
        is_seen = self.example < n
        place = torch.from_numpy(start).to(into.device)[..., None] + (n * self.before + self.within)
        found = words.flatten()[torch.where(is_seen, place, 0)].to(torch.int64) & WORD
        torch.mul((found >= self.least) & is_seen, self.scale, out=into)
