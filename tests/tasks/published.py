"""Small data sets in the true formats, written byte by byte."""

from __future__ import annotations

import hashlib
import io
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar


def md5(folder: Path) -> dict[str, str | None]:
    """The sums of all files of a folder."""
    return {file.name: hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest() for file in folder.iterdir()}


class Python2Pickler(pickle._Pickler):  # type: ignore[misc, name-defined]
    """Pickles as Python 2 with protocol 2 and its numpy did, which made the CIFAR files: text and
    bytes are one type, without an encoding, and arrays are restored by numpy.core.multiarray."""

    dispatch: ClassVar[dict[type, Callable[..., None]]] = dict(pickle._Pickler.dispatch)  # type: ignore[attr-defined]

    def save_text(self, obj: bytes | str) -> None:
        content = obj.encode("latin1") if isinstance(obj, str) else obj
        self.write(pickle.BINSTRING + struct.pack("<i", len(content)) + content)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        module = "numpy.core.multiarray" if obj.__name__ == "_reconstruct" else obj.__module__
        self.write(pickle.GLOBAL + f"{module}\n{obj.__name__}\n".encode())

    dispatch[bytes] = dispatch[str] = save_text
    dispatch[type] = dispatch[type(pickle.dumps)] = save_global


def python2_pickle(value: Any) -> bytes:
    content = io.BytesIO()
    Python2Pickler(content, 2).dump(value)
    return content.getvalue()
