"""The embedded digits: sizes, scale, and the fixed split."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from fedbench.errors import RecordError, UsageError
from fedbench.tasks import digits


def test_split_is_every_fifth_of_each_class() -> None:
    raw = pytest.importorskip("sklearn.datasets").load_digits()
    data = digits.dataset()
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


def test_values_in_the_cells_of_a_page() -> None:
    """Sums of the whole data set, and the first image as anybody can look it up."""
    data = digits.dataset()
    everything = np.concatenate([data.train.x, data.test.x])
    assert (everything.sum() * 16, len(everything)) == (561718, 1797)
    assert (data.train.x[0, :16] * 16).tolist() == [0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0]
    assert np.bincount(np.concatenate([data.train.y, data.test.y])).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_a_damaged_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytearray(gzip.decompress(digits.FILE.read_bytes()))
    content[-1] ^= 1
    (tmp_path / "digits.idx.gz").write_bytes(gzip.compress(bytes(content)))
    monkeypatch.setattr(digits, "FILE", tmp_path / "digits.idx.gz")
    with pytest.raises(RecordError, match=r"digits\.idx\.gz: sha256 .* must be "):
        digits.dataset()


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
