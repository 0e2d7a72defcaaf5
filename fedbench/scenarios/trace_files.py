"""Reads traces of measured links from a folder of CSV files, or of JSON files in the form of the
public logs of 3G and 4G links."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from fedbench import places, plain_files
from fedbench.errors import MissingDataError, UsageError
from fedbench.kernels.traces import Trace
from fedbench.scenarios.rows import csv_rows
from fedbench.scenarios.sources import with_sources

FOLDER = "network.trace.folder"
COLUMNS = ("duration_seconds", "megabit_per_second", "latency_seconds")
KEYS = ("duration_ms", "bandwidth_kbps", "latency_ms")
SUFFIXES = (".csv", ".json")
FACTORS: dict[tuple[str, ...], tuple[float, float, float]] = {COLUMNS: (1e9, 1e6, 1e9), KEYS: (1e6, 1e3, 1e6)}
"""Factors that turn the units of a file into nanoseconds, bits per second and nanoseconds."""
RANGES = (
    (1, 10**18, "> 0 and at most 1e9 seconds"),
    (0, 10**15, "from 0 to 1e9 megabit per second"),
    (0, 10**18, "from 0 to 1e9 seconds"),
)
CITED = {
    "cbf094738295bf22e14213ea8340bec53ac68a15b37b8ba53c8459300e29e91d": "riiser2013",
    "197f1bb95f01d44f890a25a696cc1cfc4290c295ba23ed01a0fa6e3a9b7004a1": "vanderhooft2016",
}
"""The papers of published traces, as keys of the bibliography, by the sum of their folder."""
LARGEST = 8 << 20  # bytes of a file
MOST_PARTS = 200_000  # of a file: two days of seconds
MOST_FILES = 10_000
MOST_BYTES = 32 << 20  # bytes of all files in a folder
MOST_PARTS_OF_ALL = 1_000_000


def with_sums(content: Mapping[str, object], where: str) -> Mapping[str, object]:
    """Returns the content of a scenario in which every folder of traces has the sum of its files.

    The path of a folder beside the scenario's file `where` is recorded from the working directory.
    A folder whose sum is stated is not looked for. MissingDataError for a folder that is nowhere,
    UsageError for one without traces.
    """
    return with_sources(content, lambda links, _: _with_sum(links, where))


def _with_sum(links: Mapping[str, object], where: str) -> Mapping[str, object]:
    name = links.get("folder")
    if not isinstance(name, str):
        return links
    folder = Path(where).parent
    named = {**links, "folder": places.as_recorded(name, folder)}
    if links.get("sha256") is None:
        named["sha256"] = sum_of(_contents(places.found(name, FOLDER, [folder])))
    return named


def missing(name: str) -> str:
    """Returns where a folder was looked for in vain, and what to do; empty if it is there."""
    try:
        places.found(name, FOLDER)
    except MissingDataError as error:
        return str(error)
    return ""


def traces_of(name: str, sha256: str) -> tuple[Trace, ...]:
    """Returns the traces in the folder of this name, in the order of their files' names.
    MissingDataError if it is nowhere, UsageError if its files do not have the sum `sha256` or hold
    no traces."""
    return _read(places.found_again(name, FOLDER)[0], sha256)


@functools.lru_cache(maxsize=4)
def _read(folder: Path, sha256: str) -> tuple[Trace, ...]:
    contents = _contents(folder)
    got = sum_of(contents)
    if got != sha256:
        raise UsageError(
            f"network.trace.folder {folder}: the sum of its {len(contents)} files must be {sha256}, got {got}; a file was changed, added "
            "or removed since the scenario was written"
        )
    traces, parts = [], 0
    for name, content in contents.items():
        traces.append(read_trace(folder / name, content))
        parts += len(traces[-1].duration_ns)
        if parts > MOST_PARTS_OF_ALL:
            raise UsageError(
                f"network.trace.folder {folder}: expected at most {MOST_PARTS_OF_ALL:,} parts in all files, got more"
            )
    return tuple(traces)


def _contents(folder: Path) -> dict[str, bytes]:
    """Returns the content of the files with traces, by name and in the order of names."""
    try:
        names = sorted(file.name for file in folder.iterdir() if file.suffix in SUFFIXES and not places.is_left_behind(file.name))
    except OSError as error:
        raise UsageError(f"network.trace.folder {folder}: cannot be read: {error.strerror}") from None
    if not 1 <= len(names) <= MOST_FILES:
        raise UsageError(
            f"network.trace.folder {folder}: expected 1 to {MOST_FILES:,} .csv or .json files, got {len(names) or 'none'}"
        )
    contents, left = {}, MOST_BYTES
    for name in names:
        contents[name] = plain_files.content(folder / name, min(LARGEST, left), "trace")
        left -= len(contents[name])
    return contents


def sum_of(contents: Mapping[str, bytes]) -> str:
    """Returns the sum over names and contents. It is the SHA-256 of what `sha256sum` prints for the
    files, sorted by name."""
    return places.sum_of({name: hashlib.sha256(content).hexdigest() for name, content in contents.items()})


def read_trace(file: Path, content: bytes | None = None) -> Trace:
    """Returns the trace in a file, whose `content` may have been read already. UsageError, which
    names the file and the part, if it is no trace."""
    given = plain_files.content(file, LARGEST, "trace") if content is None else content
    text = plain_files.decoded(given, f"trace {file}", UsageError).removeprefix("\ufeff")
    if file.suffix == ".json":
        check_parts(text.count("{"), f"trace {file}")
    names, parts = (KEYS, _json_parts(text, file)) if file.suffix == ".json" else (COLUMNS, _csv_parts(text, file))
    return trace_of([_integers(part, names, where) for where, part in parts], f"trace {file}")


def check_parts(promised: int, where: str) -> None:
    """Raises UsageError, which begins with `where`, if a file promises more parts than are read."""
    if promised > MOST_PARTS:
        raise UsageError(f"{where}: expected at most {MOST_PARTS:,} parts, got {promised:,}")


def trace_of(parts: Sequence[Sequence[int]], where: str) -> Trace:
    """Returns a trace of parts (duration in nanoseconds, bits per second, latency in nanoseconds).
    UsageError, which begins with `where`, if no transfer over it would end, or if it is too
    long."""
    if not parts:
        raise UsageError(f"{where}: expected at least one part, got none")
    duration, rate, latency = np.array(parts, np.int64).T
    if not rate.any():
        raise UsageError(
            f"{where}: the throughput must be > 0 in some part, or no transfer ends, got 0 in all of its {len(parts)} parts"
        )
    if sum(duration.tolist()) > 10**18:
        raise UsageError(f"{where}: expected at most 1e9 seconds in all, got {sum(duration.tolist()) / 1e9:g}")
    return Trace(duration_ns=duration.copy(), bits_per_second=rate.copy(), latency_ns=latency.copy())


def _json_parts(text: str, file: Path) -> Iterator[tuple[str, Sequence[object]]]:
    content = plain_files.json_of(text, f"trace {file}")
    if not isinstance(content, list):
        raise UsageError(f"trace {file}: expected a list of {{{', '.join(KEYS)}}}, got {type(content).__name__}")
    for number, part in enumerate(content):
        if not isinstance(part, dict) or set(part) != set(KEYS):
            raise UsageError(f"trace {file}, part {number}: expected {{{', '.join(KEYS)}}}, got {part!r:.80}")
        yield f"trace {file}, part {number}", [part[key] for key in KEYS]


def _csv_parts(text: str, file: Path) -> Iterator[tuple[str, Sequence[object]]]:
    if text and not text.endswith("\n"):
        raise UsageError(f"trace {file}: its last line has no end, so the file is truncated, or lacks one line break")
    for place, cells in csv_rows(text, COLUMNS, f"trace {file}", MOST_PARTS):
        if len(cells) != len(COLUMNS):
            raise UsageError(f"trace {file}, {place}: expected {len(COLUMNS)} numbers, got {cells!r:.80}")
        yield f"trace {file}, {place}", [_number(cell) for cell in cells]


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def _integers(part: Sequence[object], names: tuple[str, ...], where: str) -> list[int]:
    """Returns a part in nanoseconds, bits per second and nanoseconds, rounded to the nearest
    integers. UsageError for what is no number in the allowed range."""
    integers = []
    for name, value, factor, (low, high, words) in zip(names, part, FACTORS[names], RANGES, strict=True):
        amount = value * factor if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
        integer = round(amount) if math.isfinite(amount) else -1
        if not low <= integer <= high:
            raise UsageError(f"{where}: {name} must be a number {words}, got {value!r:.40}")
        integers.append(integer)
    return integers
