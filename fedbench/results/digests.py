"""Digests: short names for arrays, such as inputs, plan and model. They are equal exactly when the
bits are equal."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt


class Digest:
    """A running SHA-256 over arrays: their dtypes, shapes, and bytes in C order."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, *arrays: npt.NDArray[Any]) -> Digest:
        for array in arrays:
            self._hash.update(f"{array.dtype.str}{array.shape}".encode())
            self._hash.update(np.ascontiguousarray(array).data)
        return self

    def copy(self) -> Digest:
        """Returns another digest, to which so far the same was added."""
        other = Digest()
        other._hash = self._hash.copy()
        return other

    def hex(self) -> str:
        return self._hash.hexdigest()[:32]


class ColumnDigest:
    """A running SHA-256 over columns that arrive in pieces. It does not depend on where they are
    cut."""

    def __init__(self, names: Iterable[str]) -> None:
        self._hashes = {name: hashlib.sha256() for name in names}

    def add(self, **columns: npt.NDArray[Any]) -> None:
        for name, column in columns.items():
            self._hashes[name].update(np.ascontiguousarray(column).data)

    def hex(self) -> str:
        whole = hashlib.sha256()
        for name, part in sorted(self._hashes.items()):
            whole.update(name.encode() + part.digest())
        return whole.hexdigest()[:32]
