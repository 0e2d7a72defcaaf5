"""STL-10: small files in the binary format, and what becomes of their images."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from fedbench.errors import MissingDataError, RecordError
from fedbench.tasks import stl10
from fedbench.tasks.cifar import MEAN, STD
from fedbench.tasks.files import Published
from fedbench.tasks.stl10 import STL10

from .published import md5


def write(root: Path) -> Published:
    """Two train images and one test image: value = row + 100 * (column is 95) in red, 0 in green,
    255 in blue."""
    folder = root / STL10.folder
    folder.mkdir(parents=True)
    image = np.zeros((3, 96, 96), np.uint8)
    image[0] = np.arange(96)[:, None] + 100 * (np.arange(96) == 95)
    image[2] = 255
    columns_first = image.transpose(0, 2, 1).tobytes()
    for part, labels in (("train", [10, 1]), ("test", [4])):
        (folder / f"{part}_X.bin").write_bytes(columns_first * len(labels))
        (folder / f"{part}_y.bin").write_bytes(bytes(labels))
    return dataclasses.replace(STL10, md5=md5(folder))


def test_reads_columns_and_makes_blocks(tmp_path: Path) -> None:
    data = stl10.dataset(write(tmp_path), tmp_path)
    assert (data.train.x.shape, data.test.x.shape, data.classes) == ((2, 3, 32, 32), (1, 3, 32, 32), 10)
    assert (data.train.y.tolist(), data.test.y.tolist()) == ([9, 0], [3])
    rows = 3 * np.arange(32) + 1
    red = np.repeat(rows[:, None], 32, axis=1) + 100 / 3 * (np.arange(32) == 31)
    for channel, values in enumerate((red, 0, 255)):
        expected = np.broadcast_to((np.asarray(values) / 255 - MEAN[channel]) / STD[channel], (32, 32))
        np.testing.assert_allclose(data.train.x[1, channel], expected, rtol=1e-5)


@pytest.mark.extra("torch")
def test_axes_are_torchvisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchvision import datasets

    write(tmp_path)
    monkeypatch.setattr(datasets.STL10, "_check_integrity", lambda self: True)
    theirs = datasets.STL10(str(tmp_path), split="test")
    assert theirs.labels is not None
    assert theirs.data[0, 0, :, 0].tolist() == list(range(96))  # rows
    assert theirs.labels.tolist() == [3]


@pytest.mark.extra("torch")
def test_sums_are_those_that_torchvision_states() -> None:
    from torchvision.datasets import STL10 as THEIRS

    stated = dict(THEIRS.train_list + THEIRS.test_list)
    assert {name: stated[name] for name in STL10.md5} == dict(STL10.md5)
    assert STL10.folder == THEIRS.base_folder


def test_damage_is_named(tmp_path: Path) -> None:
    written = write(tmp_path)
    folder = tmp_path / STL10.folder
    with pytest.raises(RecordError, match=r"train_X\.bin: md5 of the content must be 918c2871b30a85fa023e0c44e0bee87f"):
        stl10.dataset(root=tmp_path)
    (folder / "test_y.bin").write_bytes(bytes([1, 2]))
    with pytest.raises(RecordError, match=r"test_X\.bin: test_y\.bin has 2 labels, so it must have 55296 bytes, got 27648"):
        stl10.dataset(dataclasses.replace(written, md5=md5(folder)), tmp_path)
    with pytest.raises(MissingDataError, match=r"stl10_binary \(no such folder\)"):
        stl10.dataset(root=tmp_path / "absent")
