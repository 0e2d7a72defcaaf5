"""Handwritten digits, the copy that scikit-learn carries: 1,797 images of 8 x 8. Always there, and
small enough for tests.

Split, fixed and without randomness: of each class, in file order, every fifth example (the 5th,
10th, ..) is test, the others are train. Both parts keep the file order. That is 1,442 train and 355
test examples. Source: Alpaydin and Kaynak, UCI "Optical recognition of handwritten digits" (1998),
its test part.
"""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import numpy.typing as npt

from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.decoded import kept
from fedbench.tasks.model_library import make_model
from fedbench.tasks.task import Task

NAME = "digits"
CLASSES = 10
LARGEST = 16
"""Pixels count the dark cells of a 4 x 4 block: 0 .. 16."""
TEST_EVERY = 5


def dataset() -> Dataset:
    """64 features in [0, 1] (row by row), float32; ten classes."""
    return kept(NAME, [], version("scikit-learn"), _decoded)


def _decoded() -> Dataset:
    from sklearn.datasets import load_digits

    data = load_digits()
    x = np.ascontiguousarray(data.data, np.float32) / np.float32(LARGEST)
    everything = Examples(x, np.ascontiguousarray(data.target, np.int64))
    test = is_test(everything.y)
    return Dataset(NAME, everything.subset(np.flatnonzero(~test)), everything.subset(np.flatnonzero(test)), CLASSES)


def is_test(y: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which of the labels (n,) belong to test under the rule above: bool (n,)."""
    test = np.zeros(len(y), np.bool_)
    for label in np.unique(y):
        test[np.flatnonzero(y == label)[TEST_EVERY - 1 :: TEST_EVERY]] = True
    return test


def load(model: str = "softmax") -> Task:
    """Handwritten digits that come with scikit-learn: 1,442 train and 355 test images of 8 x 8 as
    vectors, ten classes.

    UsageError for a model that is unknown or needs images.
    """
    data = dataset()
    return Task(NAME, make_model(model, data.shape, data.classes), data)
