"""The bundled digits: sizes, scale, and the fixed split."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from fedbench.errors import UsageError
from fedbench.tasks import digits


def test_split_is_every_fifth_of_each_class() -> None:
    data = digits.dataset()
    raw = load_digits()
    taken = dict.fromkeys(range(10), 0)
    train: list[int] = []
    test: list[int] = []
    for row, label in enumerate(raw.target):
        taken[int(label)] += 1
        (test if taken[int(label)] % 5 == 0 else train).append(row)
    assert (len(train), len(test)) == (1442, 355)
    for part, rows in ((data.train, train), (data.test, test)):
        np.testing.assert_array_equal(part.x, raw.data[rows] / 16)
        np.testing.assert_array_equal(part.y, raw.target[rows])


def test_features() -> None:
    data = digits.dataset()
    assert data.shape == (64,)
    assert data.train.x.dtype == np.float32
    assert (data.train.x.min(), data.train.x.max()) == (0, 1)


def test_load() -> None:
    task = digits.load()
    assert (task.model.dim, task.metric) == (650, "test_accuracy")
    assert digits.load("mlp").spec() == {"name": "digits", "model": "mlp"}
    with pytest.raises(UsageError, match=r"cnn_21840: takes images \(1, 28, 28\) in 10 classes, got \(64,\) in 10"):
        digits.load("cnn_21840")
