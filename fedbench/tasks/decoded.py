"""A cache of decoded data sets on this machine. Processes map its files into memory instead of
unpacking the published ones, and share these pages.

An entry is a file: a line with the format, the SHA-256 of all that follows, the header's length, a
header in JSON, and the arrays. Its name has the name of the data set, and a key of what the entry
is made from: path, size and time of the source files, or their sums where nobody publishes them,
and the code of this package. An entry is written under another name and then renamed, so that
several processes may make it at a time. It is checked whenever it is opened, and a damaged one is
made again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import mmap
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from fedbench.tasks.data import Dataset, Examples
from fedbench.types import Array

FORMAT = b"fedbench decoded 1\n"
ALIGNMENT = 64  # of arrays, in bytes
KEPT = 4  # newest entries of a data set that stay, for other versions of the code or of the files
_SUM, _LENGTH = len(FORMAT), len(FORMAT) + 32
_HEADER = _LENGTH + 8


def folder() -> Path | None:
    """Returns the folder of the cache: $FEDBENCH_CACHE, or ~/.cache/fedbench/decoded. None if the
    variable is `off`, or if the user has no home folder."""
    given = os.environ.get("FEDBENCH_CACHE")
    if given == "off":
        return None
    try:
        return Path(given) if given else Path.home() / ".cache" / "fedbench" / "decoded"
    except RuntimeError:
        return None


def kept(name: str, sources: Iterable[Path], expected: object, make: Callable[[], Dataset]) -> Dataset:
    """Returns the data set that `make` makes, from the cache if it is there. Its arrays may be
    written; that does not change the cache.

    Args:
        name: The name of the data set.
        sources: The files that `make` reads, which must exist.
        expected: What these files must hold. Its repr is a part of the entry's key.
        make: Decodes the data set.
    """
    place = folder()
    if place is None:
        return make()
    file = place / f"{name}-{_key(sources, expected)}.bin"
    found = _read(file)
    if found is None:
        found = make()
        with contextlib.suppress(OSError):  # on a full or read-only disk nothing is kept
            _write(file, found)
            _forget_old(file, name)
            found = _read(file) or found  # from now on the pages are shared with other processes
    return found


def _key(sources: Iterable[Path], expected: object) -> str:
    facts: list[object] = [_code(), repr(expected)]
    for path in sources:
        status = path.stat()
        facts.append([str(path.resolve()), status.st_size, status.st_mtime_ns])
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


@functools.cache
def _code() -> str:
    """Returns a sum of the modules of this package, of which each may have a part in the arrays."""
    return sum_of_code(*Path(__file__).parent.rglob("*.py"))


def sum_of_code(*files: Path) -> str:
    """Returns the SHA-256 of the files' content, in the order of their names."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


def _arrays(data: Dataset) -> dict[str, Array]:
    fields = {f"{part}.{name}": getattr(getattr(data, part), name) for part in ("train", "test") for name in ("x", "y", "owner")}
    return {name: array for name, array in fields.items() if array is not None}


def _write(file: Path, data: Dataset) -> None:
    rows, at = [], 0
    for name, array in _arrays(data).items():
        rows.append({"name": name, "dtype": array.dtype.str, "shape": array.shape, "at": at})
        at += array.nbytes + -array.nbytes % ALIGNMENT
    header = json.dumps(
        {"data_set": data.name, "classes": data.classes, "sha256": data.sha256, "owners": data.owners, "arrays": rows}
    ).encode()
    header += b" " * (-(_HEADER + len(header)) % ALIGNMENT)
    pieces: list[bytes | memoryview] = [len(header).to_bytes(8, "little"), header]
    for array in _arrays(data).values():
        pieces += [array.data.cast("B"), bytes(-array.nbytes % ALIGNMENT)]
    total = hashlib.sha256()
    for piece in pieces:
        total.update(piece)
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(prefix=f".{file.stem}-", suffix=".partial", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            for piece in (FORMAT, total.digest(), *pieces):
                out.write(piece)
        Path(beside).replace(file)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _forget_old(file: Path, name: str) -> None:
    """Deletes all but the newest entries of the data set, and partial files that killed processes
    left more than an hour ago."""
    entries = sorted(file.parent.glob(f"{name}-*.bin"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    left = [path for path in file.parent.glob(".*.partial") if path.stat().st_mtime < time.time() - 3600]
    for path in entries[KEPT:] + left:
        path.unlink(missing_ok=True)


def _read(file: Path) -> Dataset | None:
    """Returns the data set of an entry; None if there is no such entry, or if it is damaged."""
    try:
        with file.open("rb") as opened:
            pages = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError):  # ValueError: an empty file
        return None
    view = memoryview(pages)
    if view[:_SUM] != FORMAT or view[_SUM:_LENGTH] != hashlib.sha256(view[_LENGTH:]).digest():
        return None
    start = _HEADER + int.from_bytes(view[_LENGTH:_HEADER], "little")
    header = json.loads(bytes(view[_HEADER:start]))

    def array(name: str, dtype: str, shape: Sequence[int], at: int) -> tuple[str, Array]:
        return name, np.frombuffer(pages, dtype, math.prod(shape), start + at).reshape(shape)

    arrays = dict(array(**row) for row in header["arrays"])
    train, test = (Examples(arrays[f"{part}.x"], arrays[f"{part}.y"], arrays.get(f"{part}.owner")) for part in ("train", "test"))
    return Dataset(header["data_set"], train, test, header["classes"], sha256=header["sha256"], owners=header["owners"])
