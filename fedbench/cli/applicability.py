"""`fedbench applicability`."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli import completion
from fedbench.cli.options import JsonOption, SetOption
from fedbench.cli.output import err, print_json, say, writing
from fedbench.errors import UsageError
from fedbench.suites.applicability import Pair, page, paged, pairs


def command(
    scenario: Annotated[
        list[str] | None,
        typer.Argument(
            help="Scenarios: names, or .yaml files. Default: the library; with --output only scenarios whose data can be installed.",
            autocompletion=completion.scenarios,
        ),
    ] = None,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithm",
            "-a",
            help="Algorithm: name, name[param=value,...] or file.py:Class[..]. Can be repeated. Default: all built-in ones.",
            autocompletion=completion.algorithms,
        ),
    ] = None,
    overrides: SetOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Markdown file to write the table into.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show which algorithms run on which scenarios.

    Every pair is planned and checked as before a run. Nothing is trained. Algorithms that do not
    run are listed with the reason.
    """
    found = []
    with err.status("planning"):
        for pair in pairs(scenario or (() if output is None else paged()), algorithm or (), overrides or ()):
            found.append(pair)
            if as_json:
                print_json(asdict(pair))
    if output is not None:
        words = [*(scenario or ())]
        words += [word for one in algorithm or () for word in ("-a", one)]
        words += [word for one in overrides or () for word in ("--set", one)]
        _write(output, found, scenario or algorithm or overrides or (), words)
    elif not as_json:
        for name, group in itertools.groupby(found, key=lambda pair: pair.scenario):
            _show(name, list(group))


def _show(scenario: str, found: list[Pair]) -> None:
    """Prints how many algorithms run on the scenario, and the others by the reason why they do
    not."""
    others: dict[tuple[str, str], list[str]] = {}
    for pair in found:
        if pair.status != "runs":
            others.setdefault((pair.status, pair.reason), []).append(pair.algorithm)
    runs = sum(pair.status == "runs" for pair in found)
    say(f"{scenario}: {runs} of {len(found)} run")
    for (status, reason), names in others.items():
        say(f"  {', '.join(names)}: {status}; {reason}")


def _write(output: Path, found: list[Pair], about: Sequence[str] = (), words: Sequence[str] = ()) -> None:
    """Writes the table, which is about what the `words` of the command line name. Raises UsageError
    if data are missing: the table would depend on the machine."""
    without = dict.fromkeys(pair.scenario for pair in found if pair.status == "no data")
    if without:
        raise UsageError(
            f"applicability: the data of {', '.join(without)} are not on this machine; install them or name the others"
        )
    with writing("applicability", output):
        output.parent.mkdir(parents=True, exist_ok=True)
        command = shlex.join(["fedbench", "applicability", *words, "-o", str(output)]) if words else ""
        output.write_text(page(found, about, command), encoding="utf-8")
    say(f"{len(found)} pairs -> {output}")
