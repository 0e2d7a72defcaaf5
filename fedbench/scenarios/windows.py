"""Reads availability windows from a file. The scenario that is hashed and recorded holds the
numbers, not the name of the file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fedbench import plain_files
from fedbench.errors import UsageError
from fedbench.scenarios.rows import csv_rows, named_file
from fedbench.scenarios.schema import MOST_CLIENTS

COLUMNS = ["client", "on", "off"]
LARGEST = 32 << 20  # bytes of a file
MOST_WINDOWS = 1_000_000


def with_windows(content: Mapping[str, object], where: str) -> Mapping[str, object]:
    """Returns the content of a scenario in which `availability.file` is replaced by the `rows` that
    are in that file.

    A CSV file has the header `client,on,off` and one line per window, in seconds; a JSON
    file is a list of [client, on, off]. UsageError if it cannot be read.
    """
    part = content.get("availability")
    if not isinstance(part, Mapping) or part.get("kind") != "table" or "file" not in part:
        return content
    rest, file = named_file(part, "availability", "rows", where)
    return {**content, "availability": {**rest, "rows": read_windows(file, _clients(content))}}


def _clients(content: Mapping[str, object]) -> int:
    """Returns the scenario's number of clients if it is a possible one, or else the largest
    possible one. The content is not validated yet."""
    given = content.get("clients")
    return given if isinstance(given, int) and 0 < given <= MOST_CLIENTS else MOST_CLIENTS


def read_windows(file: Path, clients: int = MOST_CLIENTS) -> list[list[tuple[float, float]]]:
    """Returns the (on, off) pairs of clients 0, 1, .., in seconds and ascending, up to the last
    client that has any. UsageError for a client that is not below `clients`."""
    rows: dict[int, list[tuple[float, float]]] = {}
    for number, (place, entry) in enumerate(_entries(file)):
        client, on, off = _numbers(entry, f"availability.file {file}, {place}", clients)
        if number == MOST_WINDOWS:
            raise UsageError(f"availability.file {file}, {place}: expected at most {MOST_WINDOWS:,} windows")
        rows.setdefault(client, []).append((on, off))
    return [sorted(rows.get(client, [])) for client in range(max(rows, default=-1) + 1)]


def _entries(file: Path) -> Iterable[tuple[str, Sequence[object]]]:
    """Returns the place and the values of every window in a file."""
    name = "availability.file"
    if file.suffix != ".json":
        return csv_rows(plain_files.text(file, LARGEST, name), COLUMNS, f"{name} {file}", MOST_WINDOWS)
    content = plain_files.json_in(file, LARGEST, name)
    if not isinstance(content, list) or not all(isinstance(entry, list) for entry in content):
        raise UsageError(f"{name} {file}: expected a list of [client, on, off]")
    return ((f"entry {number}", entry) for number, entry in enumerate(content))


def _numbers(entry: Sequence[object], where: str, clients: int) -> tuple[int, float, float]:
    try:
        client, on, off = (float(str(value)) for value in entry)
    except ValueError:
        raise UsageError(f"{where}: expected client, on and off as numbers, got {list(entry)!r:.80}") from None
    if not (math.isfinite(client + on + off) and client == int(client) and 0 <= client < clients):
        raise UsageError(f"{where}: expected a client 0 .. {clients - 1} and finite seconds, got {list(entry)!r:.80}")
    return int(client), on, off
