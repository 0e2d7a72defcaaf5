"""`fedbench plan`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fedbench import registry
from fedbench.cli.options import AlgorithmOption, DeviceOption, JsonOption, ScenarioArgument, SetOption
from fedbench.cli.output import out, print_json, print_table
from fedbench.engine.plan import plan
from fedbench.engine.spec import RunSpec
from fedbench.scenarios.load import load

NAMES, COLUMN = 28, 26  # widths in characters: of the names of facts, and at least of every plan


def command(
    scenario: ScenarioArgument,
    algorithm: AlgorithmOption,
    seed: Annotated[int, typer.Option(help="Seed of the run.", min=0)] = 0,
    overrides: SetOption = None,
    device: DeviceOption = "cpu",
    as_json: JsonOption = False,
) -> None:
    """Simulate the clock of a run without training.

    Shows staleness, utilisation, participation, losses and cost; several algorithms stand side by
    side.

    Example: fedbench plan digits-demo -a 'fedbuff[buffer_size=5]' --set clients=100
    """
    resolved = load(scenario, overrides or ())
    found = [plan(RunSpec(resolved, registry.algorithm(selector), seed), device).as_dict() for selector in algorithm]
    if as_json:
        for row in found:
            print_json(row)
    else:
        beside = max(1, (out.width - NAMES) // COLUMN)
        for begin in range(0, len(found), beside):
            _show(found[begin : begin + beside])


def _show(plans: list[dict[str, Any]]) -> None:
    """Prints plans side by side: a column for each plan, and a row for each fact that one of them
    has."""
    facts = [name for name in plans[0] if name not in ("scenario", "algorithm", "seed") and any(row[name] != "" for row in plans)]
    rows = [(name.replace("_", " "), *(_text(row[name]) for row in plans)) for name in facts]
    title = f"plan of {plans[0]['scenario']}, seed {plans[0]['seed']}"
    print_table(title, ["", *(row["algorithm"] for row in plans)], rows)


def _text(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
