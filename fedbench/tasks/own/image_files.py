"""Reads images by class from a folder or an archive: class/image, or train/class/image and
test/class/image. The columns are `image` and `label`, the name of the class.

Archives are tar, also packed by xz or gzip, and zip. Nothing is unpacked to disk under a name that
an archive has, and links in it are refused.
"""

from __future__ import annotations

import gzip
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast

import pyarrow as pa

from fedbench import own_files, places, plain_files
from fedbench.errors import FedbenchError, UsageError, one_line, shown
from fedbench.tasks.own.arrow_columns import ArrowColumn
from fedbench.tasks.own.columns import Column, Place, Table
from fedbench.tasks.own.limits import Limits
from fedbench.tasks.own.pictures import LARGEST_IMAGE, Pictures

IMAGE, LABEL = "image", "label"
ROWS = 500  # images that are decoded at a time
PIECE = 1 << 20  # bytes that are unpacked at a time
UNPACKERS: dict[str, Callable[[IO[bytes]], lzma.LZMAFile | gzip.GzipFile]] = {
    ".xz": lzma.open,
    ".gz": gzip.open,
    ".tgz": gzip.open,
}
Contents = Callable[[str], bytes]


class Images(Table):
    """The images of one part of a folder or an archive."""

    names = (IMAGE, LABEL)

    def __init__(self, path: Path, part: str, limits: Limits) -> None:
        self.path, self.part, self.limits = path, part, limits

    def batches(self, features: Sequence[str], keys: Sequence[str]) -> Iterable[Sequence[Column]]:
        names = [*features, *keys]
        pictures = Pictures(self.limits)
        with _opened(self.path, self.limits) as (parts, content_of):
            files = parts[self.part]
            for row in range(0, len(files), ROWS):
                some = files[row : row + ROWS]
                columns = {
                    IMAGE: pa.array([content_of(name) for name in some], pa.large_binary()) if IMAGE in names else None,
                    LABEL: pa.array([PurePosixPath(name).parts[-2] for name in some]),
                }
                yield [ArrowColumn(columns[name], Place(str(self.path), name, row), pictures) for name in names]


def parts_of_archive(path: Path) -> list[str]:
    """Returns the parts of an archive: train, and test if there is one."""
    with _opened(path, Limits(path, path.stat().st_size)) as (parts, _):
        return list(parts)


@contextmanager
def _opened(path: Path, limits: Limits) -> Iterator[tuple[dict[str, list[str]], Contents]]:
    """Gives the names of the images by part, and what returns the content of one."""
    if path.is_dir():
        yield own_files.parts_of(path), lambda name: plain_files.content(path / name, LARGEST_IMAGE, f"task file {shown(path)}:")
        return
    try:
        with (
            plain_files.opened(path, "task file") as file,
            (_zip if path.suffix.lower() == ".zip" else _tar)(file, path, limits) as found,
        ):
            names, content_of = found
            yield own_files.by_part(path, _images(names)), content_of
    except FedbenchError:
        raise
    except Exception as error:  # what these libraries raise for damaged files has no common kind
        why = shown(one_line(error)) or type(error).__name__
        raise UsageError(f"task file {shown(path)}: cannot be read as an archive of images: {why}") from None


def _images(names: Iterable[str]) -> list[str]:
    """Returns the names without what systems leave behind, and without those of files that stand in
    a folder without images, such as a README."""
    seen = [name for name in names if not any(map(places.is_left_behind, PurePosixPath(name).parts))]
    folders = {PurePosixPath(name).parent for name in seen if name.lower().endswith(own_files.IMAGES)}
    return [name for name in seen if PurePosixPath(name).parent in folders]


def _plain(name: str) -> str:
    """Returns a name without the `./` that tar may put before it."""
    return str(PurePosixPath(name))


@contextmanager
def _zip(file: IO[bytes], path: Path, limits: Limits) -> Iterator[tuple[list[str], Contents]]:
    with zipfile.ZipFile(file) as packed:
        members = {_plain(one.filename): one for one in packed.infolist() if not one.is_dir()}
        limits.unpacked(sum(one.file_size for one in members.values()))

        def content_of(name: str) -> bytes:
            with packed.open(members[name]) as member:
                return member.read(LARGEST_IMAGE + 1)

        yield list(members), content_of


@contextmanager
def _tar(file: IO[bytes], path: Path, limits: Limits) -> Iterator[tuple[list[str], Contents]]:
    with _plain_tar(file, path, limits) as plain, tarfile.open(fileobj=plain, mode="r:") as packed:
        members: dict[str, tarfile.TarInfo] = {}
        for one in packed:
            if one.isdir():
                continue
            if not one.isreg() or one.issparse():
                raise UsageError(
                    f"task file {shown(path)}: expected plain files only, got {shown(one.name, 60)}, a link or a device"
                )
            members[_plain(one.name)] = one

        def content_of(name: str) -> bytes:
            return cast(IO[bytes], packed.extractfile(members[name])).read(LARGEST_IMAGE + 1)

        yield list(members), content_of


@contextmanager
def _plain_tar(file: IO[bytes], path: Path, limits: Limits) -> Iterator[IO[bytes]]:
    """Gives the archive as it is once it is unpacked, in memory that no address space is needed
    for."""
    unpack = UNPACKERS.get(path.suffix.lower())
    if unpack is None:
        yield file
        return
    with os.fdopen(os.memfd_create("fedbench"), "w+b") as plain, unpack(file) as packed:
        while piece := packed.read(PIECE):
            plain.write(piece)
            limits.unpacked(plain.tell())
        plain.seek(0)
        yield plain
