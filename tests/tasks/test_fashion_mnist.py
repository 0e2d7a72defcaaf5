"""FashionMNIST: where it is looked for, on small files in the true format; and the real files,
where they are installed."""

from __future__ import annotations

import gzip
import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest

from fedbench.errors import MissingDataError, RecordError
from fedbench.places import data_root
from fedbench.tasks import fashion_mnist
from fedbench.tasks.data import Dataset

TRAIN, TEST = 20, 10


def contents() -> dict[str, bytes]:
    """A small data set: image i has the grey value i everywhere but in its last pixel, which is
    255."""
    files = {}
    for part, n in (("train", TRAIN), ("t10k", TEST)):
        images = np.repeat(np.arange(n, dtype=np.uint8), 784).reshape(n, 784)
        images[:, -1] = 255
        files[f"{part}-images-idx3-ubyte"] = struct.pack(">4B3I", 0, 0, 8, 3, n, 28, 28) + images.tobytes()
        files[f"{part}-labels-idx1-ubyte"] = struct.pack(">4BI", 0, 0, 8, 1, n) + bytes(i % 10 for i in range(n))
    return files


def sums(files: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def write(folder: Path, files: dict[str, bytes], *, compressed: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if compressed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)


@pytest.mark.parametrize("compressed", [True, False])
def test_reads_and_normalises(tmp_path: Path, compressed: bool) -> None:
    files = contents()
    write(tmp_path, files, compressed=compressed)
    data = fashion_mnist.dataset([tmp_path / "absent", tmp_path], sums(files))
    assert (data.train.x.shape, data.test.x.shape) == ((TRAIN, 1, 28, 28), (TEST, 1, 28, 28))
    assert data.train.x.dtype == np.float32
    np.testing.assert_allclose(data.train.x[7, 0, 0, 0], (7 / 255 - 0.2860) / 0.3530, rtol=1e-6)
    np.testing.assert_allclose(data.train.x[:, 0, 27, 27], (1 - 0.2860) / 0.3530, rtol=1e-6)
    np.testing.assert_array_equal(data.train.y, [i % 10 for i in range(TRAIN)])


@pytest.mark.extra("torch")
def test_normalisation_is_torchvisions_bit_for_bit(tmp_path: Path) -> None:
    from torchvision.transforms import Compose, Normalize, ToTensor

    files = contents()
    greys = np.arange(784, dtype=np.uint32).astype(np.uint8).reshape(28, 28)
    header = files["train-images-idx3-ubyte"][:16]
    files["train-images-idx3-ubyte"] = header + greys.tobytes() * TRAIN
    write(tmp_path, files, compressed=False)
    theirs = Compose([ToTensor(), Normalize((0.2860,), (0.3530,))])(greys).numpy()
    np.testing.assert_array_equal(fashion_mnist.dataset([tmp_path], sums(files)).train.x[0], theirs)


def test_the_first_complete_folder_wins(tmp_path: Path) -> None:
    files = contents()
    partial = dict(list(files.items())[:3])
    write(tmp_path / "partial", partial, compressed=True)
    write(tmp_path / "whole", files, compressed=True)
    write(tmp_path / "later", files, compressed=True)
    found = fashion_mnist.locate([tmp_path / "partial", tmp_path / "whole", tmp_path / "later"])
    assert {path.parent for path in found.values()} == {tmp_path / "whole"}


def test_missing_says_where_and_what_to_do(tmp_path: Path) -> None:
    files = contents()
    del files["t10k-labels-idx1-ubyte"]
    write(tmp_path / "partial", files, compressed=True)
    with pytest.raises(MissingDataError) as error:
        fashion_mnist.dataset([tmp_path / "absent", tmp_path / "partial"])
    message = str(error.value)
    assert f"{tmp_path / 'absent'} (no such folder)" in message
    assert f"{tmp_path / 'partial'} (has no t10k-labels-idx1-ubyte)" in message
    for remedy in ("apt-get install dataset-fashion-mnist", "FEDBENCH_DATA", "FEDBENCH_DOWNLOAD=1"):
        assert remedy in message


def test_download_only_when_nothing_is_found(tmp_path: Path) -> None:
    files, calls = contents(), []

    def download() -> None:
        calls.append(1)
        write(tmp_path / "root", files, compressed=True)

    for _ in range(2):
        data = fashion_mnist.dataset([tmp_path / "absent", tmp_path / "root"], sums(files), download)
        assert len(data.train) == TRAIN
    assert len(calls) == 1
    with pytest.raises(MissingDataError):
        fashion_mnist.dataset([tmp_path / "absent"], sums(files), lambda: None)


def test_other_content_is_refused(tmp_path: Path) -> None:
    write(tmp_path, contents(), compressed=True)
    with pytest.raises(RecordError, match=r"train-images-idx3-ubyte\.gz: sha256 .* must be c59f468a"):
        fashion_mnist.dataset([tmp_path])


def test_labels_that_do_not_belong_to_the_images(tmp_path: Path) -> None:
    files = contents()
    files["train-labels-idx1-ubyte"] = files["t10k-labels-idx1-ubyte"]
    write(tmp_path, files, compressed=True)
    with pytest.raises(RecordError, match=r"train-labels-idx1-ubyte\.gz: must hold a label per image, \(20,\), got \(10,\)"):
        fashion_mnist.dataset([tmp_path], sums(files))


def test_root_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    assert fashion_mnist.raw_folder(data_root()) == tmp_path / "FashionMNIST" / "raw"
    monkeypatch.delenv("FEDBENCH_DATA")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_root() == tmp_path / ".cache" / "fedbench"


installed = pytest.mark.skipif(not fashion_mnist.DEBIAN.is_dir(), reason="no Debian package dataset-fashion-mnist")


@pytest.fixture(scope="module")
def real() -> Dataset:
    return fashion_mnist.dataset([fashion_mnist.DEBIAN])


@pytest.mark.fashion
@installed
def test_real_files(real: Dataset) -> None:
    assert (real.train.x.shape, real.test.x.shape) == ((60_000, 1, 28, 28), (10_000, 1, 28, 28))
    for part in (real.train, real.test):
        np.testing.assert_array_equal(np.bincount(part.y), [len(part) // 10] * 10)
    # 0.2860 and 0.3530 are the moments of the train pixels, so they are 0 and 1 now. Labels as in
    # the data set's own repository.
    assert abs(real.train.x.mean(dtype=np.float64)) < 1e-3
    assert abs(real.train.x.std(dtype=np.float64) - 1) < 1e-3
    np.testing.assert_array_equal(real.train.y[:10], [9, 0, 0, 3, 0, 2, 7, 2, 5, 5])


@pytest.mark.fashion
@installed
def test_real_task() -> None:
    task = fashion_mnist.load("cnn_582026")
    assert task.spec() == {"name": "fashion_mnist", "model": "cnn_582026"}
    assert task.dataset.shape == task.model.input_shape
