"""Remembers which archives were checked on this machine, so that each is checked once.

A check that found nothing leaves an empty file in the cache of decoded data sets. Its name is a sum
of the archive's content and of the code that checks. With FEDBENCH_CACHE=off nothing is remembered.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from pathlib import Path

from fedbench.tasks import decoded

PARTS = ("results", "scenarios", "types")


def was_checked(runs: bytes) -> bool:
    """Tells whether the archive with this runs.parquet, which has the sum of the other file, was
    checked before."""
    place = _place(runs)
    return place is not None and place.exists()


def remember(runs: bytes) -> None:
    """Notes that a check of this archive found nothing. On a full or read-only disk nothing is
    noted."""
    place = _place(runs)
    with contextlib.suppress(OSError):
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()


def _place(runs: bytes) -> Path | None:
    folder = decoded.folder()
    return None if folder is None else folder / "checked" / hashlib.sha256(_code() + runs).hexdigest()


@functools.cache
def _code() -> bytes:
    """Returns a sum of the modules that have a part in the checks."""
    package = Path(__file__).parents[1]
    files = *package.glob("*.py"), *(file for part in PARTS for file in (package / part).rglob("*.py"))
    return decoded.sum_of_code(*files).encode()
