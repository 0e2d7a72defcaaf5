"""The kinds of hostile submissions, by name; the modules `hostile_*` fill the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Make = Callable[[Path], object]


@dataclass(frozen=True)
class Kind:
    """A kind of hostile submission. `make` changes a good one; `words`: a pattern of the line that
    names the fault. `apart`: only a process of its own may read its tables."""

    make: Make
    words: str
    apart: bool = False


KINDS: dict[str, Kind] = {}


def kind(name: str, words: str, *, apart: bool = False) -> Callable[[Make], Make]:
    """Puts the function below into the table."""

    def added(make: Make) -> Make:
        assert name not in KINDS
        KINDS[name] = Kind(make, words, apart)
        return make

    return added
