"""Reader of IDX files, the format of MNIST and its relatives.

    0x00 0x00 0x08 ndim | ndim big-endian 32-bit sizes | the bytes in C order

0x08 is the element type (unsigned byte), the only one read here.
Source: http://yann.lecun.com/exdb/mnist/, "The IDX file format".
"""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fedbench import plain_files
from fedbench.errors import MissingDataError, RecordError

GZIP_MAGIC = b"\x1f\x8b"
UNSIGNED_BYTE = 0x08
LARGEST = 128 << 20  # bytes, decompressed: MNIST and its relatives have at most 47 MB
REMEDY = "fetch or install the file again"


def read_idx(path: Path, sha256: str | None = None) -> npt.NDArray[np.uint8]:
    """Returns the read-only array of an IDX file. Whether the file is gzipped is told by its first
    bytes, not by its name.

    `sha256` is the sum that the decompressed content must have. MissingDataError if the file is
    absent, RecordError if it is damaged.
    """
    content = read_content(path)
    if sha256 is not None:
        check_sha256(content, sha256, path)
    return parse_idx(content, path)


def read_content(path: Path) -> bytes:
    """Returns the decompressed content of a plain or gzipped file. The errors are those of
    `read_idx`."""
    if not path.exists():
        raise MissingDataError(f"{path}: there is no such file; {REMEDY}")
    raw = plain_files.content(path, LARGEST, "data file", RecordError)
    if not raw.startswith(GZIP_MAGIC):
        return raw
    try:
        with gzip.open(io.BytesIO(raw)) as file:
            content = file.read(LARGEST + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise RecordError(f"{path}: damaged gzip file of {len(raw)} bytes ({error}); {REMEDY}") from error
    if len(content) > LARGEST:
        raise RecordError(f"{path}: expected at most {LARGEST:,} bytes when decompressed, got more; {REMEDY}")
    return content


def check_sha256(content: bytes, expected: str, path: Path) -> None:
    """Raises RecordError, which names the file and both sums, unless the content has the sum
    `expected` (64 hexadecimal digits)."""
    got = hashlib.sha256(content).hexdigest()
    if got != expected:
        raise RecordError(f"{path}: sha256 of the decompressed content must be {expected}, got {got}; {REMEDY}")


def parse_idx(content: bytes, path: Path) -> npt.NDArray[np.uint8]:
    """Returns the array in decompressed IDX bytes, read-only and over the same memory. RecordError,
    which names `path`, if they are damaged."""
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != UNSIGNED_BYTE or content[3] == 0:
        got = content[:4].hex(" ") or "nothing"
        raise RecordError(f"{path}: an IDX file of unsigned bytes begins with 00 00 08 and its dimensions, got {got}; {REMEDY}")
    ndim = content[3]
    header = 4 + 4 * ndim
    if len(content) < header:
        raise RecordError(f"{path}: an IDX header of {ndim} dimensions has {header} bytes, got {len(content)}; {REMEDY}")
    shape = struct.unpack(f">{ndim}I", content[4:header])
    expected = header + math.prod(shape)
    if len(content) != expected:
        raise RecordError(f"{path}: sizes {shape} need {expected} bytes, got {len(content)}; {REMEDY}")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
