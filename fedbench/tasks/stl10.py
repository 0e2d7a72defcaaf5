"""STL-10: 5,000 train and 8,000 test colour images in ten classes, reduced to 3 x 32 x 32.

The unpacked archive is looked for in the folder stl10_binary of $FEDBENCH_DATA (~/.cache/fedbench
if the variable is not set). torchvision fetches its 2.6 GB only if FEDBENCH_DOWNLOAD=1. Images are
3 planes of 96 x 96 bytes, column by column, and labels are bytes 1 .. 10.

An image becomes 32 x 32 by the means of its blocks of 3 x 3, and is normalised as CIFAR's are.
Wang et al. 2025 use it at that size beside CIFAR ("resized", no method stated). The 100,000
unlabelled images are not read: a scenario's public data are held out of train. Source: Coates, Lee
and Ng 2011, "An analysis of single-layer networks in unsupervised feature learning".
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from fedbench.errors import RecordError
from fedbench.tasks.cifar import MEAN, STD
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.decoded import kept
from fedbench.tasks.files import Published, torchvision_download
from fedbench.tasks.task import Task

SIDE, BLOCK = 96, 3
SHAPE = (3, SIDE // BLOCK, SIDE // BLOCK)
CLASSES = 10

# Sums of the unpacked files as torchvision states them: STL10, train_list and test_list.
STL10 = Published(
    name="stl10",
    folder="stl10_binary",
    page="https://cs.stanford.edu/~acoates/stl10/ (binary version)",
    md5={
        "train_X.bin": "918c2871b30a85fa023e0c44e0bee87f",
        "train_y.bin": "5a34089d4802c674881badbb80307741",
        "test_X.bin": "7f263ba9f9e0b06b93213547f721ac82",
        "test_y.bin": "36f9794fa4beb8a2c72628de14fa638e",
    },
)


def load(model: str = "softmax") -> Task:
    """STL-10: 5,000 train and 8,000 test colour images in ten classes, made 32 x 32."""
    return Task.of(dataset(), model)


def dataset(published: Published = STL10, root: Path | None = None) -> Dataset:
    """Returns the data set, with features float32 (n, 3, 32, 32). `root` replaces the data root,
    and then nothing is fetched. The errors are those of cifar.dataset."""
    files = published.located(root, torchvision_download("STL10"))

    def examples(part: str) -> Examples:
        images, labels = files[f"{part}_X.bin"], files[f"{part}_y.bin"]
        return _examples(images, published.read(images), labels, published.read(labels))

    def decoded() -> Dataset:
        return Dataset(published.name, examples("train"), examples("test"), CLASSES)

    return decoded() if root else kept(published.name, files.values(), published.md5, decoded)


def _examples(images: Path, pixels: bytes, labels: Path, classes: bytes) -> Examples:
    one = 3 * SIDE * SIDE
    if len(pixels) != one * len(classes):
        raise RecordError(
            f"{images}: {labels.name} has {len(classes)} labels, so it must have {one * len(classes)} bytes, got {len(pixels)}"
        )
    y = np.frombuffer(classes, np.uint8).astype(np.int64) - 1
    columns_first = np.frombuffer(pixels, np.uint8).reshape(-1, 3, SIDE, SIDE)
    return Examples(_smaller(columns_first.swapaxes(2, 3)), y)


def _smaller(images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Returns the means of 3 x 3 blocks of (n, 3, 96, 96), normalised. A block's sum is a whole
    number below 2^24, so the order of addition has no effect."""
    side = SIDE // BLOCK
    sums = images.reshape(-1, 3, side, BLOCK, side, BLOCK).sum(axis=(3, 5), dtype=np.int32)
    mean, std = (np.array(values, np.float32)[:, None, None] for values in (MEAN, STD))
    unit = sums.astype(np.float32) / np.float32(255 * BLOCK * BLOCK)
    return np.ascontiguousarray((unit - mean) / std)
