"""IDX files written byte by byte here: what is read back, and what a damaged file says."""

from __future__ import annotations

import gzip
import hashlib
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from fedbench.errors import MissingDataError, RecordError
from fedbench.tasks.idx import read_idx

# Two dimensions, 2 x 3.
CONTENT = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3]) + bytes([1, 2, 3, 253, 254, 255])
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("content", [CONTENT, gzip.compress(CONTENT, mtime=0)], ids=["plain", "gzip"])
def test_reads(tmp_path: Path, content: bytes) -> None:
    # The name does not say whether the file is compressed.
    array = read_idx(write(tmp_path / "some-idx2-ubyte", content), SHA256)
    assert array.dtype == np.uint8
    np.testing.assert_array_equal(array, [[1, 2, 3], [253, 254, 255]])


def test_sizes_are_big_endian(tmp_path: Path) -> None:
    content = bytes([0, 0, 8, 1, 0, 0, 1, 2]) + bytes(258)
    assert read_idx(write(tmp_path / "labels", content)).shape == (258,)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\0\0\x0d\x01" + CONTENT[4:], r"damaged-file: .* begins with 00 00 08 .*, got 00 00 0d 01"),
        (b"PK\x03\x04", "got 50 4b 03 04"),
        (b"", "got nothing"),
        (CONTENT[:10], r"header of 2 dimensions has 12 bytes, got 10"),
        (CONTENT[:-1], r"damaged-file: sizes \(2, 3\) need 18 bytes, got 17"),
        (CONTENT + b"\0", r"sizes \(2, 3\) need 18 bytes, got 19"),
        (gzip.compress(CONTENT, mtime=0)[:-9], r"damaged-file: damaged gzip file of \d+ bytes .*; fetch"),
        (gzip.compress(CONTENT, mtime=0)[:-8] + bytes(8), "damaged gzip file"),
    ],
)
def test_damage_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        read_idx(write(tmp_path / "damaged-file", content))


def test_a_changed_byte_fails_the_checksum(tmp_path: Path) -> None:
    changed = CONTENT[:-1] + b"\0"
    path = write(tmp_path / "changed", gzip.compress(changed, mtime=0))
    assert read_idx(path)[1, 2] == 0
    with pytest.raises(RecordError, match=f"changed: sha256 .* must be {SHA256}, got {hashlib.sha256(changed).hexdigest()}"):
        read_idx(path, SHA256)


def test_absent_file(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="nowhere: there is no such file"):
        read_idx(tmp_path / "nowhere")


def test_a_small_file_of_many_zeros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused before it is in memory."""
    monkeypatch.setattr("fedbench.tasks.idx.LARGEST", 1 << 20)
    path = write(tmp_path / "zeros", gzip.compress(bytes(64 << 20)))
    tracemalloc.start()
    with pytest.raises(RecordError, match=r"zeros: expected at most 1,048,576 bytes when decompressed, got more"):
        read_idx(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8 << 20
