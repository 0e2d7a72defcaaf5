"""Finds the runs that make a cell's number again: their scenario, the algorithm with the paper's
options, the seeds, and what is read off the records.

The files `experiments/<key>.yaml` say so, one file for each paper.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fedbench import plain_files, registry
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.papers import ceilings
from fedbench.papers.cells import PAPERS, Cell
from fedbench.papers.parts import Experiments, How, Read, Seeds, StandIn, Table, Variation
from fedbench.papers.rules import FEWEST_ROUNDS, LIMIT
from fedbench.scenarios import load as scenarios
from fedbench.scenarios.data_parts import HELD_OUT
from fedbench.scenarios.local_parts import ExtremeSteps
from fedbench.scenarios.problems import validated
from fedbench.scenarios.schema import ACCURACY, Scenario

MEASURED_ROUNDS = 100
"""The rounds after which the accuracy of a cell of utilisation is read."""
ROUND_SECONDS = 20
"""An upper bound of the virtual seconds of a round in a cell of utilisation. The round itself takes
one second, and full gradients beside it take longer."""

PAPER = "paper"
"""What the command line calls the paper's own data, beside the names of stand-ins."""
FOLDER = Path(__file__).with_name("experiments")


@functools.cache
def experiments(paper: str) -> Experiments:
    """Returns the experiments of a paper, by its number. Raises UsageError if the file does not
    have their form."""
    file = FOLDER / f"{PAPERS[paper]}.yaml"
    return validated(Experiments, plain_files.mapping(file, "experiments"), file.name)


def table(cell: Cell) -> Table:
    """Returns the experiments of a cell's table."""
    return experiments(cell.paper).tables[cell.table]


def how(cell: Cell) -> How | None:
    """Returns how a cell is made again: the first entry that matches it and has its algorithm. None
    if there is no such entry."""
    fits = (one for one in table(cell).how if cell.algorithm in one.algorithms and cell.matches(one.where))
    return next(fits, None)


@functools.cache
def stand_ins(cell: Cell) -> tuple[Cell, ...]:
    """Returns a cell once for everything that stands in for its data or network, in the order of
    the file. What is not run has none."""
    names = [one.name for one in table(cell).stand_ins if cell.matches(one.where)] if how(cell) is not None else []
    return tuple(dataclasses.replace(cell, stand_in=name) for name in names)


def ways(cells: Iterable[Cell]) -> list[Cell]:
    """Returns every cell, and behind it what stands in for it."""
    return [way for cell in cells for way in (cell, *stand_ins(cell))]


def standing_in(cell: Cell) -> StandIn:
    """Returns the stand-in on which a cell is run."""
    return next(one for one in table(cell).stand_ins if one.name == cell.stand_in)


def data_of(cell: Cell) -> tuple[str, ...]:
    """Returns the names of the tasks whose data a cell's runs need: its own, and that of public
    examples which are not held out of it."""
    made = scenario(cell)
    others = () if made.public is None or made.public.source in (HELD_OUT, made.task.name) else (made.public.source,)
    return (made.task.name, *others)


def wants_card(cell: Cell) -> bool:
    """Returns whether a cell is on a stand-in that is for a GPU."""
    return bool(cell.stand_in) and standing_in(cell).card


def declared_seeds(cell: Cell) -> Seeds:
    """Returns how many seeds of a cell are declared: the first entry that matches it. Raises
    UsageError if none does."""
    entries = standing_in(cell).seeds if cell.stand_in else table(cell).seeds
    found = next((one for one in entries if cell.matches(one.where)), None)
    if found is None:
        raise UsageError(f"experiments of {cell.of}: no entry of seeds matches cell {cell.number}")
    return found


def seeds(cell: Cell) -> Seeds:
    """Returns how many seeds a cell is run with. A stand-in has none as long as the ceiling is not
    measured of which its targets are made."""
    found = declared_seeds(cell)
    return Seeds(seeds=0, why=why) if found.last and (why := waits(cell)) else found


def waits(cell: Cell) -> str:
    """Returns why a cell, and its variations, cannot be run yet: the ceiling is not measured of
    which the target is made. Empty if nothing is waited for."""
    if not cell.stand_in or not standing_in(cell).of_ceiling or ceilings.reached(cell.stand_in) is not None:
        return ""
    return f"Its target is a share of the ceiling of {cell.stand_in}, which is not measured yet: `{ceilings.COMMAND}`."


def scenario(cell: Cell, changes: Mapping[str, Any] | None = None) -> Scenario:
    """Returns the scenario of a cell with some keys changed, and with the end of its runs. Raises
    UsageError if nothing says how the cell is made again, or if a key is unknown."""
    return _scenario(cell, json.dumps(dict(changes or {})))


@functools.cache
def _scenario(cell: Cell, changes: str) -> Scenario:
    found = required_how(cell)
    varied = {key: value for one in found.varied if cell.matches(one.where) for key, value in one.set.items()}
    given = {key: _filled(value, cell) for key, value in (found.set | varied).items()}
    name = found.scenario
    if cell.stand_in:
        name = standing_in(cell).scenarios.get(name, name)
        given |= _instead(cell, _loaded(name, cell, given))
    resolved = _loaded(name, cell, given | json.loads(changes))
    limit = _limit(cell, found.read, resolved.budget.seconds)
    return scenarios.load(resolved, [] if limit is None else [f"budget.seconds={limit!r}"])


