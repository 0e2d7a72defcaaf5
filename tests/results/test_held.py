"""What a killed writer left is removed, what a live one writes is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench.results import held
from fedbench.results.store import write_atomically


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    left = tmp_path / "table.md.writing-12"
    left.write_bytes(b"half")
    of_another = tmp_path / "table.md.txt.writing-12"
    of_another.write_bytes(b"half")
    write_atomically(tmp_path / "table.md", b"whole")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "table.md", of_another]


def test_what_is_being_written_stays(tmp_path: Path) -> None:
    with held.new_file(tmp_path / "table.md.writing-12") as theirs:
        theirs.write(b"theirs")
        write_atomically(tmp_path / "table.md", b"ours")
        assert (tmp_path / "table.md.writing-12").exists()


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), held.new_file(tmp_path / "half"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", ".", "folder", "link", "null"])
def test_only_plain_files_are_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    (tmp_path / "null").symlink_to("/dev/null")
    with pytest.raises(OSError, match="it is no plain file"):
        write_atomically(tmp_path / name, b"")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "link", "null"]


def test_one_folder_has_one_holder(tmp_path: Path) -> None:
    """A killed holder's content is gone for the next one, and the folder with its holder."""
    place = tmp_path / ".writing-mine"
    (place / "content").mkdir(parents=True)
    (place / "content" / "half").write_bytes(b"")
    with held.new_folder(place) as folder:
        assert list(folder.iterdir()) == []
        with pytest.raises(BlockingIOError), held.new_folder(place):
            pass
        (tmp_path / ".writing-left").mkdir()
        held.remove_left_folders(tmp_path)
        assert list(tmp_path.iterdir()) == [place]
    assert list(tmp_path.iterdir()) == []
