"""CIFAR: small batches pickled as Python 2 did, read back, and everything that must be refused."""

from __future__ import annotations

import dataclasses
import pickle
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench.errors import MissingDataError, RecordError
from fedbench.tasks import cifar
from fedbench.tasks.cifar import CIFAR10, CIFAR100, Cifar

from .published import md5, python2_pickle

ROWS = 3


def batch(start: int, labels: list[int], key: str) -> dict[str, Any]:
    """Image i has red i, green i + 1 and blue i + 2, but for the second pixel of its first row,
    which is 255 in all."""
    data = np.repeat(np.arange(start, start + ROWS, dtype=np.uint8)[:, None] + np.arange(3, dtype=np.uint8), 1024, axis=1)
    data[:, [1, 1025, 2049]] = 255
    names = [f"image_{start + i}.png" for i in range(ROWS)]
    content = {"batch_label": "a batch", key: labels, "data": data, "filenames": names}
    return content | ({"coarse_labels": [0] * ROWS} if key == "fine_labels" else {})


def write(root: Path, published: Cifar) -> Cifar:
    """All files of the data set, labels falling from the highest; with their sums instead of the
    true ones."""
    folder = root / published.folder
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(published.md5):
        labels = [published.classes - 1 - (ROWS * number + i) % published.classes for i in range(ROWS)]
        key = {"cifar10": "labels", "cifar100": "fine_labels"}[published.name]
        (folder / name).write_bytes(python2_pickle(batch(ROWS * number, labels, key)))
    return dataclasses.replace(published, md5=md5(folder))


@pytest.mark.parametrize("published", [CIFAR10, CIFAR100], ids=lambda p: p.name)
def test_reads_and_normalises(published: Cifar, tmp_path: Path) -> None:
    data = cifar.dataset(write(tmp_path, published), tmp_path)
    train = ROWS * len(published.train)
    assert (data.train.x.shape, data.test.x.shape) == ((train, 3, 32, 32), (ROWS, 3, 32, 32))
    assert (data.train.x.dtype, data.classes, data.name) == (np.float32, published.classes, published.name)
    for channel, (mean, std) in enumerate(zip((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010), strict=True)):
        np.testing.assert_allclose(data.train.x[:, channel, 1, 0], ((np.arange(train) + channel) / 255 - mean) / std, rtol=1e-5)
        np.testing.assert_allclose(data.train.x[:, channel, 0, 1], (1 - mean) / std, rtol=1e-5)
    np.testing.assert_array_equal(data.train.y, published.classes - 1 - np.arange(train) % published.classes)


@pytest.mark.extra("torch")
def test_pixels_and_labels_are_torchvisions(tmp_path: Path) -> None:
    from torchvision.transforms import Compose, Normalize, ToTensor

    written = write(tmp_path, CIFAR10)
    images = batch(ROWS, [0], "labels")["data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    theirs = Compose([ToTensor(), Normalize(cifar.MEAN, cifar.STD)])(images[1]).numpy()
    np.testing.assert_array_equal(cifar.dataset(written, tmp_path).train.x[ROWS + 1], theirs)


@pytest.mark.extra("torch")
def test_sums_are_those_that_torchvision_states() -> None:
    from torchvision import datasets

    for published in (CIFAR10, CIFAR100):
        theirs = getattr(datasets, published.name.upper())
        assert (published.folder, dict(published.md5)) == (theirs.base_folder, dict(theirs.train_list + theirs.test_list))


def test_the_files_are_of_the_old_kind() -> None:
    """No text with an encoding, arrays by the old module: what the true files have."""
    content = python2_pickle(batch(0, [1, 2, 3], "labels"))
    operations = [(operation.name, argument) for operation, argument, _ in pickletools.genops(content)]
    assert {"BINSTRING", "GLOBAL"} <= {name for name, _ in operations}
    assert "BINUNICODE" not in {name for name, _ in operations}
    assert {argument for name, argument in operations if name == "GLOBAL"} == {
        "numpy.core.multiarray _reconstruct",
        "numpy ndarray",
        "numpy dtype",
    }


def test_other_content_is_refused_before_it_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, CIFAR10)
    monkeypatch.setattr(cifar, "unpickle", lambda *_: pytest.fail("unpickled"))
    with pytest.raises(RecordError, match=r"data_batch_1: md5 of the content must be c99cafc152244af753f735de768cd75f, got "):
        cifar.dataset(CIFAR10, tmp_path)


class Evil:
    """Opens a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


def test_nothing_but_arrays_is_made_even_of_a_file_with_the_right_sum(tmp_path: Path) -> None:
    written = write(tmp_path, CIFAR100)
    file, mark = tmp_path / written.folder / "test", tmp_path / "mark"
    file.write_bytes(pickle.dumps({"data": Evil(mark)}, 2))
    with pytest.raises(RecordError, match=r"test: not a pickled batch \(UnpicklingError: it asks for (_?io|io)\.open"):
        cifar.dataset(dataclasses.replace(written, md5=md5(file.parent)), tmp_path)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": np.zeros((ROWS, 3071), np.uint8)}, r"data must be uint8 \(n, 3072\), got uint8 \(3, 3071\)"),
        ({"data": np.zeros((ROWS, 3072), np.float32)}, r"got float32 \(3, 3072\)"),
        ({"data": [1]}, r"got list"),
        ({"labels": [1, 2]}, r"labels must be a list with a label per image, 3, got 2"),
        ({"labels": None}, r"got NoneType"),
    ],
)
def test_batches_of_another_shape(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    written = write(tmp_path, CIFAR10)
    file = tmp_path / written.folder / "data_batch_4"
    file.write_bytes(python2_pickle(batch(0, [1, 2, 3], "labels") | change))
    with pytest.raises(RecordError, match=rf"data_batch_4: .*{message}"):
        cifar.dataset(dataclasses.replace(written, md5=md5(file.parent)), tmp_path)


def test_a_cut_file(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"some: not a pickled batch"):
        cifar.unpickle(python2_pickle(batch(0, [1], "labels"))[:-9], tmp_path / "some")


def test_missing_says_where_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    monkeypatch.delenv("FEDBENCH_DOWNLOAD", raising=False)
    with pytest.raises(MissingDataError, match=r"cifar-100-python \(no such folder\).* FEDBENCH_DATA .* FEDBENCH_DOWNLOAD=1"):
        cifar.load_cifar100()
    folder = tmp_path / CIFAR10.folder
    write(tmp_path, CIFAR10)
    (folder / "test_batch").unlink()
    with pytest.raises(MissingDataError, match=r"cifar10: not on this machine; .*\(has no test_batch\).*kriz/cifar\.html"):
        cifar.load_cifar10()


def test_fetched_only_if_allowed_and_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Path] = []

    def fetch(root: Path) -> None:
        calls.append(root)
        write(root, CIFAR10)

    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    monkeypatch.setenv("FEDBENCH_DOWNLOAD", "1")
    for _ in range(2):
        assert set(CIFAR10.located(None, fetch)) == set(CIFAR10.md5)
    assert calls == [tmp_path]
    with pytest.raises(MissingDataError):
        CIFAR100.located(None, lambda root: None)
