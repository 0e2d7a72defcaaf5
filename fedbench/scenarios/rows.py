"""Files that a scenario names: where they lie, and rows of CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from fedbench.errors import UsageError


def found(key: str, name: str, folder: Path) -> Path:
    """The file that the scenario's `key` names, in the folder of the scenario or the working directory. UsageError if it is in neither."""
    places = [folder / name, Path(name)]
    for place in places:
        if place.is_file():
            return place
    raise UsageError(f"{key} {name}: there is no such file, neither {places[0]} nor in the working directory")


def csv_rows(text: str, columns: Sequence[str], where: str) -> Iterator[tuple[str, list[str]]]:
    """(place, cells) of every line that is not empty. UsageError, which names `where`, for another header than `columns`, or no CSV."""
    lines = csv.reader(io.StringIO(text))
    try:
        header = [name.strip() for name in next(lines, [])]
        if header != list(columns):
            raise UsageError(f"{where}: expected the header {','.join(columns)}, got {','.join(header)!r:.80}")
        yield from ((f"line {number}", line) for number, line in enumerate(lines, 2) if line)
    except csv.Error as error:
        raise UsageError(f"{where}: not valid CSV: {error}") from None
