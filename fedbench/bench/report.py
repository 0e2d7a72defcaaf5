"""The rows of a measurement, and the file that keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from fedbench import plain_files
from fedbench.bench.case import AnyCase, AnyWay
from fedbench.bench.measure import Measured, Ratio
from fedbench.errors import UsageError, quoted
from fedbench.refusals import refused_in

SCHEMA = 1
LARGEST = 4 << 20  # bytes of a file
Above = Annotated[float, Field(gt=0)]
PUBLIC = ("case", "versus", "ratio", "ours_us", "theirs_us", "threads", "note")


@dataclass(frozen=True)
class Row:
    """One case beside one other way. `ratio` is the median of their time over ours over the rounds,
    with the quartiles `low` and `high`, and with `least` and `most`. Microseconds a call are
    medians. `asked` is what the case asks of its fastest rival's ratio. Numbers are None if a way
    did not run. `library` is the package on whose release the other way's speed depends."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    case: str
    versus: str
    ratio: Above | None
    low: Above | None
    high: Above | None
    ours_us: float | None
    theirs_us: float | None
    threads: int
    library: str
    note: str
    least: Above | None = None
    most: Above | None = None
    compile_seconds: float | None = None
    asked: Above | None = None

    def public(self) -> dict[str, object]:
        """Returns the row as `--json` prints it."""
        return {name: value for name, value in asdict(self).items() if name in PUBLIC}


def rows(case: AnyCase, measured: Measured, threads: int, peak_mb: float | None = None) -> Iterator[Row]:
    """Yields a row for every rival in the case's order, one for the fastest of its limits, and one
    for every way that was skipped."""
    about = _about(case, measured, peak_mb)
    ours = measured.seconds.get(case.ours)
    if ours is not None:
        others = [way for way in measured.seconds if way is not case.ours and not way.limit]
        yield from (_row(case, way, measured, threads, about) for way in others)
        yield from _limit(case, measured, threads)
    for way, reason in measured.skipped.items():
        versus = "" if way is case.ours else way.name
        yield Row(case.name, versus, None, None, None, None, None, threads, way.library, f"skipped: {reason}")


def _row(case: AnyCase, way: AnyWay, measured: Measured, threads: int, note: str) -> Row:
    ours, theirs = measured.seconds[case.ours], measured.seconds[way]
    ratio, compiled = Ratio.of(theirs, ours), measured.compile_seconds.get(way)
    return Row(
        *(case.name, way.name, ratio.median, ratio.low, ratio.high),
        *(float(np.median(ours)) * 1e6, float(np.median(theirs)) * 1e6, threads, way.library),
        note if compiled is None else ", ".join(filter(None, (note, f"compiled before, in {compiled:.2g} s"))),
        *(ratio.least, ratio.most, compiled, case.asked),
    )


def _limit(case: AnyCase, measured: Measured, threads: int) -> Iterator[Row]:
    medians = {way: float(np.median(seconds)) for way, seconds in measured.seconds.items() if way.limit}
    if medians:
        best = min(medians, key=lambda way: medians[way])
        others = [f"{way.name} takes {medians[way] / medians[best]:.2f}x" for way in medians if way is not best]
        note = ", ".join([f"fraction of the fastest reading: {best.name}", *others])
        yield _row(case, best, measured, threads, note)


def _about(case: AnyCase, measured: Measured, peak_mb: float | None) -> str:
    """Returns the note of a case: the time per unit, if it has one, and memory."""
    parts = []
    if case.ours in measured.seconds and case.unit:
        each = float(np.median(measured.seconds[case.ours])) / case.units(case.size)
        parts.append(f"{each * 1e9:.0f} ns per {case.unit}")
    if peak_mb is not None:
        parts.append(f"peak {peak_mb:.0f} MB")
    return ", ".join(parts)


def libraries(provenance: Mapping[str, object]) -> dict[str, str]:
    """Returns the versions of the libraries beside which was measured, by name."""
    found = provenance.get("libraries")
    return found if isinstance(found, dict) else {}


class _Saved(BaseModel):
    """What a file keeps of a measurement."""

    model_config = ConfigDict(title="the file")

    schema_version: Literal[1] = Field(alias="schema")
    provenance: dict[str, object]
    rows: list[Row]


def save(path: Path, found: Sequence[Row], provenance: Mapping[str, object]) -> None:
    """Writes one JSON object, which `load` reads. UsageError if the file cannot be written."""
    document = {"schema": SCHEMA, "provenance": provenance, "rows": [asdict(row) for row in found]}
    try:
        path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def load(path: Path) -> tuple[list[Row], dict[str, object]]:
    """Returns the rows and the provenance of a file that `--save` wrote. UsageError names the file
    and what is wrong with it."""
    document = plain_files.json_in(path, LARGEST, "measurement")
    with refused_in(f"measurement {path}: expected a file of `fedbench bench --save`"):
        found = _Saved.model_validate(document)
    return found.rows, found.provenance


def load_all(paths: Sequence[Path]) -> tuple[list[Row], dict[str, object]]:
    """Returns the rows of several files and the provenance of the first. UsageError if another file
    has another provenance, but for the load of the machine."""
    (first, where), *others = (load(path) for path in paths)
    for path, (_, other) in zip(paths[1:], others, strict=True):
        for name in (where.keys() | other.keys()) - {"load"}:
            if where.get(name) != other.get(name):
                raise UsageError(
                    f"measurement {path}: expected the {name} of {paths[0]}, {quoted(where.get(name))}, got {quoted(other.get(name))}"
                )
    return [*first, *(row for rows_of, _ in others for row in rows_of)], where
