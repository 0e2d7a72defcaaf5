"""Where files that a user names are found, and what is in them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from fedbench.errors import MissingDataError


def data_root() -> Path:
    """The folder that holds the data sets, laid out as torchvision does: $FEDBENCH_DATA, or ~/.cache/fedbench."""
    given = os.environ.get("FEDBENCH_DATA")
    return Path(given) if given else Path.home() / ".cache" / "fedbench"


def found(name: str, what: str, folders: Iterable[Path] = ()) -> Path:
    """The file or folder of a name: in one of `folders`, in the working directory, or in the data root.

    `what` says whose name it is, such as `task.file`. MissingDataError if it is in none of these places.
    """
    places = [*(folder / name for folder in folders), Path(name), data_root() / name]
    for place in places:
        if place.exists():
            return place
    looked = ", ".join(str(place) for place in dict.fromkeys(places))
    raise MissingDataError(f"{what} {name}: there is no such file; looked for {looked}")


def sha256(path: Path) -> str:
    """SHA-256 of a file's content; of a folder, of the names and contents of its files, in the order of their names."""
    if path.is_dir():
        total = hashlib.sha256()
        for file in sorted(file for file in path.iterdir() if file.is_file()):
            total.update(f"{file.name}\0{sha256(file)}\n".encode())
        return total.hexdigest()
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
