"""Images of bytes as features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def normalised(images: npt.NDArray[np.uint8], mean: Sequence[float], std: Sequence[float]) -> npt.NDArray[np.float32]:
    """Returns (value / 255 - mean) / std, by channel of the images (n, channels, h, w), in a new
    float32 array of that shape.

    The numbers are those of torchvision's ToTensor and Normalize. They are looked up in a table of
    256 values, so there is no second large array.
    """
    unit = np.arange(256, dtype=np.float32) / np.float32(255)
    features = np.empty(images.shape, np.float32)
    for channel, (m, s) in enumerate(zip(mean, std, strict=True)):
        features[:, channel] = ((unit - np.float32(m)) / np.float32(s))[images[:, channel]]
    return features
