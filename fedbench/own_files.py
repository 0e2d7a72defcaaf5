"""Says which files a data set of the user's own consists of, and computes their sum.

A data set is a file or an archive of images by class, or a folder: what Hugging Face `datasets`
saved to disk, shards of Parquet, LEAF's JSON files, or images by class. Nothing is read but plain
files, so a pipe, a device or a folder of something else is refused before it is read.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Literal

from fedbench import places, plain_files, strict_json
from fedbench.errors import UsageError, shown, some

STATE, INFO, SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"
"""Files of `datasets`: which data files a folder has, what is in them, and which splits there
are."""
PARTS = ("train", "test")
OTHER_PARTS = ("validation", "valid", "val", "dev", "unsupervised")
MOST_IMAGES = 5_000_000
MOST_ENTRIES = 100_000  # of a folder, without those below it
LARGEST_STATE = 16 << 20  # bytes
SHARD, JSON = ".parquet", ".json"
NUMBERED = re.compile(r"(?P<begin>.*?)(?P<number>\d{1,9})-of-(?P<total>\d{1,9})(?!\d)", re.ASCII)
"""Names of files that say how many there are."""
Kind = Literal["npz", "parquet", "csv", "datasets", "shards", "leaf", "images", "archive"]
TABLES: dict[str, Kind] = {".npz": "npz", ".parquet": "parquet", ".csv": "csv", ".tsv": "csv", JSON: "leaf"}
"""Kinds of files, by the end of their names."""
ARCHIVES = (".tar", ".tar.xz", ".tar.gz", ".tgz", ".zip")
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
FOLDERS: dict[str, Kind] = {SHARD: "shards", JSON: "leaf"}
"""Kinds of folders, by the end of the names in them."""


def kind_of(path: Path) -> Kind:
    """Returns the kind of a data set. UsageError, which lists the kinds, for what is none."""
    if path.is_dir():
        return _kind_of_folder(path)
    name = path.name.lower()
    if name.endswith(ARCHIVES):
        return "archive"
    for ending, kind in TABLES.items():
        if name.endswith(ending):
            return kind
    raise UsageError(
        f"task file {shown(path)}: expected {', '.join((*TABLES, *ARCHIVES))}, or a folder of {SHARD}, of {JSON} or of images by class, "
        f"or that datasets saved to disk, got {path.suffix!r:.40}"
    )


def _kind_of_folder(folder: Path) -> Kind:
    names = _names(folder)
    if SPLITS in names:
        raise UsageError(f"task file {shown(folder)}: has several splits; name one of its folders: {some(_folders(folder))}")
    if STATE in names:
        return "datasets"
    for ending, kind in FOLDERS.items():
        if any(name.endswith(ending) for name in names) and not _has_classes(folder):
            return kind
    tables = [name for name in names if name.lower().endswith(tuple(TABLES))]
    if tables and not _folders(folder):
        raise UsageError(
            f"task file {shown(folder)}: expected a folder of {SHARD}, of {JSON} or of images by class, got {some(tables)}; name one file"
        )
    return "images"


def _has_classes(folder: Path) -> bool:
    """Returns whether images stand in two folders or more below this one. A table beside them says
    something about them, and is no data set."""
    of_images = (str(PurePath(name).parent) for name in _images_below(folder) if name.lower().endswith(IMAGES))
    first = next(of_images, None)
    return any(name != first for name in of_images)


def _folders(folder: Path) -> list[str]:
    return [name for name in _names(folder) if (folder / name).is_dir()]


def _names(folder: Path) -> list[str]:
    """Returns the names in a folder in their order, without what systems leave behind."""
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not places.is_left_behind(entry.name):
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
            parts = _by_split(path, [name for name in _names(path) if name.endswith(SHARD)])
            _check_numbers(path, [name for names in parts.values() for name in names])
            return parts
        case "leaf" if path.is_dir():
            return {"train": [name for name in _names(path) if name.endswith(JSON)]}
        case "images":
            return by_part(path, _images_below(path))
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


def _check_numbers(folder: Path, names: Iterable[str]) -> None:
    """Raises UsageError if names that count the files, such as train-00000-of-00003.parquet, are
    not there once each. They count from 0 or from 1."""
    groups: dict[str, list[re.Match[str]]] = {}
    for found in filter(None, map(NUMBERED.match, names)):
        groups.setdefault(found["begin"], []).append(found)
    for begin, group in groups.items():
        first, numbers = group[0], Counter(int(one["number"]) for one in group)
        total = int(first["total"])
        wanted = range(1, total + 1) if total in numbers else range(total)
        lacking = next((f"{begin}{i:0{len(first['number'])}}-of-{first['total']}" for i in wanted if i not in numbers), None)
        extra = [
            one.string for one in group if numbers[i := int(one["number"])] > 1 or i not in wanted or int(one["total"]) != total
        ]
        if lacking or extra:
            said = f"it lacks {shown(lacking)}" if lacking else f"remove what is too many of {some(extra)}"
            raise UsageError(
                f"task file {shown(folder)}: must have each of {total:,} files once, as {shown(first.string)} counts; {said}"
            )


def _images_below(folder: Path) -> Iterable[str]:
    """Yields the paths of the files in folders of classes, which are in the folder itself, or in
    its parts."""
    names = _folders(folder)
    above = [name for name in names if name in (*PARTS, *OTHER_PARTS) and _folders(folder / name)]
    for part in above or [""]:
        for label in _folders(folder / part):
            for name in _names(folder / part / label):
                yield str(PurePath(part, label, name))


def by_part(path: Path, names: Iterable[str]) -> dict[str, list[str]]:
    """Returns the paths class/file or part/class/file of images by part, sorted by class and then
    by name. A folder around all of them is left out of account. UsageError if a file in a folder of
    a class is no image, there are several depths, or there is a part that is neither train nor
    test."""
    found = []
    for name in names:
        if not name.lower().endswith(IMAGES):
            raise UsageError(f"task file {shown(path)}: expected images in folders of classes, got {shown(name)}")
        found.append(PurePath(name).parts)
        if len(found) > MOST_IMAGES:
            raise UsageError(f"task file {shown(path)}: expected at most {MOST_IMAGES:,} images, got more")
    depths = {len(parts) for parts in found}
    if len(depths) != 1 or not depths <= {2, 3, 4}:
        raise UsageError(
            f"task file {shown(path)}: expected images as class/image, or as train/class/image and test/class/image, got "
            f"{some(['/'.join(parts) for parts in found]) if found else 'none'}"
        )
    above = sorted({parts[-3] if len(parts) > 2 else "train" for parts in found})
    if len(above) == 1 and above[0] not in OTHER_PARTS:
        return {"train": ["/".join(parts) for parts in sorted(found)]}
    if above != sorted(PARTS):
        raise UsageError(
            f"task file {shown(path)}: expected the parts train and test, got {some(above)}; name the folder of one part as task.file, "
            "and that of another one as task.test"
        )
    return {part: ["/".join(parts) for parts in sorted(found) if parts[-3] == part] for part in PARTS}


def files_of(path: Path, part: str) -> list[Path]:
    """Returns the files of one part of a data set, which is itself the only one if it is no
    folder."""
    return [path / name for name in parts_of(path)[part]] if path.is_dir() else [path]


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
