"""`fedbench plan`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import typer

from fedbench import registry
from fedbench.cli.layout import fits
from fedbench.cli.options import AlgorithmOption, DeviceOption, JsonOption, ScenarioArgument, SetOption
from fedbench.cli.output import columns_of, out, print_json, print_table, say
from fedbench.engine.plan import plan
from fedbench.engine.spec import RunSpec
from fedbench.scenarios.load import load

Plan = Mapping[str, object]
LONGEST = 24  # characters of a fact in the table


def command(
    scenario: ScenarioArgument,
    algorithm: AlgorithmOption,
    seed: Annotated[int, typer.Option(help="Seed of the run.", min=0)] = 0,
    overrides: SetOption = None,
    device: DeviceOption = "cpu",
    as_json: JsonOption = False,
) -> None:
    """Simulate the clock of a run without training.

    Prints staleness, utilisation, participation, lost jobs and cost. Several algorithms stand side
    by side.
    """
    resolved = load(scenario, overrides or ())
    found = [plan(RunSpec(resolved, registry.algorithm(selector), seed), device).as_dict() for selector in algorithm]
    if as_json:
        print_json(*found)
    else:
        for plans in _beside(found, columns_of(out)):
            _show(plans, columns_of(out))


def _beside(plans: Sequence[Plan], width: int) -> Iterator[list[Plan]]:
    """Yields the plans in groups, each of as many as fit side by side."""
    group: list[Plan] = []
    for one in plans:
        if group and not fits(*_numbers([*group, one]), width):
            yield group
            group = []
        group.append(one)
    yield group


def _show(plans: Sequence[Plan], width: int) -> None:
    """Prints plans side by side, and their sentences below. A selector that is too wide for the
    head of a column stands in the title."""
    title, (columns, rows) = f"plan of {plans[0]['scenario']}, seed {plans[0]['seed']}", _numbers(plans)
    if not fits(columns, rows, width):
        title, columns = f"{title}: {columns[1]}", ["", ""]
    print_table(title, columns, rows)
    for name in _facts(plans):
        for one in plans if _is_long(name, plans) else ():
            say(f"{one['algorithm']}: {_words(name)}: {_text(one[name])}")


def _numbers(plans: Sequence[Plan]) -> tuple[list[str], list[list[str]]]:
    """Returns the columns and the rows of a table: a column for each plan, and a row for each fact
    that is short."""
    rows = [[_words(name), *(_text(one[name]) for one in plans)] for name in _facts(plans) if not _is_long(name, plans)]
    return ["", *(str(one["algorithm"]) for one in plans)], rows


def _facts(plans: Sequence[Plan]) -> list[str]:
    """Returns the names of the facts that one of the plans has."""
    return [name for name in plans[0] if name not in ("scenario", "algorithm", "seed") and any(one[name] != "" for one in plans)]


def _is_long(name: str, plans: Sequence[Plan]) -> bool:
    return max(len(_text(one[name])) for one in plans) > LONGEST


def _words(name: str) -> str:
    return name.replace("_", " ")


def _text(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
