"""`fedbench catalogue`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import fedbench
from fedbench import registry
from fedbench.cli.output import say, writing


def command(
    output: Annotated[Path, typer.Option("--output", "-o", help="File of the page.")] = Path("catalogue.html"),
) -> None:
    """Write a page that describes all algorithms.

    The page has the equations, sources, departures from the papers, options, costs and needs of
    every algorithm.
    """
    from fedbench.documents.suite import Facts
    from fedbench.leaderboard.pages.catalogue import render  # the other verbs start faster without it

    facts = [Facts.of_class(registry.find("algorithm", name)) for name in registry.names("algorithm")]
    with writing("catalogue", output):
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(render(facts, fedbench.__version__), encoding="utf-8")
    say(f"{len(facts)} algorithms -> {output}")
