"""Sums of files and folders."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from fedbench import places
from fedbench.errors import UsageError


def test_a_folder_s_sum_is_of_names_and_contents(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "a").write_bytes(b"first")
        (folder / "b").write_bytes(b"second")
    assert places.sha256(one / "a") == hashlib.sha256(b"first").hexdigest()
    assert places.sha256(one) == places.sha256(other)
    (other / "b").rename(other / "c")
    assert places.sha256(one) != places.sha256(other)
    (other / "c").rename(other / "b")
    (other / "b").write_bytes(b"secone")
    assert places.sha256(one) != places.sha256(other)


def test_an_empty_name_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"task.file: must name a file or a folder, got ''"):
        places.found("", "task.file", [tmp_path])
