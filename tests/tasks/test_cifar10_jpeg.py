"""CIFAR-10 as JPEG: an archive in the true layout, the true archive if it is there, and another
one."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import tarfile
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from fedbench.engine.data import Data
from fedbench.engine.trainers.choose import choose
from fedbench.errors import MissingDataError, RecordError
from fedbench.places import data_root
from fedbench.registry import algorithm, find
from fedbench.scenarios.load import load
from fedbench.tasks import cifar10_jpeg
from fedbench.tasks.available import outline
from fedbench.tasks.cifar10_jpeg import ARCHIVE, AUGMENTATION, CIFAR10_JPEG, MEAN, STD, Jpegs

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def write(root: Path) -> tuple[Jpegs, dict[str, np.ndarray]]:
    """Two images a class for training and one for testing, which are not in order in the archive;
    and the bytes that they decode to, in order."""
    random, decoded = np.random.default_rng(0), {}
    (root / CIFAR10_JPEG.folder).mkdir()
    file = root / CIFAR10_JPEG.folder / ARCHIVE
    with tarfile.open(file, "w:xz") as packed:
        for part, count in (("test", 1), ("train", 2)):
            pixels = np.empty((10, count, 32, 32, 3), np.uint8)
            for i, label in reversed(list(enumerate(CLASSES))):
                for number in range(count):
                    out = io.BytesIO()
                    PIL.Image.fromarray(random.integers(0, 256, (32, 32, 3), np.uint8)).save(out, "JPEG", quality=75)
                    pixels[i, number] = np.asarray(PIL.Image.open(out))
                    member = tarfile.TarInfo(f"{part}/{label}/{number:04}.jpg")
                    member.size = out.tell()
                    out.seek(0)
                    packed.addfile(member, out)
            decoded[part] = pixels.reshape(-1, 32, 32, 3)
    sums = (hashlib.sha256(decoded["train"]).hexdigest(), hashlib.sha256(decoded["test"]).hexdigest())
    return dataclasses.replace(CIFAR10_JPEG, archive=hashlib.sha256(file.read_bytes()).hexdigest(), decoded=sums), decoded


def test_classes_and_numbers_are_in_order(tmp_path: Path) -> None:
    published, decoded = write(tmp_path)
    data = cifar10_jpeg.dataset(published, tmp_path)
    assert (data.name, data.shape, data.classes) == ("cifar10_jpeg", (3, 32, 32), 10)
    assert data.train.y.tolist() == [label for label in range(10) for _ in range(2)]
    for part, examples in (("train", data.train), ("test", data.test)):
        expected = (decoded[part].transpose(0, 3, 1, 2) / 255 - np.array(MEAN)[:, None, None]) / np.array(STD)[:, None, None]
        np.testing.assert_allclose(examples.x, expected, rtol=1e-4, atol=1e-5)


def test_another_archive_or_decoder_is_refused(tmp_path: Path) -> None:
    published, _ = write(tmp_path)
    with pytest.raises(RecordError, match=r"sha256 must be c2dd627d.*; it is another archive"):
        cifar10_jpeg.dataset(root=tmp_path)
    with pytest.raises(RecordError, match=r"its test images must decode to bytes of sha256 0000.*decoder of JPEG differs"):
        cifar10_jpeg.dataset(dataclasses.replace(published, decoded=(published.decoded[0], "0" * 64)), tmp_path)
    with pytest.raises(MissingDataError, match=r"data set cifar10_jpeg: not on this machine; looked in .*none/cifar10-jpeg"):
        cifar10_jpeg.dataset(root=tmp_path / "none")


def test_the_cnn_trains_natively() -> None:
    found = outline("cifar10_jpeg", "cnn_878538")
    assert found is not None
    assert (found.model.dim, found.is_augmented) == (878_538, False)
    assert choose(found, algorithm("fedavg")).name == "native"
    assert find("task", "cifar10-jpeg") is cifar10_jpeg.load


def test_images_are_augmented_on_request_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published, _ = write(tmp_path)
    data = cifar10_jpeg.dataset(published, tmp_path)
    monkeypatch.setattr(cifar10_jpeg, "dataset", lambda: data)
    keys = ["task.name=cifar10_jpeg", "task.model=cnn_878538"]
    for how, expected in (([], None), (["task.augmentation=none"], None), (["task.augmentation=crop_flip"], AUGMENTATION)):
        found = Data(load("digits-demo", [*keys, *how]), 0)
        assert found.outline.is_augmented == (expected is not None)
        assert found.task.augmentation == expected


@pytest.mark.slow
def test_the_true_archive_decodes_to_the_stated_bytes() -> None:
    if not (data_root() / CIFAR10_JPEG.folder / ARCHIVE).is_file():
        pytest.skip(f"no {CIFAR10_JPEG.folder}/{ARCHIVE} below FEDBENCH_DATA")
    data = cifar10_jpeg.dataset()
    assert np.bincount(data.train.y).tolist() == [5000] * 10
    assert np.bincount(data.test.y).tolist() == [1000] * 10
    assert np.allclose(data.train.x.mean(axis=(0, 2, 3), dtype=np.float64), 0, atol=1e-3)
    assert np.allclose(data.train.x.std(axis=(0, 2, 3), dtype=np.float64), 1, atol=1e-3)
