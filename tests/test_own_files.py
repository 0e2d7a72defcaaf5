"""Which files are a data set, and a sum that depends on these alone."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from fedbench import own_files, places
from fedbench.errors import UsageError


def saved(folder: Path, *names: str) -> Path:
    folder.mkdir()
    for name in names:
        (folder / name).write_bytes(name.encode())
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    (folder / "dataset_info.json").write_text("{}")
    return folder


def test_the_sum_of_a_file_is_that_of_its_content(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"abc")
    assert own_files.sha256(tmp_path / "a.npz") == hashlib.sha256(b"abc").hexdigest()


def test_what_else_is_in_a_folder_of_datasets_does_not_change_its_sum(tmp_path: Path) -> None:
    """The sum is that of older versions, which summed all files of a folder without anything
    else."""
    folder = saved(tmp_path / "mine", "data-00000-of-00002.arrow", "data-00001-of-00002.arrow")
    before = places.sha256(folder)
    for name in ("cache-867e1bbd6caa411b.arrow", "README.md", ".lock", "tmp1234"):
        (folder / name).write_text("x")
    os.mkfifo(folder / "cache-00.arrow")
    assert own_files.sha256(folder) == before
    (folder / "data-00001-of-00002.arrow").write_text("x")
    assert own_files.sha256(folder) != before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "does not list the data files: KeyError"),
        ("[", "does not list the data files: RefusedJsonError: not valid JSON"),
        ('{"_data_files": [{"filename": "../a"}]}', "must name files of its own folder, got ../a"),
        ('{"_data_files": [{"filename": ".."}]}', r"must name files of its own folder, got \.\."),
        ('{"_data_files": [{"filename": "a\\n/b"}]}', r"must name files of its own folder, got a\\n/b"),
        ('{"_data_files": [{"filename": 3}]}', "must name files of its own folder, got 3"),
        ('{"_data_files": [{"filename": "a"}, {"filename": "a"}]}', "state.json names a twice"),
        ('{"_data_files": [{"filename": "a"}]}', "a: cannot be read: No such file"),
    ],
)
def test_what_is_no_list_of_data_files(content: str, message: str, tmp_path: Path) -> None:
    folder = saved(tmp_path / "mine")
    (folder / "state.json").write_text(content)
    with pytest.raises(UsageError, match=message):
        own_files.sha256(folder)


def test_folders_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "x\ny").mkdir()
    (tmp_path / "x\ny" / "z\n").write_text("x")
    with pytest.raises(UsageError, match=r"expected images in folders of classes, got x\\ny/z\\n"):
        own_files.sha256(tmp_path)
    tables = folder_of(tmp_path / "x\ny" / "tables", "a.csv", "b.CSV", "c.npz")
    with pytest.raises(UsageError, match=r"tables: expected a folder of .parquet, .* got a.csv, b.CSV, c.npz; name one file"):
        own_files.sha256(tables)
    (tmp_path / "dataset_dict.json").write_text("{}")
    with pytest.raises(UsageError, match=r"has several splits; name one of its folders: x\\ny"):
        own_files.kind_of(tmp_path)


def folder_of(folder: Path, *names: str) -> Path:
    folder.mkdir()
    for name in names:
        (folder / name).write_bytes(name.encode())
    return folder


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["train-00000-of-00003", "train-00002-of-00003"], "must have each of 3 files once, .*; it lacks train-00001-of-00003$"),
        (["train-00000-of-00003", "train-00001-of-00003"], "it lacks train-00002-of-00003$"),
        (["part-1-of-3", "part-3-of-3"], "it lacks part-2-of-3$"),
        (["train-0-of-900000000"], "it lacks train-1-of-900000000$"),
        (["test-1-of-2", "train-0-of-1", "validation-0-of-5"], "it lacks test-0-of-2$"),
        (
            ["train-00000-of-00002", "train-00000-of-00002 (1)", "train-00001-of-00002"],
            r"remove what is too many of train-00000-of-00002 \(1\).parquet, train-00000-of-00002.parquet$",
        ),
        (
            ["train-0-of-1", "train-0-of-2", "train-1-of-2"],
            "too many of train-0-of-1.parquet, train-0-of-2.parquet, train-1-of-2.parquet$",
        ),
        (["train-0-of-0"], "must have each of 0 files once"),
    ],
)
def test_shards_that_are_missing_or_too_many(names: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        own_files.parts_of(folder_of(tmp_path / "mine", *(f"{name}.parquet" for name in names)))


def test_shards_whose_names_count_from_1_or_have_more(tmp_path: Path) -> None:
    for names in (("a-1-of-2", "a-2-of-2"), ("0-of-2-5ab3", "1-of-2-77f"), ("a-0-of-1", "b-0-of-1", "c")):
        files = [f"{name}.parquet" for name in names]
        assert own_files.parts_of(folder_of(tmp_path / names[0], *files)) == {"train": files}
    hub = folder_of(tmp_path / "hub", "train-0-of-1.parquet", "val-1-of-9.parquet")
    assert own_files.parts_of(hub) == {"train": ["train-0-of-1.parquet"]}


def test_shards_are_one_table_or_the_splits_that_their_names_begin_with(tmp_path: Path) -> None:
    one = folder_of(tmp_path / "a", "part-1.parquet", "part-0.parquet", "_SUCCESS", ".part-0.parquet.crc", "README.md")
    assert own_files.parts_of(one) == {"train": ["part-0.parquet", "part-1.parquet"]}
    hub = folder_of(
        tmp_path / "b", "test-00000-of-00001.parquet", "train-00000-of-00001.parquet", "validation-00000-of-00001.parquet"
    )
    assert own_files.parts_of(hub) == {"train": ["train-00000-of-00001.parquet"], "test": ["test-00000-of-00001.parquet"]}
    before = own_files.sha256(hub)
    (hub / "README.md").write_text("x")
    assert own_files.sha256(hub) == before
    for names in (("train-0.parquet", "more.parquet"), ("test-0.parquet", "validation-0.parquet")):
        with pytest.raises(UsageError, match="expected shards of a split train, and test if there is one, got"):
            own_files.parts_of(folder_of(tmp_path / names[1], *names))


STRAY = (
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
    "a/Thumbs.db",
    "a/._0.png",
    "b/@eaDir/0.png",
    "__pycache__/x.pyc",
    "a/__pycache__/x.pyc",
)


def write_all(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    return folder


@pytest.mark.parametrize("above", ["", "train/", "data/train/"])
def test_what_systems_leave_in_a_folder_of_images_is_no_part_of_it(above: str, tmp_path: Path) -> None:
    images = [f"{part}{label}/0.png" for part in ([above, "test/"] if above == "train/" else [above]) for label in "ab"]
    folder = write_all(tmp_path / "mine", *images) / ("data" if above.startswith("data") else "")
    before = own_files.sha256(folder)
    write_all(folder, *STRAY, *(f"{above.removeprefix('data/')}{name}" for name in STRAY), "classes.json", "metadata.parquet")
    assert (own_files.kind_of(folder), own_files.sha256(folder)) == ("images", before)


def test_images_beside_tables_do_not_change_what_they_are(tmp_path: Path) -> None:
    """Such as those of a README."""
    shards = write_all(tmp_path / "a", "train-0.parquet", "test-0.parquet", "assets/logo.png", "assets/plot.png")
    assert own_files.kind_of(shards) == "shards"
    assert own_files.kind_of(write_all(tmp_path / "b", "all_data.json", "docs/plot.png")) == "leaf"
