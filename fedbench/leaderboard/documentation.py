"""Takes the built documentation into a site: a folder of HTML files, which the site has in `docs/`
as they are."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from fedbench import plain_files
from fedbench.errors import FedbenchError, UsageError
from fedbench.leaderboard.ways import LEARN, REFERENCE

FOLDER = "docs"
LARGEST = 32 << 20  # bytes of a file
MOST = 10_000  # files
PAGES = tuple(page.removeprefix(f"{FOLDER}/") for page in (LEARN, REFERENCE))
"""The pages that the header of every page links to."""


def read(folder: Path) -> dict[str, bytes]:
    """Returns the files of the documentation by their paths in the folder. Hidden files are left
    out, such as those in which Sphinx remembers what it has built.

    Raises UsageError if the folder lacks a page that the site links to, has too many files, or has
    one that is too large or no plain file.
    """
    for page in PAGES:
        if not (folder / page).is_file():
            raise UsageError(
                f"docs {folder}: expected the built documentation, got a folder without {page}; `make docs` builds it"
            )
    names = []
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        names += [(Path(at) / name).relative_to(folder).as_posix() for name in sorted(files) if not name.startswith(".")]
    if len(names) > MOST:
        raise UsageError(f"docs {folder}: expected at most {MOST:,} files, got {len(names):,}")
    return {name: plain_files.content(folder / name, LARGEST, "docs") for name in names}


def sums(content: Mapping[str, bytes]) -> dict[str, str]:
    """Returns the SHA-256 of every file by its path."""
    return {name: hashlib.sha256(found).hexdigest() for name, found in content.items()}


def problems(folder: Path, known: Mapping[str, str]) -> list[str]:
    """Returns what is wrong with the documentation in the folder of a site, one line for each file
    that is missing or is not what was copied."""
    found = []
    for name, expected in known.items():
        path = folder / FOLDER / name
        try:
            content = plain_files.content(path, LARGEST, "docs")
        except FedbenchError as error:
            found.append(str(error))
            continue
        if hashlib.sha256(content).hexdigest() != expected:
            found.append(f"{path}: not the file that was copied here; build the leaderboard again")
    return found
