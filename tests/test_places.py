"""Sums of files and folders, and the names that records show."""

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


@pytest.mark.parametrize(
    ("name", "recorded"),
    [
        ("hub/data.npz", "hub/data.npz"),  # a link
        ("linked/data.npz", "linked/data.npz"),  # below a link to a folder
        ("linked/../blobs/3f2a9c", "{above}/blobs/3f2a9c"),  # of the folder behind the link
        ("hub/../hub/data.npz", "hub/data.npz"),
        ("../outside.npz", "{above}/outside.npz"),
        ("nowhere.npz", "nowhere.npz"),
    ],
)
def test_a_record_shows_the_name_that_was_given(
    name: str, recorded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    for folder in (here / "hub", tmp_path / "blobs", tmp_path / "elsewhere"):
        folder.mkdir(parents=True)
    for file in (tmp_path / "blobs" / "3f2a9c", tmp_path / "outside.npz", tmp_path / "elsewhere" / "data.npz"):
        file.touch()
    (here / "hub" / "data.npz").symlink_to(tmp_path / "blobs" / "3f2a9c")
    (here / "linked").symlink_to(tmp_path / "elsewhere")
    monkeypatch.chdir(here)
    assert places.as_recorded(name, here) == recorded.format(above=tmp_path)
    (tmp_path / "way").symlink_to(here)
    assert places.as_recorded(name, tmp_path / "way") == recorded.format(above=tmp_path)
