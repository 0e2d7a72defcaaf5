"""`fedbench list`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

import typer

from fedbench import registry
from fedbench.bibliography import paper
from fedbench.cli.options import JsonOption
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
    """Returns the name of everything of a kind, and a sentence about it."""
    if kind is Kind.scenarios:
        return [(name, load(name).about) for name in scenario_names()]
    if kind is Kind.presets:
        return [(one.name, f"{one.about} For {', '.join(one.algorithms)}: {_cited(one)}.") for one in presets().values()]
    singular: Literal["algorithm", "task"] = "algorithm" if kind is Kind.algorithms else "task"
    rows = [(name, _sentence(singular, name)) for name in registry.names(singular)]
    return rows if kind is Kind.algorithms else [(name, text + _absence(name)) for name, text in rows]


def _sentence(kind: Literal["algorithm", "task"], name: str) -> str:
    """Returns the first paragraph of a docstring, or the error of what cannot be imported, so that
    it does not hide the others."""
    try:
        paragraph, _, _ = (registry.find(kind, name).__doc__ or "").strip().partition("\n\n")
    except UsageError as error:
        return str(error)
    return " ".join(paragraph.split())


def _absence(task: str) -> str:
    from fedbench.tasks.available import missing

    return " Not on this machine." if missing(task) else ""


def _cited(preset: Preset) -> str:
    """Returns the papers that report a preset's options, in short."""
    return "; ".join(f"{paper(one.key).short}, {one.place}" for one in preset.source)


def command(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    as_json: JsonOption = False,
) -> None:
    """List algorithms, scenarios, tasks or presets.

    A preset has the options with which a paper reports an experiment, as in fedbuff[preset=NAME].
    """
    rows = about(kind)
    if as_json:
        print_json(*({"name": name, "kind": kind.value.removesuffix("s"), "about": text} for name, text in rows))
    else:
        print_table(kind.value, ["name", "about"], rows)
