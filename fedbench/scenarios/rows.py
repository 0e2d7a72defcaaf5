"""Reads the rows of the CSV files that a scenario names."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from fedbench.errors import UsageError


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
