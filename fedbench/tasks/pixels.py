"""Images of bytes as features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def normalised(images: npt.NDArray[np.uint8], mean: Sequence[float], std: Sequence[float]) -> npt.NDArray[np.float32]:
    """(value / 255 - mean) / std by channel of images (n, channels, h, w), in float32: a new array
    of that shape.

    One table entry per value, so these are the numbers of torchvision's ToTensor and Normalize
    without a second large array.
    """
    unit = np.arange(256, dtype=np.float32) / np.float32(255)
    features = np.empty(images.shape, np.float32)
    for channel, (m, s) in enumerate(zip(mean, std, strict=True)):
        features[:, channel] = ((unit - np.float32(m)) / np.float32(s))[images[:, channel]]
    return features
