"""`fedbench conformance`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli.options import JsonOption
from fedbench.cli.output import print_table, put, say
from fedbench.proof.conformance import SHIPPED, check_folder


def command(
    folder: Annotated[
        Path, typer.Argument(help="Folder of *.json vectors. Default: those that come with fedbench.", show_default=False)
    ] = SHIPPED,
    as_json: JsonOption = False,
) -> None:
    """Check the algorithms against conformance vectors.

    Every vector is checked in every precision and for every division into waves. The exit code is 1
    if one fails. Unsupported vectors are listed and do not count as failures.
    """
    rows = []
    for row in check_folder(folder):
        rows.append(row)
        if as_json:
            put(row.as_json())
    counts = Counter(row.status for row in rows)
    if not as_json:
        shown = [(r.id, r.status, r.precision, "" if r.max_error is None else f"{r.max_error:.2g}", r.where) for r in rows]
        print_table(f"vectors in {folder}", ["id", "status", "precision", "error / tolerance", "where"], shown)
        say(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    if counts["fail"] or counts["error"]:
        raise typer.Exit(1)
