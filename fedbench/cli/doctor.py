"""`fedbench doctor`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from fedbench.cli.examination import examine
from fedbench.cli.options import JsonOption, StoreOption
from fedbench.cli.output import print_json, say

BEFORE = 30  # columns before the value of a check


def command(store: StoreOption = Path("runs"), as_json: JsonOption = False) -> None:
    """Check your installation.

    Checks the build, instruction set, memory, clock, data sets, disk, torch and GPU. A warning
    names what could be better. The exit code is 1 if there is a problem.
    """
    problems = 0
    for finding in examine(store):
        problems += finding.status == "problem"
        if as_json:
            print_json(asdict(finding))
            continue
        say(f"{finding.status:<8} {finding.check:<20} {finding.value}", BEFORE)
        if finding.advice:
            say(f"{'':<{BEFORE}}-> {finding.advice}", 3)
    if problems:
        raise typer.Exit(1)
