"""`fedbench verify`."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli.options import (
    DrawOption,
    FileOption,
    JsonOption,
    LossFileOption,
    MetricFilesOption,
    ModelFileOption,
    OptimizerFileOption,
    WorkersOption,
)
from fedbench.cli.output import print_json, say
from fedbench.engine.run import RunOptions
from fedbench.engine.verify import Verified, verify
from fedbench.errors import FedbenchError, MissingDataError, UsageError, nearest
from fedbench.results import archive, kept_model, kept_parts
from fedbench.results.record import Record
from fedbench.results.store import read, record_folders

TRAINERS = frozenset({"native", "torch", "reference"})


@dataclass(frozen=True)
class Wish:
    """What the command line asks for. `tolerated`: trainers of which a result within tolerance is
    accepted."""

    workers: int
    algorithm: str | None
    model: str | None
    metrics: Sequence[str]
    optimizer: str | None
    loss: str | None
    tolerated: Set[str]
    skip_missing_data: bool
    as_json: bool


def command(
    record: Annotated[list[Path], typer.Argument(help="Folders of records, stores or archives.")],
    workers: WorkersOption = 1,
    algorithm: FileOption = None,
    model: ModelFileOption = None,
    metric: MetricFilesOption = None,
    optimizer: OptimizerFileOption = None,
    loss: LossFileOption = None,
    tolerant: Annotated[
        bool, typer.Option("--tolerant", help="Accept results within tolerance, as on another machine or library version.")
    ] = False,
    tolerant_torch: Annotated[
        bool,
        typer.Option(
            "--tolerant-torch", help="Accept results within tolerance of the trainer torch, whose bits depend on the machine."
        ),
    ] = False,
    run: Annotated[list[str] | None, typer.Option("--run", help="Only the record with this id. Can be repeated.")] = None,
    sample: Annotated[int | None, typer.Option(help="Number of records to draw at random. Default: all.", min=1)] = None,
    draw: DrawOption = 0,
    skip_missing_data: Annotated[
        bool,
        typer.Option(
            "--skip-missing-data",
            help="Leave out and name records whose data are not on this machine. --sample draws others for them.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run records again and compare every field.

    A record is identical, within tolerance, or differs, in which case the first field that differs
    is named.

    The exit code is 0 if all records are identical, or with --tolerant within tolerance, and no
    algorithm of a file computes more than it declares. It is 2 if a record cannot be run again
    here, or with --skip-missing-data if none can. Otherwise it is 1.
    """
    places = _chosen([one for place in record for one in _in(place)], run)
    if sample is not None:
        random.Random(draw).shuffle(places)
    most = min(len(places), sample or len(places))
    tolerated = TRAINERS if tolerant else {"torch"} if tolerant_torch else set()
    wish = Wish(workers, algorithm, model, metric or (), optimizer, loss, tolerated, skip_missing_data, as_json)
    if len(places) == 1 and not skip_missing_data:
        return _exit([_verified(places[0], wish)])
    found = list(_verified_all(places, most, wish))
    if places and not found:
        raise MissingDataError(f"verify: of {len(places)} records there is none whose data are on this machine")
    if not as_json:
        counts = Counter(verdict for verdict, _ in found)
        say(f"{len(found)} records: {', '.join(f'{count} {verdict}' for verdict, count in sorted(counts.items()))}")
    return _exit(found)


@dataclass(frozen=True)
class Place:
    """Where a record is, in words, the id of its run, and the record itself or its folder."""

    name: str
    run_id: str
    source: Record | Path


def _in(place: Path) -> list[Place]:
    """Returns the places of the records in an archive, or in the folders of a store."""
    if archive.is_archive(place):
        records = archive.read(place, check=False)
        return [Place(f"{place}, {one.selector} seed {one.seed} ({one.run_id})", one.run_id, one) for one in records]
    return [Place(str(folder), _id_of(folder), folder) for folder in record_folders(place)]


def _id_of(folder: Path) -> str:
    """Returns the id of the run whose record is in a folder, or is its record.json."""
    return (folder.parent if folder.name == "record.json" else folder).resolve().name


def _chosen(places: list[Place], runs: Sequence[str] | None) -> list[Place]:
    """Returns the places of these runs, or all. UsageError for an id that none has."""
    known = {place.run_id for place in places}
    for one in runs or ():
        if one not in known:
            raise UsageError(f"verify: --run {one!r:.80}: none of the {len(places):,} records has this id{nearest(one, known)}")
    return [place for place in places if not runs or place.run_id in runs]


def _exit(found: list[tuple[str, int]]) -> None:
    """Ends the program with the lowest exit code above 0 of the (verdict, code) pairs, if there is
    one."""
    codes = {code for _, code in found} - {0}
    if codes:
        raise typer.Exit(min(codes))


def _verified_all(places: list[Place], most: int, wish: Wish) -> Iterator[tuple[str, int]]:
    """Yields verdict and exit code of the first `most` records that are not skipped.

    A record that cannot be verified does not stop the others.
    """
    number = 1
    for place in places:
        if number > most:
            return
        count = f"{number} of {most}: "
        try:
            yield _verified(place, wish, count)
        except FedbenchError as error:
            if wish.skip_missing_data and isinstance(error, MissingDataError):
                _show_without(place, "left out", str(error), as_json=wish.as_json)
                continue
            _show_without(place, "not verified", str(error), count, as_json=wish.as_json)
            yield "not verified", error.exit_code
        number += 1


def _verified(place: Place, wish: Wish, count: str = "") -> tuple[str, int]:
    """Runs a record again, shows the result, and returns its verdict and exit code."""
    record = read(place.source) if isinstance(place.source, Path) else place.source
    folder = None
    if isinstance(place.source, Path):
        folder = place.source.parent if place.source.name == "record.json" else place.source
        kept_model.check(folder, record)
        kept_parts.check(folder, record)
    how = RunOptions(workers=wish.workers)
    result = verify(
        record,
        how,
        algorithm=wish.algorithm if not count or record.spec.algorithm.where.get("kind") in ("file", "object") else None,
        model=wish.model,
        metrics=wish.metrics,
        optimizer=wish.optimizer,
        folder=folder,
        loss=wish.loss,
    )
    if wish.as_json:
        print_json({"record": place.name, **result.as_dict()})
    else:
        say(f"{count}{place.name}: {result.verdict}{_more(result)}")
    is_tolerated = record.provenance.trainer in wish.tolerated
    accepted = ("identical", "within tolerance") if is_tolerated else ("identical",)
    return result.verdict, int(result.verdict not in accepted or bool(result.undeclared))


def _more(result: Verified) -> str:
    more = f" (first in {result.first_difference})" if result.differences else ""
    more += "".join(f", but for {one}, which it does not have" for one in result.not_compared)
    more += "".join(f"; {one}" for one in result.undeclared)
    return more + ("; its code was not confined, which this system cannot do" if result.confined is False else "")


def _show_without(place: Place, verdict: str, message: str, count: str = "", *, as_json: bool) -> None:
    """Shows a record that could not be compared."""
    if as_json:
        print_json({"record": place.name, "verdict": verdict, "message": message})
    else:
        say(f"{count}{place.name}: {verdict}: {message}")
