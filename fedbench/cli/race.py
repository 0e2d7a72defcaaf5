"""`fedbench race`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from fedbench import written
from fedbench.cli import completion, options
from fedbench.cli.interrupts import interruptible
from fedbench.cli.output import print_json, say, show, show_next
from fedbench.errors import FedbenchError
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.suites.own_race.plan import Given
from fedbench.suites.own_race.race import folder_of, raced
from fedbench.suites.own_race.result import RaceResult


def command(
    scenario: options.ScenarioArgument,
    minutes: Annotated[float, typer.Option(help="After so many minutes no run is begun any more.")] = 20,
    algorithms: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithm",
            "-a",
            help="Algorithm, as for run. Can be repeated. Default: all that can run there.",
            autocompletion=completion.algorithms,
        ),
    ] = None,
    space: Annotated[Path | None, typer.Option(help="YAML file with the options to tune of your own algorithms.")] = None,
    overrides: options.SetOption = None,
    store: Annotated[
        Path | None, typer.Option("--store", "-r", help="Folder of the race. Default: runs/race-SCENARIO.", show_default=False)
    ] = None,
    processes: options.ProcessesOption = 1,
    first_seed: Annotated[int, typer.Option(help="First seed.", min=0)] = 0,
    tune: Annotated[bool, typer.Option("--tune/--no-tune", help="Tune options, if there is time.")] = True,
    as_json: options.JsonOption = False,
) -> None:
    """Find the best algorithms for a scenario in so many minutes.

    Every algorithm makes one run, and those far behind are dropped. The options of the others are
    tuned, if there is time for it. Then they race, with more and more seeds, and who cannot be the
    best any more is dropped. The same command goes on where it stopped, also with more minutes.
    """
    given = Given(load(scenario, overrides or ()), algorithms or (), space, minutes, processes, first_seed, tune)
    where = store or folder_of(given.scenario)
    with interruptible("nothing is lost, the same command goes on"):
        found = raced(given, Store(where), show)
    if as_json:
        print_json(found.as_dict())
    else:
        say(str(found))
        _show_next(found, scenario, overrides or ())
    if found.failed:
        row, why = next(iter(found.failed.items()))
        several = len(found.failed) > 1
        begin = f"{written.counted(len(found.failed), 'row')} {'have' if several else 'has'} a run that failed"
        again = f"the same command tries {'them' if several else 'it'} again"
        then = "in another --store a race begins anew" if found.settled else again
        raise FedbenchError(f"{begin}; {then}. The first: {row}: {why}")


def _show_next(found: RaceResult, scenario: str, overrides: list[str] | tuple[str, ...]) -> None:
    """Shows how to run the best rows in seconds again, and where everything is."""
    show(f"records, plan and decisions: {found.store}")
    leaders = [one.best["seconds"][0].row for one in found.systems if one.best.get("seconds")]
    if leaders:
        words = ["fedbench", "run", scenario, *(word for row in leaders[:3] for word in ("-a", row)), "--seeds", "3"]
        show_next(shlex.join([*words, *(word for one in overrides for word in ("--set", one))]))
