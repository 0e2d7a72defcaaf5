"""`fedbench list`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from fedbench import registry
from fedbench.bibliography import paper
from fedbench.cli.output import print_json, print_table
from fedbench.errors import UsageError
from fedbench.presets import Preset, presets
from fedbench.scenarios.load import load
from fedbench.scenarios.load import names as scenario_names


class Kind(StrEnum):
    algorithms = "algorithms"
    scenarios = "scenarios"
    tasks = "tasks"
    presets = "presets"


def about(kind: Kind) -> list[tuple[str, str]]:
    """(name, one line about it) of everything of a kind."""
    if kind is Kind.scenarios:
        return [(name, load(name).about) for name in scenario_names()]
    if kind is Kind.presets:
        return [(one.name, f"{one.about} For {', '.join(one.algorithms)}: {_cited(one)}.") for one in presets().values()]
    singular = kind.value.removesuffix("s")
    rows = [(name, _one_line(singular, name)) for name in registry.names(singular)]
    return rows if kind is Kind.algorithms else [(name, text + _absence(name)) for name, text in rows]


def _one_line(kind: str, name: str) -> str:
    """One that cannot be imported does not hide the others."""
    try:
        return _first_line(registry.find(kind, name).__doc__)
    except UsageError as error:
        return str(error)


def _absence(task: str) -> str:
    from fedbench.tasks.available import missing

    return " Not on this machine." if missing(task) else ""


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _cited(preset: Preset) -> str:
    """Where a preset's options are from, in short."""
    return "; ".join(f"{paper(one.key).short}, {one.place}" for one in preset.source)


def command(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List algorithms, scenarios, tasks or presets.

    Example: fedbench list algorithms
    """
    rows = about(kind)
    if as_json:
        for name, text in rows:
            print_json({"name": name, "kind": kind.value.removesuffix("s"), "about": text})
        return
    print_table(kind.value, ["name", "about"], rows)
