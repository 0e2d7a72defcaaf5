"""`fedbench verify`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from fedbench.cli.output import print_json, say
from fedbench.cli.plan import JsonOption
from fedbench.engine.run import RunOptions, verify
from fedbench.errors import FedbenchError
from fedbench.results.store import read, record_folders

FileOption = Annotated[
    str | None, typer.Option("--algorithm", "-a", help="file.py:Class, where the record's algorithm is in a file of your own.")
]


def command(
    record: Annotated[list[Path], typer.Argument(help="Folders of records, or a store: all its records.")],
    workers: Annotated[int, typer.Option(help="Threads that train the jobs of one run.", min=1)] = 1,
    algorithm: FileOption = None,
    tolerant: Annotated[
        bool, typer.Option("--tolerant", help="Exit 0 also within tolerance: on another machine or library.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a record again and say whether the result is the same.

    It is identical, within tolerance, or differs; the first field that does is named. Exit 1 unless all are identical, or with
    --tolerant within tolerance; 2 if one cannot be run again here. Example: fedbench verify runs/digits-demo/fedbuff/0123456789abcdef
    """
    folders = [folder for place in record for folder in record_folders(place)]
    if len(folders) == 1:
        return _exit([_verified(folders[0], workers, algorithm, tolerant=tolerant, as_json=as_json)])
    found = list(_verified_all(folders, workers, algorithm, tolerant=tolerant, as_json=as_json))
    if not as_json:
        counts = Counter(verdict for verdict, _ in found)
        say(f"{len(found)} records: {', '.join(f'{count} {verdict}' for verdict, count in sorted(counts.items()))}")
    return _exit(found)


def _exit(found: list[tuple[str, int]]) -> None:
    codes = {code for _, code in found} - {0}
    if codes:
        raise typer.Exit(min(codes))


def _verified_all(
    folders: list[Path], workers: int, algorithm: str | None, *, tolerant: bool, as_json: bool
) -> Iterator[tuple[str, int]]:
    """One that cannot be verified does not keep the others from it."""
    for number, folder in enumerate(folders, 1):
        try:
            yield _verified(folder, workers, algorithm, tolerant=tolerant, as_json=as_json, count=f"{number} of {len(folders)}: ")
        except FedbenchError as error:
            _show(folder, {"verdict": "not verified", "message": str(error)}, f"{number} of {len(folders)}: ", as_json=as_json)
            yield "not verified", error.exit_code


def _verified(
    folder: Path, workers: int, algorithm: str | None, *, tolerant: bool, as_json: bool, count: str = ""
) -> tuple[str, int]:
    """(verdict, exit code)."""
    result = verify(read(folder), RunOptions(workers=workers), algorithm=algorithm)
    _show(folder, result, count, as_json=as_json)
    accepted = ("identical", "within tolerance") if tolerant else ("identical",)
    return result["verdict"], int(result["verdict"] not in accepted)


def _show(folder: Path, result: dict[str, Any], count: str, *, as_json: bool) -> None:
    if as_json:
        return print_json({"record": str(folder), **result})
    field = result.get("first_difference")
    more = f" (first in {field})" if field else f": {result['message']}" if "message" in result else ""
    return say(f"{count}{folder}: {result['verdict']}{more}")
