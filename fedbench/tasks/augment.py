"""Random changes of training images, described as data. A trainer draws them for every job and
applies them to the images of the job's steps only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedbench.kernels.random import RandomStream


@dataclass(frozen=True, slots=True)
class CropAndFlip:
    """An image gets `padding` pixels on every side, whose value is fill[channel]. Then it is
    cropped to its size at a place drawn uniformly, and mirrored left to right with probability 1/2.

    One 32-bit word w is drawn per example, in the order of use. With P = 2 padding + 1 and
    j = floor(w * 2 P^2 / 2^32), the crop begins in row floor(j / 2P) and column floor(j / 2) mod P
    of the padded image, and is mirrored if j is odd.
    """

    padding: int
    fill: tuple[float, ...]

    def draw(self, stream: RandomStream, examples: int) -> npt.NDArray[np.int64]:
        """Returns the numbers j of the next examples (n,)."""
        outcomes = 2 * (2 * self.padding + 1) ** 2
        scaled = stream.words(examples).astype(np.uint64) * np.uint64(outcomes)
        return (scaled >> np.uint64(32)).astype(np.int64)
