"""Only plain files of a bounded size are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fedbench import plain_files
from fedbench.errors import RecordError, UsageError


def test_a_plain_file(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"12345")
    assert plain_files.content(file, 5, "thing") == b"12345"
    assert plain_files.text(file, 5, "thing") == "12345"
    with pytest.raises(UsageError, match=r"thing .*/a: expected at most 4 bytes, got more"):
        plain_files.content(file, 4, "thing")


def test_text_in_another_encoding(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes("Zürich".encode("latin-1"))
    with pytest.raises(UsageError, match=r"expected text in UTF-8, got the byte 0xfc at 1"):
        plain_files.text(file, 100, "thing")


@pytest.mark.parametrize("kind", ["endless", "pipe", "folder", "missing", "null", "loop"])
def test_what_is_none(kind: str, tmp_path: Path) -> None:
    """None of them is waited for, or read for ever."""
    file = tmp_path / "a"
    if kind == "endless":
        file.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "loop":
        file.symlink_to(file)
    with pytest.raises(
        RecordError, match=r"thing .*: cannot be read: (it is no plain file|No such file|(open: )?embedded null|Too many)"
    ):
        plain_files.content(f"{file}\0" if kind == "null" else file, 1000, "thing", RecordError)


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("\ufeffa\ufeff".encode())
    assert plain_files.text(tmp_path / "a", 100, "thing") == "a\ufeff"
    assert plain_files.content(tmp_path / "a", 100, "thing") == b"\xef\xbb\xbfa\xef\xbb\xbf"
