"""Says which files a data set of the user's own consists of, and computes their sum.

A data set is a file, a folder that Hugging Face `datasets` saved to disk, or a folder of shards of
Parquet or of LEAF's JSON files. Nothing is read but plain files, so a pipe, a device or a folder of
something else is refused before it is read.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Literal

from fedbench import places, plain_files, strict_json
from fedbench.errors import UsageError, shown, some

STATE, INFO, SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"
"""Files of `datasets`: which data files a folder has, what is in them, and which splits there
are."""
PARTS = ("train", "test")
OTHER_PARTS = ("validation", "valid", "val", "dev", "unsupervised")
MOST_ENTRIES = 100_000  # of a folder, without those below it
LARGEST_STATE = 16 << 20  # bytes
SHARD, JSON = ".parquet", ".json"
Kind = Literal["npz", "parquet", "csv", "datasets", "shards", "leaf"]
TABLES: dict[str, Kind] = {".npz": "npz", ".parquet": "parquet", ".csv": "csv", ".tsv": "csv", JSON: "leaf"}
"""Kinds of files, by the end of their names."""
FOLDERS: dict[str, Kind] = {SHARD: "shards", JSON: "leaf"}
"""Kinds of folders, by the end of the names in them."""


def kind_of(path: Path) -> Kind:
    """Returns the kind of a data set. UsageError, which lists the kinds, for what is none."""
    if path.is_dir():
        return _kind_of_folder(path)
    name = path.name.lower()
    for ending, kind in TABLES.items():
        if name.endswith(ending):
            return kind
    raise UsageError(
        f"task file {shown(path)}: expected {', '.join(TABLES)} or a folder of these, or one that datasets saved to disk, got "
        f"{path.suffix!r:.40}"
    )


def _kind_of_folder(folder: Path) -> Kind:
    names = _names(folder)
    if SPLITS in names:
        raise UsageError(f"task file {shown(folder)}: has several splits; name one of its folders: {some(_folders(folder))}")
    if STATE in names:
        return "datasets"
    for ending, kind in FOLDERS.items():
        if any(name.endswith(ending) for name in names):
            return kind
    raise UsageError(
        f"task file {shown(folder)}: expected a folder that datasets saved to disk, with {STATE}, or one of {' or '.join(FOLDERS)} files, "
        f"got {some(names)}"
    )


def _folders(folder: Path) -> list[str]:
    return [name for name in _names(folder) if (folder / name).is_dir()]


def _names(folder: Path) -> list[str]:
    """Returns the names in a folder in their order, without hidden ones."""
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.startswith((".", "__MACOSX")):
                    names.append(entry.name)
                if len(names) > MOST_ENTRIES:
                    raise UsageError(f"task file {shown(folder)}: expected at most {MOST_ENTRIES:,} files in a folder, got more")
    except OSError as error:
        raise UsageError(f"task file {shown(folder)}: cannot be read: {error.strerror}") from None
    return sorted(names)


def parts_of(path: Path) -> dict[str, list[str]]:
    """Returns the names of a data set's files below its folder, by part: `train` and, if the folder
    itself has one, `test`. The files are in the order in which they are read. A file is one name,
    its own. UsageError for a folder of which the parts are not clear."""
    match kind_of(path):
        case "datasets":
            return {"train": _of_datasets(path)}
        case "shards":
            return _by_split(path, [name for name in _names(path) if name.endswith(SHARD)])
        case "leaf" if path.is_dir():
            return {"train": [name for name in _names(path) if name.endswith(JSON)]}
    return {"train": [path.name]}


def _of_datasets(folder: Path) -> list[str]:
    """Returns the data files that state.json lists."""
    where = f"task file {shown(folder)}: {STATE}"
    try:
        state = strict_json.load(plain_files.text(folder / STATE, LARGEST_STATE, f"task file {shown(folder)}:"))
        names = [one["filename"] for one in state["_data_files"]]
    except (strict_json.RefusedJsonError, KeyError, TypeError) as error:
        raise UsageError(f"{where} does not list the data files: {type(error).__name__}: {shown(error)}") from None
    for name in names:
        if not isinstance(name, str) or name in ("", ".", "..") or PurePath(name).name != name or "\0" in name:
            raise UsageError(f"{where} must name files of its own folder, got {shown(name)}")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"{where} names {shown(twice)} twice")
    return names


def _by_split(folder: Path, names: list[str]) -> dict[str, list[str]]:
    """Returns shards by the split that begins their name, such as train-00000-of-00002.parquet. If
    no name begins so, all are one table."""
    words = {name: re.match(rf"({'|'.join((*PARTS, *OTHER_PARTS))})(?=[-_.])", name) for name in names}
    splits = {name: word[1] for name, word in words.items() if word}
    if not splits:
        return {"train": names}
    if len(splits) < len(names) or "train" not in splits.values():
        raise UsageError(
            f"task file {shown(folder)}: expected shards of a split train, and test if there is one, got {some(names)}; put those of "
            "one split into a folder"
        )
    return {part: of for part in PARTS if (of := [name for name in names if splits[name] == part])}


def sha256(path: Path) -> str:
    """Returns the SHA-256 of a file's content, or the sum of the files of a data set in a folder.
    What else is in the folder, such as caches of `datasets` or a README, is no part of the data."""
    if not path.is_dir():
        return _sum_of_file(path, path)
    names = [name for part in parts_of(path).values() for name in part]
    if kind_of(path) == "datasets":
        names += [STATE, *([INFO] if (path / INFO).exists() else [])]
    return places.sum_of({name: _sum_of_file(path / name, path) for name in names})


def _sum_of_file(file: Path, path: Path) -> str:
    name = f"task file {shown(path)}:" if file != path else "task file"
    with plain_files.opened(file, name) as opened:
        try:
            return hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            raise UsageError(f"{name} {shown(file)}: cannot be read: {error.strerror}") from None


def total_bytes(path: Path, parts: Mapping[str, list[str]]) -> int:
    """Returns how many bytes the files of all parts have on disk."""
    if not path.is_dir():
        return path.stat().st_size
    return sum((path / name).stat().st_size for names in parts.values() for name in names)
