"""Where files that a user names are found, and what is in them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from fedbench.errors import MissingDataError


def data_root() -> Path:
    """The folder that holds data sets, laid out as torchvision does, and traces of networks:
    $FEDBENCH_DATA, or ~/.cache/fedbench."""
    given = os.environ.get("FEDBENCH_DATA")
    return Path(given) if given else Path.home() / ".cache" / "fedbench"


def found(name: str, what: str, folders: Iterable[Path] = ()) -> Path:
    """The file or folder of a name: in one of `folders`, in the working directory, or in the data
    root.

    `what` says whose name it is, such as `task.file`. MissingDataError if it is in none of these
    places.
    """
    places = [*(folder / name for folder in folders), Path(name), data_root() / name]
    for place in places:
        if place.exists():
            return place
    looked = ", ".join(str(place) for place in dict.fromkeys(places))
    raise MissingDataError(
        f"{what} {name}: not on this machine; looked for {looked}. Put it there, or set FEDBENCH_DATA to a folder that has {name}"
    )


def as_recorded(name: str, folder: Path) -> str:
    """The name of a file for a record. What lies in `folder` is named from the working directory if
    it is below that, since the folders above are nobody's business, and else in full; another name
    stays as it is."""
    if not (folder / name).exists():
        return name
    here, place = Path.cwd(), (folder / name).resolve()
    return str(place.relative_to(here) if place.is_relative_to(here) else place)


def sha256(path: Path) -> str:
    """SHA-256 of a file's content; of a folder, that of its files, as `sum_of` has it."""
    if path.is_dir():
        return sum_of({file.name: sha256(file) for file in path.iterdir() if file.is_file()})
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def sum_of(sums: Mapping[str, str]) -> str:
    """One sum of several files, given theirs by name: the SHA-256 of what `sha256sum` prints of the
    files, sorted by name."""
    lines = (f"{total}  {name}\n" for name, total in sorted(sums.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()
