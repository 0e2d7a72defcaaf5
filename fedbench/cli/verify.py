"""`fedbench verify`."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fedbench.cli.output import print_json, say
from fedbench.cli.plan import JsonOption
from fedbench.engine.run import RunOptions
from fedbench.engine.verify import verify
from fedbench.errors import FedbenchError, MissingDataError
from fedbench.results import archive
from fedbench.results.consistent import resolve
from fedbench.results.record import Record
from fedbench.results.store import read, record_folders

TRAINERS = frozenset({"native", "torch", "reference"})
FileOption = Annotated[
    str | None, typer.Option("--algorithm", "-a", help="file.py:Class, where the record's algorithm is in a file of your own.")
]


def command(
    record: Annotated[list[Path], typer.Argument(help="Folders of records, a store or an archive: all its records.")],
    workers: Annotated[int, typer.Option(help="Threads that train the jobs of one run.", min=1)] = 1,
    algorithm: FileOption = None,
    tolerant: Annotated[
        bool, typer.Option("--tolerant", help="Exit 0 also within tolerance: on another machine or library.")
    ] = False,
    tolerant_torch: Annotated[
        bool, typer.Option("--tolerant-torch", help="The same for trainer torch, whose bits depend on the machine.")
    ] = False,
    sample: Annotated[int | None, typer.Option(help="Only so many of the records, drawn at random.", min=1)] = None,
    draw: Annotated[int, typer.Option(help="Seed of that draw; another one draws others.", min=0)] = 0,
    skip_missing_data: Annotated[
        bool,
        typer.Option(
            "--skip-missing-data", help="Name the records whose data are not on this machine, and draw others for them."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a record again and say whether the result is the same.

    It is identical, within tolerance, or differs; the first field that does is named. Exit 1 unless
    all are identical, or with --tolerant within tolerance; 2 if one cannot be run again here, or
    with --skip-missing-data if none can. Example: fedbench verify
    runs/digits-demo/fedbuff/0123456789abcdef
    """
    places = [one for place in record for one in _in(place)]
    if sample is not None:
        random.Random(draw).shuffle(places)
    most = min(len(places), sample or len(places))
    tolerated = TRAINERS if tolerant else {"torch"} if tolerant_torch else set()
    if len(places) == 1 and not skip_missing_data:
        return _exit([_verified(places[0], workers, algorithm, tolerated=tolerated, as_json=as_json)])
    found = list(
        _verified_all(places, most, workers, algorithm, tolerated=tolerated, skip_missing_data=skip_missing_data, as_json=as_json)
    )
    if places and not found:
        raise MissingDataError(f"verify: of {len(places)} records there is none whose data are on this machine")
    if not as_json:
        counts = Counter(verdict for verdict, _ in found)
        say(f"{len(found)} records: {', '.join(f'{count} {verdict}' for verdict, count in sorted(counts.items()))}")
    return _exit(found)


@dataclass(frozen=True)
class Place:
    """Where a record is, in words, and how it is had."""

    name: str
    read: Callable[[], Record]


def _in(place: Path) -> list[Place]:
    """The records of an archive, or in the folders of a store."""
    if archive.is_archive(place):
        records = archive.read(place, check=False)
        return [
            Place(f"{place}, {one.selector} seed {one.seed} ({one.run_id})", partial(_resolved, one, place)) for one in records
        ]
    return [Place(str(folder), partial(read, folder)) for folder in record_folders(place)]


def _resolved(record: Record, place: Path) -> Record:
    """The record, in which keys of scenarios that are younger than it have their defaults, as the
    run that repeats it has them."""
    resolve(record.meta, f"archive {place}, run {record.run_id:.80}")
    return record


def _exit(found: list[tuple[str, int]]) -> None:
    codes = {code for _, code in found} - {0}
    if codes:
        raise typer.Exit(min(codes))


def _verified_all(
    places: list[Place],
    most: int,
    workers: int,
    algorithm: str | None,
    *,
    tolerated: Set[str],
    skip_missing_data: bool,
    as_json: bool,
) -> Iterator[tuple[str, int]]:
    """The first `most` that are not skipped. One that cannot be verified does not keep the others
    from it."""
    number = 1
    for place in places:
        if number > most:
            return
        count = f"{number} of {most}: "
        try:
            yield _verified(place, workers, algorithm, tolerated=tolerated, as_json=as_json, count=count)
        except FedbenchError as error:
            if skip_missing_data and isinstance(error, MissingDataError):
                _show(place, {"verdict": "left out", "message": str(error)}, as_json=as_json)
                continue
            _show(place, {"verdict": "not verified", "message": str(error)}, count, as_json=as_json)
            yield "not verified", error.exit_code
        number += 1


def _verified(
    place: Place, workers: int, algorithm: str | None, *, tolerated: Set[str], as_json: bool, count: str = ""
) -> tuple[str, int]:
    """(verdict, exit code)."""
    record = place.read()
    result = verify(record, RunOptions(workers=workers), algorithm=algorithm)
    _show(place, result, count, as_json=as_json)
    is_tolerated = record.meta["provenance"]["trainer"] in tolerated
    accepted = ("identical", "within tolerance") if is_tolerated else ("identical",)
    return result["verdict"], int(result["verdict"] not in accepted)


def _show(place: Place, result: dict[str, Any], count: str = "", *, as_json: bool) -> None:
    if as_json:
        return print_json({"record": place.name, **result})
    field = result.get("first_difference")
    more = f" (first in {field})" if field else f": {result['message']}" if "message" in result else ""
    return say(f"{count}{place.name}: {result['verdict']}{more}")
