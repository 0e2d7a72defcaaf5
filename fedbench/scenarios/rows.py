"""Finds the files that a part of a scenario names, and reads the rows of CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fedbench import places
from fedbench.errors import UsageError


def named_file(part: Mapping[str, object], key: str, by: str, where: str) -> tuple[dict[str, object], Path]:
    """Returns a part of a scenario without its key `file`, and that file. It is looked for beside
    the scenario's file `where`, in the working directory, and in the data root.

    Args:
        part: The keys of the part, which have a `file`.
        key: The path of the part in the scenario, for error messages.
        by: The key that the content of the file replaces. UsageError if the part has both.
        where: The scenario's file.
    """
    if by in part:
        raise UsageError(f"{key}: give {by} or a file, got both")
    rest = {name: value for name, value in part.items() if name != "file"}
    return rest, places.found(str(part["file"]), f"{key}.file", [Path(where).parent])


def csv_rows(text: str, columns: Sequence[str], where: str, most: int) -> Iterator[tuple[str, list[str]]]:
    """Yields the place, such as `line 2`, and the cells of every line that is not empty.

    UsageError, which begins with `where`, if the header is not `columns`, the text is no CSV, or it
    has more than `most` lines below the header.
    """
    if (rows := text.count("\n")) > most + 1:
        raise UsageError(f"{where}: expected at most {most:,} lines below the header, got {rows:,} lines in all")
    lines = csv.reader(io.StringIO(text))
    try:
        header = [name.strip() for name in next(lines, [])]
        if header != list(columns):
            raise UsageError(f"{where}: expected the header {','.join(columns)}, got {','.join(header)!r:.80}")
        yield from ((f"line {number}", line) for number, line in enumerate(lines, 2) if line)
    except csv.Error as error:
        raise UsageError(f"{where}: not valid CSV: {error}") from None
