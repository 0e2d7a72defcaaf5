"""`fedbench verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli.output import out, print_json
from fedbench.cli.plan import JsonOption
from fedbench.engine.run import RunOptions, verify
from fedbench.results.store import read

FileOption = Annotated[
    str | None, typer.Option("--algorithm", "-a", help="file.py:Class, where the record's algorithm is in a file of your own.")
]


def command(
    record: Annotated[list[Path], typer.Argument(help="Folder of a record.")],
    workers: Annotated[int, typer.Option(help="Threads that train the jobs of one run.", min=1)] = 1,
    algorithm: FileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a record again and say whether the result is the same.

    It is identical, within tolerance, or differs; then the first digest that differs is named.

    Example: fedbench verify runs/digits-demo/fedbuff/0123456789abcdef
    """
    verdicts = []
    for folder in record:
        result = verify(read(folder), RunOptions(workers=workers), algorithm=algorithm)
        verdicts.append(result["verdict"])
        if as_json:
            print_json({"record": str(folder), **result})
        else:
            where = f" (first in the {result['first_difference']} digest)" if result["first_difference"] else ""
            out.print(f"{folder}: {result['verdict']}{where}", markup=False, soft_wrap=True)
    if "differs" in verdicts:
        raise typer.Exit(1)
