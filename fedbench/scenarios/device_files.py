"""Reads from a CSV file how fast devices compute and what their links carry. The scenario that is
hashed and recorded holds the numbers, not the name of the file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from fedbench import plain_files
from fedbench.errors import UsageError
from fedbench.scenarios.rows import csv_rows, named_file
from fedbench.scenarios.schema import MOST_CLIENTS
from fedbench.scenarios.trace_sources import with_sources

COLUMNS = ("client", "seconds_per_example", "megabit_per_second")
LARGEST = 64 << 20  # bytes of a file


def with_devices(content: Mapping[str, object], where: str) -> Mapping[str, object]:
    """Returns the content of a scenario in which `compute.file` of kind devices and
    `network.trace.file` are replaced by the numbers in these files.

    UsageError if one cannot be read.
    """
    compute = content.get("compute")
    if isinstance(compute, Mapping) and compute.get("kind") == "devices" and "file" in compute:
        rest, file = named_file(compute, "compute", "seconds_per_example", where)
        seconds = [seconds for seconds, _ in read_devices(file, "compute.file")]
        content = {**content, "compute": rest | {"seconds_per_example": seconds}}
    return with_sources(content, lambda links, key: _linked(links, key, where))


def _linked(source: Mapping[str, object], key: str, where: str) -> Mapping[str, object]:
    """Returns the links of a file as traces of one part, without latency."""
    if "file" not in source:
        return source
    rest, file = named_file(source, key, "given", where)
    return rest | {"given": [[[1.0, rate, 0.0]] for _, rate in read_devices(file, f"{key}.file")]}


def read_devices(file: Path, name: str = "devices") -> list[tuple[float, float]]:
    """Returns the seconds per example and the megabit per second of clients 0, 1, .. UsageError,
    which names file and line, if the file has another form."""
    where = f"{name} {file}"
    devices: list[tuple[float, float]] = []
    for place, cells in csv_rows(plain_files.text(file, LARGEST, name), COLUMNS, where, MOST_CLIENTS):
        try:
            client, seconds, rate = (float(cell) for cell in cells)
        except ValueError:
            raise UsageError(f"{where}, {place}: expected {', '.join(COLUMNS)} as numbers, got {cells!r:.80}") from None
        if client != len(devices):
            raise UsageError(
                f"{where}, {place}: expected client {len(devices)}, clients being numbered from 0, got {cells[0]!r:.40}"
            )
        if not (0 < seconds < math.inf and 0 < rate < math.inf):
            raise UsageError(f"{where}, {place}: expected seconds and a rate > 0, got {cells!r:.80}")
        devices.append((seconds, rate))
    if not devices:
        raise UsageError(f"{where}: expected at least one client, got none")
    return devices
