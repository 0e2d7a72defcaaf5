"""Handwritten digits: 1,797 images of 8 x 8 that come with fedbench, so they are always there.

The file `embedded/digits.idx.gz` has a row for every image, 64 pixels and then the class, and is
read only with the sum SHA256. Rows, order and values are those of scikit-learn's `load_digits`, as
a test checks.

The split has no randomness. Of each class, in file order, every fifth example (the 5th, 10th, ..)
is for testing, the others are for training. Both parts keep the file order. That makes 1,442 train
and 355 test examples. Source: Alpaydin and Kaynak, UCI "Optical recognition of handwritten digits"
(1998), its test part, https://archive.ics.uci.edu/dataset/80.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.idx import read_idx
from fedbench.tasks.task import Task

NAME = "digits"
CLASSES = 10
LARGEST = 16
"""The largest value of a pixel, which counts the dark cells of a block of 4 x 4."""
TEST_EVERY = 5
FILE = Path(__file__).parent / "embedded" / "digits.idx.gz"
SHA256 = "4af6f3417d7865cd8b5dbd03a9e4f16e8ef14c0f4c336c712afa1421a4f382a9"  # of the decompressed file


def dataset() -> Dataset:
    """Returns the data set: 64 features in [0, 1], the pixels row by row, and ten classes."""
    rows = read_idx(FILE, SHA256)
    pixels, labels = rows[:, :-1], rows[:, -1]
    everything = Examples(pixels.astype(np.float32) / np.float32(LARGEST), labels.astype(np.int64))
    test = is_test(everything.y)
    return Dataset(NAME, everything.subset(np.flatnonzero(~test)), everything.subset(np.flatnonzero(test)), CLASSES)


def is_test(y: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Returns which of the labels (n,) belong to the test examples, by the rule of this module."""
    test = np.zeros(len(y), np.bool_)
    for label in np.unique(y):
        test[np.flatnonzero(y == label)[TEST_EVERY - 1 :: TEST_EVERY]] = True
    return test


def load(model: str = "softmax") -> Task:
    """Handwritten digits that come with fedbench: 1,442 train and 355 test images of 8 x 8 as
    vectors, ten classes.

    UsageError for a model that is unknown or needs images.
    """
    return Task.of(dataset(), model)