def _loaded(name: str, cell: Cell, given: Mapping[str, Any]) -> Scenario:
    return scenarios.load(name.format_map(cell.setting), [f"{key}={json.dumps(value)}" for key, value in given.items()])


def _instead(cell: Cell, own: Scenario) -> dict[str, Any]:
    """Returns the keys that are set otherwise on a stand-in, given the scenario without them. As
    long as the ceiling is not measured, of which the target is made, it is the printed one, and
    nothing is run."""
    found = standing_in(cell)
    given: dict[str, Any] = {} if found.scenarios else {"name": f"{own.name}-on-{found.name}", "about": found.about}
    given |= {key: _filled(value, cell) for key, value in found.set.items()}
    if found.of_ceiling and (ceiling := ceilings.reached(found.name)) is not None:
        values = [ceilings.target(one.value, own.task.model, ceiling.accuracy) for one in own.targets]
        given["targets"] = [{"metric": ACCURACY, "value": value} for value in values]
    return given


def guesses(cell: Cell) -> list[str]:
    """Returns the guesses in a cell's experiment: one sentence for each thing that decides the
    outcome and is not printed."""
    found = how(cell)
    return [one.guess for one in found.varied if one.guess and cell.matches(one.where)] if found is not None else []


def _limit(cell: Cell, read: Read, seconds: float) -> float | None:
    """Returns the virtual seconds after which a run ends at the latest, or None for the scenario's
    own. Where a table counts rounds, a round takes one second."""
    if read == "seconds_to_target":
        return cell.amount if cell.censored else min(seconds, LIMIT * cell.amount)
    if read == "rounds_to_target":
        return cell.amount if cell.censored else max(FEWEST_ROUNDS, LIMIT * cell.amount)
    return None


def variations(cell: Cell) -> list[Variation]:
    """Returns the variations of a cell."""
    return [one for one in table(cell).variations if cell.stand_in == one.stand_in and cell.matches(one.where)]


def spec(cell: Cell, seed: int, variation: Variation | None = None) -> RunSpec:
    """Returns the run of a seed of a cell, or of a variation of it."""
    if variation is not None and variation.algorithm:
        return RunSpec(scenario(cell, variation.set), registry.algorithm(variation.algorithm), seed)
    algorithm = registry.algorithm(selector(cell))
    options = dict(standing_in(cell).options) if cell.stand_in else {}
    options |= {} if variation is None else variation.options
    varied = type(algorithm).make(algorithm.options() | options) if options else algorithm
    return RunSpec(scenario(cell, None if variation is None else variation.set), varied, seed)


def levels(cell: Cell) -> Iterator[tuple[int, Scenario, Scenario]]:
    """Yields the levels at which the utilisation of a cell is searched.

    A level is a percentage of the fast client's steps, from 100 down to 5, with two scenarios. The
    first one finds out whether the target is reached in FEWEST_ROUNDS rounds. The second one
    measures the accuracy at that level.
    """
    full = scenario(cell).local.steps
    if not isinstance(full, ExtremeSteps):
        raise UsageError(f"{cell.name}: utilisation needs local.steps of kind extreme, got {full}")
    for percent in range(100, 0, -5):
        steps = {"kind": "extreme", "low": full.low, "high": max(full.low, full.high * percent // 100)}
        given = {"local.steps": steps}
        search = {**given, **_rounds(FEWEST_ROUNDS), "budget.stop_at_target": True}
        yield percent, scenario(cell, search), scenario(cell, {**given, **_rounds(MEASURED_ROUNDS)})


def _rounds(number: int) -> dict[str, Any]:
    """Returns the budget of a number of rounds, however long full gradients make them."""
    return {"budget.updates": number, "budget.seconds": float(ROUND_SECONDS * number)}


def selector(cell: Cell) -> str:
    """Returns the algorithm with the paper's options, as on the command line."""
    return str(_filled(required_how(cell).algorithms[cell.algorithm], cell))


def required_how(cell: Cell) -> How:
    """Returns how a cell is made again. Raises UsageError, which says why, if it is not."""
    found = how(cell)
    if found is None:
        raise UsageError(f"{cell.name}: it cannot be made again: {table(cell).cannot or 'nothing says how'}")
    return found


def _filled(value: Any, cell: Cell) -> Any:
    """Returns a value in which {name} is replaced by the cell's setting of that name. A text that
    is nothing but {name} becomes the setting itself, whatever its type."""
    if isinstance(value, dict):
        return {key: _filled(one, cell) for key, one in value.items()}
    if not isinstance(value, str):
        return value
    if value.startswith("{") and value.endswith("}") and value[1:-1] in cell.setting:
        return cell.setting[value[1:-1]]
    return value.format_map(cell.setting) if "{" in value else value
