"""CIFAR-10 and CIFAR-100: 50,000 train and 10,000 test images of 3 x 32 x 32, in 10 classes, or in
100 (the fine labels).

The unpacked archives are looked for in the folders cifar-10-batches-py and cifar-100-python of
$FEDBENCH_DATA (~/.cache/fedbench if the variable is not set). torchvision fetches them only if
FEDBENCH_DOWNLOAD=1. A file is a pickle of Python 2: a dict with a list of labels, and with `data`
of bytes (n, 3072), which are red, green and blue planes row by row. It is unpickled only if it has
the published sum, and even then only arrays, lists, dicts, text and numbers are made from it.

Pixels are scaled to [0, 1], then normalised with mean (0.4914, 0.4822, 0.4465) and standard
deviation (0.2023, 0.1994, 0.2010). In a job's steps, images get 4 black pixels on every side, are
cropped at random, and mirrored at random, as in the code of Wu et al. 2021 and of FADAS.

Source: Krizhevsky 2009, "Learning multiple layers of features from tiny images";
https://www.cs.toronto.edu/~kriz/cifar.html.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fedbench import pickles
from fedbench.errors import RecordError
from fedbench.tasks.augment import CropAndFlip
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.decoded import kept
from fedbench.tasks.files import Published, torchvision_download
from fedbench.tasks.pixels import normalised
from fedbench.tasks.task import Task

SHAPE = (3, 32, 32)
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)
AUGMENTATION = CropAndFlip(4, tuple(-mean / std for mean, std in zip(MEAN, STD, strict=True)))
PAGE = "https://www.cs.toronto.edu/~kriz/cifar.html (python version)"


@dataclass(frozen=True, kw_only=True)
class Cifar(Published):
    """CIFAR-10 or CIFAR-100: which of its files are train and test, and the key of their labels."""

    train: tuple[str, ...]
    test: tuple[str, ...]
    labels: str
    classes: int


# Sums of the unpacked files as torchvision states them: CIFAR10 and CIFAR100, train_list and
# test_list.
CIFAR10 = Cifar(
    name="cifar10",
    folder="cifar-10-batches-py",
    page=PAGE,
    train=("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"),
    test=("test_batch",),
    labels="labels",
    classes=10,
    md5={
        "data_batch_1": "c99cafc152244af753f735de768cd75f",
        "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
        "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
        "data_batch_4": "634d18415352ddfa80567beed471001a",
        "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
        "test_batch": "40351d587109b95175f43aff81a1287e",
    },
)
CIFAR100 = Cifar(
    name="cifar100",
    folder="cifar-100-python",
    page=PAGE,
    train=("train",),
    test=("test",),
    labels="fine_labels",
    classes=100,
    md5={"train": "16019d7e3df5f24257cddd939b257f8d", "test": "f0ef6b0ae62326f3e7ffdfab6717acfc"},
)


def load_cifar10(model: str = "softmax") -> Task:
    """CIFAR-10: 50,000 train and 10,000 test colour images of 32 x 32 in ten classes."""
    return _task(CIFAR10, model)


def load_cifar100(model: str = "softmax") -> Task:
    """CIFAR-100: 50,000 train and 10,000 test colour images of 32 x 32 in a hundred classes."""
    return _task(CIFAR100, model)


def _task(published: Cifar, model: str) -> Task:
    return Task.of(dataset(published), model, AUGMENTATION)


def dataset(published: Cifar, root: Path | None = None) -> Dataset:
    """Returns the data set, with features float32 (n, 3, 32, 32), about 740 MB in all, which the
    processes of a machine share.

    `root` replaces the data root, and then nothing is fetched. MissingDataError says where the
    files were looked for and what to do. RecordError names a file that is damaged or not the
    published one.
    """
    files = published.located(root, torchvision_download(published.name.upper()))

    def decoded() -> Dataset:
        train, test = (_examples(published, [files[name] for name in names]) for names in (published.train, published.test))
        return Dataset(published.name, train, test, published.classes)

    return decoded() if root else kept(published.name, files.values(), published.md5, decoded)


def _examples(published: Cifar, paths: list[Path]) -> Examples:
    parts = [_batch(published, path) for path in paths]
    images = np.concatenate([images for images, _ in parts]).reshape(-1, *SHAPE)
    return Examples(normalised(images, MEAN, STD), np.concatenate([labels for _, labels in parts]))


def _batch(published: Cifar, path: Path) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Returns the images (n, 3072) and the labels (n,) of one file."""
    batch = unpickle(published.read(path), path)
    data, labels = (batch.get(key) for key in ("data", published.labels)) if isinstance(batch, dict) else (None, None)
    pixels = int(np.prod(SHAPE))
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != pixels:
        got = f"{data.dtype} {data.shape}" if isinstance(data, np.ndarray) else type(data).__name__
        raise RecordError(f"{path}: data must be uint8 (n, {pixels}), got {got}; wrong file")
    if not isinstance(labels, list) or len(labels) != len(data):
        got = f"{len(labels)}" if isinstance(labels, list) else type(labels).__name__
        raise RecordError(f"{path}: {published.labels} must be a list with a label per image, {len(data)}, got {got}; wrong file")
    return data, np.array(labels, np.int64)


ARRAYS: dict[str, object] = {"_reconstruct": np.empty(0).__reduce__()[0], "ndarray": np.ndarray, "dtype": np.dtype}
"""The three objects by which a pickle restores a numpy array. Below are the names of their module
in all versions of numpy."""
ARRAY_MODULES = ("numpy", "numpy.core.multiarray", "numpy._core.multiarray")


def unpickle(content: bytes, path: Path) -> object:
    """Returns the content of a Python 2 pickle of arrays, lists, dicts, text and numbers.
    RecordError for anything else, which is not executed."""
    return pickles.load(content, f"{path}: not a pickled batch", RecordError, ARRAYS, ARRAY_MODULES)
