"""Converts published measurements into the files that a scenario names.

Sources: logs of 3G links (Riiser et al. 2013) and of 4G links (van der Hooft et al. 2016). Their
lines hold six columns: the fifth has bytes, the sixth milliseconds since the line before. Two
pickles of FedScale's device_info (SymbioticLab/FedScale).
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TypeGuard

from fedbench import pickles, plain_files
from fedbench.errors import UsageError, quoted
from fedbench.kernels.traces import Trace
from fedbench.scenarios import device_files, trace_files, windows

LARGEST = 64 << 20  # bytes of a pickle; FedScale's availability has 26 MB
MOST_OF_A_LINE = 10**9  # bytes and milliseconds of a line of a log
BACKWARD = 3.0
"""The time of a training step over that of the inference in FedScale's `computation`: the factor of
FedScale's own simulator."""


@dataclass(frozen=True)
class Imported:
    """The text of a file, and a sentence about what was left out, which is empty if nothing was."""

    text: str
    left_out: str = ""


def trace(file: Path, latency_seconds: float) -> Imported:
    """Returns a trace as CSV, from a file that a folder of traces may hold, or from a log of six
    columns. A log states no latency, so all its parts get `latency_seconds`."""
    if file.suffix in trace_files.SUFFIXES:
        found = trace_files.read_trace(file)
    else:
        found = trace_files.trace_of(list(_log_parts(file, round(latency_seconds * 1e9))), f"trace {file}")
    return Imported(_csv(trace_files.COLUMNS, _decimals(found)))


def _log_parts(file: Path, latency_ns: int) -> Iterator[tuple[int, int, int]]:
    lines = plain_files.text(file, trace_files.LARGEST, "trace").splitlines()
    trace_files.check_parts(len(lines), f"trace {file}")
    for number, line in enumerate(lines, 1):
        columns = line.split()
        try:
            size, milliseconds = (int(column) for column in columns[4:])
        except ValueError:
            size, milliseconds = -1, 0
        if len(columns) != 6 or not (0 <= size <= MOST_OF_A_LINE and 1 <= milliseconds <= MOST_OF_A_LINE):
            raise UsageError(
                f"trace {file}, line {number}: expected six columns, the fifth bytes >= 0 and the sixth milliseconds >= 1, both at most "
                f"{MOST_OF_A_LINE:,}, got {line!r:.80}"
            )
        yield milliseconds * 10**6, round(size * 8000 / milliseconds), latency_ns


def _decimals(found: Trace) -> Iterator[tuple[Decimal, Decimal, Decimal]]:
    """Yields the parts of a trace in the units of a CSV file, exactly."""
    for duration, rate, latency in zip(*(array.tolist() for array in vars(found).values()), strict=True):
        yield Decimal(duration).scaleb(-9), Decimal(rate).scaleb(-6), Decimal(latency).scaleb(-9)


def devices(file: Path, clients: int, factor: float = BACKWARD) -> Imported:
    """Returns the first devices of FedScale's client_device_capacity as a file that
    `device_files.read_devices` reads.

    The pickle holds {client: {computation: milliseconds of inference per example, communication:
    kilobit per second}}. A training step takes `factor` times the inference. UsageError if the
    pickle has another form, or fewer clients.
    """
    rows = []
    for client, (number, entry) in enumerate(_entries(file, clients)):
        computation, communication = (
            _positive(entry, name, f"{file}, client {number}") for name in ("computation", "communication")
        )
        rows.append((client, repr(factor * computation / 1000), repr(communication / 1000)))
    return Imported(_csv(device_files.COLUMNS, rows))


def availability(file: Path, clients: int, seconds: float) -> Imported:
    """The first clients of FedScale's client_behave_trace that are ever there, {client: {active:
    instants in seconds, inactive: as many, finish_time: when all of it repeats, ..}}, as a file of
    client, on, off. Every client's windows are repeated up to `seconds`."""
    rows: list[tuple[object, ...]] = []
    kept = never = 0
    for number, entry in _entries(file, None):
        if kept == clients:
            break
        stays = _joined(_repeated(entry, f"{file}, client {number}", seconds))
        rows += [(kept, repr(on), repr(off)) for on, off in stays]
        kept, never = (kept + 1, never) if stays else (kept, never + 1)
    if kept < clients:
        raise UsageError(f"{file}: expected at least {clients} clients that are there before second {seconds:g}, got {kept}")
    left_out = f"{never} clients that are never there before second {seconds:g} were left out" if never else ""
    return Imported(_csv(windows.COLUMNS, rows), left_out)


def _repeated(entry: Mapping[str, object], where: str, seconds: float) -> Iterator[tuple[float, float]]:
    """Yields a client's windows of positive length. They are cut at the end of its period, and
    repeated period after period up to `seconds`."""
    period = _positive(entry, "finish_time", where)
    active, inactive = (_instants(entry, name, where) for name in ("active", "inactive"))
    if len(active) != len(inactive):
        raise UsageError(f"{where}: expected as many of active and inactive, got {len(active)} and {len(inactive)}")
    stays = [(on, min(off, period)) for on, off in zip(active, inactive, strict=True)]
    if not stays:
        return
    if seconds / period * len(stays) > windows.MOST_WINDOWS:
        raise UsageError(f"{where}: more than {windows.MOST_WINDOWS:,} windows before second {seconds:g}; give fewer --seconds")
    for repetition in range(math.ceil(seconds / period)):
        for on, off in stays:
            begin, end = on + repetition * period, min(off + repetition * period, seconds)
            if end > begin:
                yield begin, end


def _joined(stays: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Returns the windows, of which those that touch or overlap are joined."""
    joined: list[tuple[float, float]] = []
    for on, off in stays:
        if joined and on <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(off, joined[-1][1])
        else:
            joined.append((on, off))
    return joined


def _entries(file: Path, clients: int | None) -> list[tuple[int, Mapping[str, object]]]:
    """Returns numbers and entries of the first clients by number, or of all clients for None.
    UsageError if the file is no pickle of such entries. Nothing in the pickle is executed."""
    content = plain_files.content(file, LARGEST, "file of FedScale")
    found = pickles.load(content, f"{file}: not a pickle of numbers, lists, dicts and text", UsageError)
    if not isinstance(found, dict) or not all(isinstance(n, int) and isinstance(entry, dict) for n, entry in found.items()):
        raise UsageError(f"{file}: expected a dict of clients' numbers and dicts, got {type(found).__name__}")
    if clients is not None and len(found) < clients:
        raise UsageError(f"{file}: expected at least {clients} clients, got {len(found)}")
    return sorted(found.items())[:clients]


def _positive(entry: Mapping[str, object], name: str, where: str) -> float:
    value = entry.get(name)
    if not _is_number(value) or not 0 < value <= 1e9:
        raise UsageError(f"{where}: {name} must be a number > 0 and at most 1e9, got {quoted(value, 40)}")
    return float(value)


def _instants(entry: Mapping[str, object], name: str, where: str) -> list[float]:
    """Returns the ascending instants, in seconds, that the entry has under this name."""
    values = entry.get(name)
    if (
        not isinstance(values, list)
        or not all(_is_number(value) and 0 <= value <= 1e9 for value in values)
        or values != sorted(values)
    ):
        raise UsageError(f"{where}: {name} must be a list of ascending seconds from 0 to 1e9, got {quoted(values)}")
    return [float(value) for value in values]


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([format(cell, "f") if isinstance(cell, Decimal) else cell for cell in row] for row in rows)
    return text.getvalue()
