"""`fedbench advise`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli.options import JsonOption, ScenarioArgument, SetOption
from fedbench.cli.output import print_json, print_table, put, say
from fedbench.suites.advice import words
from fedbench.suites.advice.advise import advise


def command(
    scenario: ScenarioArgument,
    cost: Annotated[str, typer.Option(help="The cost that is to be small: seconds, gradient_evaluations or bytes.")] = "seconds",
    map_file: Annotated[
        Path | None, typer.Option("--map", help="File of a map of costs. Default: that of fedbench.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed whose clients are measured.", min=0)] = 0,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which algorithms to try on a scenario, and how sure that is.

    Measures how the clients differ, and looks up what a map of costs holds for that. Nothing is
    trained. Prints at most five algorithms, with expected costs and options to start from, and what
    of the scenario the map has not measured.
    """
    found = advise(scenario, overrides=overrides or (), cost=cost, map=map_file, seed=seed)
    if as_json:
        print_json(found.as_dict())
        return
    what, how_sure = words.answer(found)
    say(what)
    print_table(how_sure, *words.table(found))
    for line in words.rest(found):
        (put if line.startswith(words.INDENT) else say)(line)
