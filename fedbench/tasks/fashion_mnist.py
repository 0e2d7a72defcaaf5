"""FashionMNIST: 60,000 train and 10,000 test images of 28 x 28 in ten classes, from files that are
on this machine.

The first of these folders that has all four files, each plain or gzipped, is used:
    1. /usr/share/datasets/fashion-mnist                  Debian's package dataset-fashion-mnist
    2. $FEDBENCH_DATA/FashionMNIST/raw                    a torchvision root; ~/.cache/fedbench if the variable is not set
    3. torchvision's download into that root              only if FEDBENCH_DOWNLOAD=1
Pixels are scaled to [0, 1], then normalised with mean 0.2860 and standard deviation 0.3530; there
is no augmentation. Source: Xiao, Rasul and Vollgraf 2017, arXiv:1708.07747.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from fedbench.errors import MissingDataError, RecordError
from fedbench.places import data_root
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.decoded import kept
from fedbench.tasks.files import Files, may_download, torchvision_download
from fedbench.tasks.idx import read_idx
from fedbench.tasks.pixels import normalised
from fedbench.tasks.task import Task

NAME = "fashion_mnist"
CLASSES = 10
SIDE = 28
MEAN, STD = 0.2860, 0.3530
DEBIAN = Path("/usr/share/datasets/fashion-mnist")
DOWNLOAD = torchvision_download("FashionMNIST", NAME, "; install it with `apt-get install dataset-fashion-mnist`")

# Of the decompressed files, taken from Debian's package. Its .gz files do not have the published
# md5 sums, because their gzip headers were rewritten; with name and original time put back into the
# header (1504176606 for train-*, 1504176627 for t10k-*) all four have them:
# 8d4fb7e6c68d591d4c3dfef9ec88bf0d train-images, 25c81989df183df01b3e8a0aad5dffbe train-labels,
# bef4ecab320f06d8554ea6380940ec79 t10k-images, bb300cfdad3c16e7a12a480ee83cd310 t10k-labels. So
# this is the published content.
SHA256: Mapping[str, str] = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}


def load(model: str = "softmax") -> Task:
    """FashionMNIST: 60,000 train and 10,000 test grey images of 28 x 28 in ten classes.

    Errors: those of `dataset`; UsageError for an unknown model.
    """
    return Task.of(dataset(), model)


def dataset(
    folders: Sequence[Path] | None = None,
    sha256: Mapping[str, str] = SHA256,
    download: Callable[[], None] | None = None,
) -> Dataset:
    """Returns the data set, with features float32 (n, 1, 28, 28), about 220 MB in all, which the
    processes of a machine share.

    Args:
        folders: Where to look; None for the folders in the module's docstring.
        sha256: The sum that every file must have, by name.
        download: Fills the last of the given folders, if none of them has the files.

    Raises:
        MissingDataError: The files are nowhere; the message says where they were looked for and
            what to install.
        RecordError: A file is damaged.
    """

    def decoded_from(files: Files) -> Dataset:
        return Dataset(NAME, _examples("train", files, sha256), _examples("t10k", files, sha256), CLASSES)

    if folders is not None:
        return decoded_from(locate(folders, download))
    files = locate((DEBIAN, raw_folder(data_root())), (lambda: DOWNLOAD(data_root())) if may_download() else None)
    return kept(NAME, files.values(), sha256, lambda: decoded_from(files))


def raw_folder(root: Path) -> Path:
    """Returns the folder below a data root in which torchvision keeps the files."""
    return root / "FashionMNIST" / "raw"


def locate(folders: Sequence[Path], download: Callable[[], None] | None = None) -> Files:
    """Returns the files, by name, of the first folder that has all four. If none has them,
    `download` fills the last folder. MissingDataError if that is not given."""
    for folder in folders:
        files = _files(folder)
        if len(files) == len(SHA256):
            return files
    if download is not None:
        download()
        return locate(folders)
    looked = "; ".join(f"{folder} ({_missing(folder)})" for folder in folders)
    raise MissingDataError(
        f"data set {NAME}: not on this machine; looked in {looked}. Install it with `apt-get install dataset-fashion-mnist`, "
        f"or set FEDBENCH_DATA to a folder that has FashionMNIST/raw, or set FEDBENCH_DOWNLOAD=1 to fetch it with torchvision"
    )


def _files(folder: Path) -> Files:
    # The plain file comes last and so wins: it needs no unpacking.
    choices = {name: (folder / f"{name}.gz", folder / name) for name in SHA256}
    return {name: path for name, paths in choices.items() for path in paths if path.is_file()}


def _missing(folder: Path) -> str:
    if not folder.is_dir():
        return "no such folder"
    return "has no " + ", ".join(sorted(set(SHA256) - set(_files(folder))))


def _examples(part: str, files: Files, sha256: Mapping[str, str]) -> Examples:
    images_name, labels_name = f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"
    images = read_idx(files[images_name], sha256[images_name])
    labels = read_idx(files[labels_name], sha256[labels_name])
    if images.shape[1:] != (SIDE, SIDE):
        raise RecordError(f"{files[images_name]}: must hold images (n, {SIDE}, {SIDE}), got {images.shape}; wrong file")
    if labels.shape != images.shape[:1]:
        raise RecordError(f"{files[labels_name]}: must hold a label per image, ({len(images)},), got {labels.shape}; wrong file")
    return Examples(normalised(images[:, None], (MEAN,), (STD,)), labels.astype(np.int64))
