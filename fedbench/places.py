"""Finds the files that a user names, and computes their sums."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from fedbench.errors import MissingDataError, UsageError, shown

LEFT_BEHIND = ("thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r", "@eadir", "__pycache__")
"""Names, in small letters, that Windows, macOS, file servers and Python give to what they leave in
a folder."""


def data_root() -> Path:
    """Returns the folder that holds data sets, laid out as torchvision does, and traces of
    networks: $FEDBENCH_DATA, or ~/.cache/fedbench."""
    given = os.environ.get("FEDBENCH_DATA")
    return Path(given) if given else Path.home() / ".cache" / "fedbench"


def is_left_behind(name: str) -> bool:
    """Returns whether a file or folder of this name is what a system or a program leaves in a
    folder, and no part of what the user names: a hidden one, or such as Thumbs.db."""
    return name.startswith((".", "__MACOSX")) or name.lower() in LEFT_BEHIND


def found(name: str, what: str, folders: Iterable[Path] = ()) -> Path:
    """Returns the file or folder of a name, which is looked for in `folders`, in the working
    directory, and in the data root.

    Args:
        name: a path, absolute or relative to one of these places.
        what: the setting that has the name, such as `task.file`, for the message.
        folders: where to look first.

    Raises:
        MissingDataError: it is in none of these places.
        UsageError: the name is empty, which would be the first of these places itself.
    """
    if not name:
        raise UsageError(f"{what}: must name a file or a folder, got ''")
    places = [*(folder / name for folder in folders), Path(name), data_root() / name]
    return _existing(places, name, what, "" if Path(name).is_absolute() else name)[0]


def found_again(name: str, what: str) -> list[Path]:
    """Returns what may be the file or folder that a record names; its sum says which one is. Data
    may have moved since, so of an absolute path the name alone is looked for too, in the working
    directory and in the data root. MissingDataError if there is none."""
    short = Path(name).name if Path(name).is_absolute() else name
    return _existing([Path(name), Path(short), data_root() / short], name, what, short)


def _existing(places: Iterable[Path], name: str, what: str, in_data_root: str) -> list[Path]:
    """Returns those of the places that exist. MissingDataError, which says what the data root could
    have, if none does."""
    places = list(dict.fromkeys(places))
    if existing := [place for place in places if _exists(place)]:
        return existing
    raise MissingDataError(
        f"{what} {shown(name)}: not on this machine; looked for {', '.join(map(shown, places))}. Put it there"
        + (f", or set FEDBENCH_DATA to a folder that has {shown(in_data_root)}" if in_data_root else "")
    )


def _exists(place: Path) -> bool:
    try:
        return place.exists()
    except (OSError, ValueError):  # a name that is too long, or that holds a null byte
        return False


def below_data_root(given: str, key: str) -> Path:
    """Returns the path below the data root that a scenario's `key` names. UsageError if it is
    absolute or leads out: a scenario and its record hold no path of a machine."""
    path = PurePosixPath(given)
    if not given or path.is_absolute() or ".." in path.parts:
        raise UsageError(f"{key}: expected a path below the data root (FEDBENCH_DATA), such as encoders/bert, got {given!r}")
    return data_root() / path


def file_below_data_root(given: str, key: str) -> Path:
    """Returns a file below the data root likewise. MissingDataError if it is not there."""
    file = below_data_root(given, key)
    if not file.is_file():
        raise MissingDataError(f"{key} {shown(given)}: there is no file {shown(file)}; put it there, or set FEDBENCH_DATA")
    return file


def as_recorded(name: str, folder: Path) -> str:
    """Returns the name of a file as a record shows it.

    A file in `folder` is named relative to the working directory if it lies below that, so that the
    record does not show the folders above, and otherwise by its full path. A name that is not in
    `folder` stays as it is. A link keeps its name, which says more than that of the file behind it:
    the stores of DVC and of Hugging Face have files without an ending.
    """
    if not _exists(folder / name):
        return name
    here, place = Path.cwd(), folder.resolve() / name
    short = Path(os.path.abspath(place))
    if not (_exists(short) and short.samefile(place)):  # `..` behind a link to a folder
        short = place.parent.resolve() / place.name
    return str(short.relative_to(here) if short.is_relative_to(here) else short)


def sha256(path: Path) -> str:
    """Returns the SHA-256 of a file's content, or `sum_of` the files of a folder."""
    if path.is_dir():
        return sum_of({file.name: sha256(file) for file in path.iterdir() if file.is_file()})
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def sum_of(sums: Mapping[str, str]) -> str:
    """Returns one sum for several files, whose own sums are given by name: the SHA-256 of what
    `sha256sum` prints of them, sorted by name."""
    lines = (f"{total}  {name}\n" for name, total in sorted(sums.items()))
    return hashlib.sha256(os.fsencode("".join(lines))).hexdigest()
