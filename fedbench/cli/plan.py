"""`fedbench plan`."""

from __future__ import annotations

from typing import Annotated

import typer

from fedbench import registry
from fedbench.cli import completion
from fedbench.cli.output import print_json, print_table
from fedbench.engine.plan import plan
from fedbench.engine.spec import RunSpec
from fedbench.scenarios.load import load

ScenarioArgument = Annotated[
    str, typer.Argument(help="A scenario's name, or a path to a .yaml file.", autocompletion=completion.scenarios)
]
AlgorithmOption = Annotated[
    list[str],
    typer.Option(
        "--algorithm",
        "-a",
        help="name, name[param=value,...] or file.py:Class[..]; may be given several times.",
        autocompletion=completion.algorithms,
    ),
]
SetOption = Annotated[list[str] | None, typer.Option("--set", help="Override a key of the scenario: key.path=value.")]
DeviceOption = Annotated[
    str, typer.Option(help="Where jobs are trained: cpu, cuda or cuda:N; cuda is torch's, jobs side by side.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]


def command(
    scenario: ScenarioArgument,
    algorithm: AlgorithmOption,
    seed: Annotated[int, typer.Option(help="Seed of the run.", min=0)] = 0,
    overrides: SetOption = None,
    device: DeviceOption = "cpu",
    as_json: JsonOption = False,
) -> None:
    """Play the virtual clock of a run without training.

    Shows staleness, utilisation, participation, losses and cost; several algorithms stand side by side.

    Example: fedbench plan digits-demo -a 'fedbuff[buffer_size=5]' --set clients=100
    """
    resolved = load(scenario, overrides or ())
    for selector in algorithm:
        summary = plan(RunSpec(resolved, registry.algorithm(selector), seed), device)
        if as_json:
            print_json(summary.as_dict())
        else:
            facts = [(name.replace("_", " "), _text(value)) for name, value in summary.as_dict().items() if value != ""]
            print_table(f"plan of {summary.algorithm}", ["", ""], facts)


def _text(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
