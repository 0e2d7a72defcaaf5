"""Files and folders that their writer holds while it writes, by a lock that ends with its process.
So what a killed process left can be told from what another one is writing."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Yields an empty file that this process holds. It is removed if an error ends the block."""
    while True:
        with path.open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_still(file, path):  # it was taken for a leftover before it was held
                continue
            try:
                yield file
            except BaseException:
                path.unlink(missing_ok=True)
                raise
            return


def sync(file: BinaryIO, *content: bytes | memoryview) -> None:
    """Writes a file through to the disk."""
    file.writelines(content)
    file.flush()
    os.fsync(file.fileno())


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Makes an OSError name the file."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def remove_left(path: Path) -> None:
    """Removes the files `path`.writing-* that no process holds."""
    for left in path.parent.glob(f"{glob.escape(path.name)}.writing-*"):
        with contextlib.suppress(OSError), left.open("r+b") as file:  # an error if it is held by its writer, or gone by now
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yields an empty folder below `path`, which this process holds. What a killed process left
    there is removed, and at the end so is `path`. BlockingIOError if another process holds it."""
    path.mkdir(exist_ok=True)
    lock = path / "lock"
    with lock.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_still(file, lock):
            raise BlockingIOError(f"{path}: its holder has removed it")
        inside = path / "content"
        shutil.rmtree(inside, ignore_errors=True)
        inside.mkdir()
        try:
            yield inside
        finally:
            shutil.rmtree(path, ignore_errors=True)


def remove_left_folders(parent: Path) -> None:
    """Removes the folders .writing-* of `new_folder` that no process holds."""
    for left in parent.glob(".writing-*"):
        with contextlib.suppress(OSError), new_folder(left):
            pass


def _is_still(file: BinaryIO, path: Path) -> bool:
    """Returns whether the path still names the open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
