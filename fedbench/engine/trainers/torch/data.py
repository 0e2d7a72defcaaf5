"""Keeps examples as tensors, in the memory layout in which a model takes them fastest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
import numpy.typing as npt
import torch

from fedbench.engine.trainers.torch.arrays import is_tensor_array
from fedbench.tasks.augment import CropAndFlip
from fedbench.types import Array


def tensor(array: Array) -> torch.Tensor:
    """Returns a tensor over the array, or over a copy if the array is read-only, since torch has no
    read-only memory. Nothing here writes into it."""
    return torch.from_numpy(array) if array.flags.writeable else torch.tensor(array)


def load(into: torch.Tensor, values: Array) -> None:
    """Copies values into a tensor of their shape, on any device."""
    if is_tensor_array(values):
        into.copy_(values.tensor)
    elif into.device.type == "cpu":
        into.numpy()[:] = values
    else:
        into.copy_(tensor(values))


def host(values: torch.Tensor) -> Array:
    """Returns a new array with the values of a tensor of any device."""
    return values.to("cpu", copy=True).numpy()


def copied(values: Array, device: torch.device | None) -> torch.Tensor:
    """Returns a new tensor on the device with the values of an array, of the host or on it."""
    return values.tensor.clone() if is_tensor_array(values) else torch.tensor(values, device=device)


def answer(values: torch.Tensor, asked: Array) -> Array:
    """Returns a new array with the values of a tensor: on the device if what was asked with is
    there, else of the host."""
    return cast(Array, asked.like(values.clone())) if is_tensor_array(asked) else host(values)


class Features:
    """Features (n, *shape) in a dtype on a device. With `channels_last`, images (n, c, h, w) are
    kept and handed out with c as the fastest index."""

    def __init__(
        self,
        x: npt.NDArray[np.float32],
        *,
        channels_last: bool,
        dtype: torch.dtype = torch.float32,
        device: torch.device | None = None,
    ) -> None:
        self.channels_last = channels_last
        self.kept = tensor(x).to(device, dtype)
        if channels_last:  # copied even if c = 1, where the order is the same: kernels look at the strides
            self.kept = self.kept.new_empty(len(x), *x.shape[2:], x.shape[1]).copy_(self.kept.permute(0, 2, 3, 1))

    def __len__(self) -> int:
        return len(self.kept)

    def rows(self, rows: torch.Tensor) -> torch.Tensor:
        """Returns a copy of those rows, (b, *shape)."""
        return self._given(self.kept.index_select(0, rows))

    def take(self, rows: torch.Tensor, into: torch.Tensor) -> None:
        """Copies those rows into a tensor (b, *shape)."""
        torch.index_select(self.kept, 0, rows, out=into)

    def augmented(self, rows: torch.Tensor, how: CropAndFlip, drawn: torch.Tensor) -> torch.Tensor:
        """Returns a copy of those rows with each image changed as its number in `drawn` (b,)
        says."""
        x = self.rows(rows)
        (b, c, h, w), p = x.shape, how.padding
        padded = x.new_tensor(how.fill).expand(b, h + 2 * p, w + 2 * p, c).clone()
        padded[:, p : p + h, p : p + w] = x.permute(0, 2, 3, 1)
        places = 2 * p + 1
        top, left, mirrored = drawn // (2 * places), drawn // 2 % places, drawn % 2 == 1
        across = torch.arange(w, device=x.device)
        columns = left[:, None] + torch.where(mirrored[:, None], across.flip(0), across)
        lines = top[:, None] + torch.arange(h, device=x.device)
        cropped = padded[torch.arange(b, device=x.device)[:, None, None], lines[:, :, None], columns[:, None, :]].permute(
            0, 3, 1, 2
        )
        return cropped if self.channels_last else cropped.contiguous()

    def parts(self, size: int) -> Iterator[torch.Tensor]:
        """Yields views of all features in order, at most `size` rows at a time."""
        yield from map(self._given, torch.split(self.kept, size))

    def _given(self, kept: torch.Tensor) -> torch.Tensor:
        return kept.permute(0, 3, 1, 2) if self.channels_last else kept
