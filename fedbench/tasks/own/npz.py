"""Reads NumPy's .npz: arrays of one length by name. Arrays of Python objects are never opened."""

from __future__ import annotations

import contextlib
import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from fedbench import plain_files
from fedbench.errors import UsageError, one_line, shown
from fedbench.tasks.own.columns import ArrayColumn, Place, Table
from fedbench.tasks.own.limits import Limits
from fedbench.types import Array

MOST_ARRAYS = 10_000
LONGEST_ENTRY = 500  # bytes in the list of arrays
LONGEST_HEADER = 10_000  # characters of an array's description, which names a shape and a type
BATCH_BYTES = 16 << 20
DAMAGED = (
    ValueError, OSError, EOFError, RuntimeError, RecursionError, MemoryError, SyntaxError, tokenize.TokenError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What zipfile and numpy raise for files that are damaged, encrypted, or packed by other
methods."""


class Npz(Table):
    """The arrays of a file."""

    def __init__(self, path: Path, part: str, limits: Limits) -> None:
        self.path, self.limits = path, limits
        with self._packed() as packed:
            self.names = [name.removesuffix(".npy") for name in packed.namelist()]

    @contextlib.contextmanager
    def _packed(self) -> Iterator[zipfile.ZipFile]:
        try:
            with plain_files.opened(self.path, "task file") as file:
                _check_directory(file, self.path)
                with zipfile.ZipFile(file) as packed:
                    yield packed
        except DAMAGED as error:
            raise UsageError(f"task file {shown(self.path)}: cannot be read as .npz: {shown(one_line(error))}") from None

    def batches(self, features: Sequence[str], keys: Sequence[str]) -> Iterable[Sequence[ArrayColumn]]:
        names = [*features, *keys]
        with self._packed() as packed, contextlib.ExitStack() as opened:
            arrays = [_Member(packed, name, self, opened) for name in names]
            lengths = {one.name: one.length for one in arrays}
            if len(set(lengths.values())) > 1:
                listed = ", ".join(f"{shown(name, 60)} {length}" for name, length in list(lengths.items())[:10])
                raise UsageError(f"task file {shown(self.path)}: its arrays must have one length, got {listed}")
            self.limits.unpacked(sum(one.bytes for one in arrays))
            rows = max(1, BATCH_BYTES // max(1, sum(one.bytes for one in arrays) // max(1, arrays[0].length)))
            for begin in range(0, arrays[0].length, rows):
                yield [one.rows(begin, rows) for one in arrays]


def _check_directory(file: IO[bytes], path: Path) -> None:
    """Refuses a zip file with too many members before they are looked at. What says so stands near
    its end, before a comment of at most 65,535 bytes."""
    file.seek(max(0, file.seek(0, 2) - 65_557))
    tail = file.read()
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) < at + 22:
        raise zipfile.BadZipFile("File is not a zip file")
    members, size = int.from_bytes(tail[at + 10 : at + 12], "little"), int.from_bytes(tail[at + 12 : at + 16], "little")
    if members > MOST_ARRAYS or size > MOST_ARRAYS * LONGEST_ENTRY:
        raise UsageError(
            f"task file {shown(path)}: expected at most {MOST_ARRAYS:,} arrays, got {members:,} in a list of {size:,} bytes"
        )


class _Member:
    """One array, read some rows at a time."""

    def __init__(self, packed: zipfile.ZipFile, name: str, npz: Npz, opened: contextlib.ExitStack) -> None:
        self.name, self.file = name, str(npz.path)
        member = next(one for one in packed.namelist() if one.removesuffix(".npy") == name)
        self._from = opened.enter_context(packed.open(member))
        shape, self._is_fortran, self._dtype = _header(self._from)
        if self._dtype.hasobject:
            raise Place(self.file, name).error("holds Python objects, which are not read; save it as numbers or texts")
        self._shape = shape or (1,)
        self.length, self.bytes = self._shape[0], math.prod(self._shape) * self._dtype.itemsize
        self._all: Array | None = None

    def rows(self, begin: int, count: int) -> ArrayColumn:
        count = min(count, self.length - begin)
        if self._is_fortran and len(self._shape) > 1:  # its rows are not one after the other
            if self._all is None:
                self._all = self._read(self._shape[::-1]).T
            return ArrayColumn(self._all[begin : begin + count], Place(self.file, self.name, begin))
        return ArrayColumn(self._read((count, *self._shape[1:])), Place(self.file, self.name, begin))

    def _read(self, shape: tuple[int, ...]) -> Array:
        wanted = math.prod(shape) * self._dtype.itemsize
        content = self._from.read(wanted)
        if len(content) != wanted:
            raise EOFError(f"array {shown(self.name, 60)} ends early")
        return np.frombuffer(content, self._dtype).reshape(shape)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"version {version} of the format")
    shape, is_fortran, dtype = read(file, max_header_size=LONGEST_HEADER)
    if any(not 0 <= size < 1 << 48 for size in shape):
        raise ValueError(f"shape {shape!s:.60}")
    return shape, is_fortran, dtype
