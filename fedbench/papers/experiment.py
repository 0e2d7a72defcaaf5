"""From a cell to the runs that make its number again, as data: scenario, selector with the paper's
options, seeds, and what is read off."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from fedbench import plain_files, registry
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.papers.cells import PAPERS, Cell
from fedbench.papers.rules import FEWEST_ROUNDS, LIMIT
from fedbench.scenarios import load as scenarios
from fedbench.scenarios.base import Integer, Part
from fedbench.scenarios.local_parts import ExtremeSteps
from fedbench.scenarios.problems import validated
from fedbench.scenarios.schema import Scenario

MEASURED_ROUNDS = 100
"""After as many rounds the accuracy of a cell of utilisation is read."""
ROUND_SECONDS = 20
"""More than a round of a cell of utilisation takes; it takes a second, and full gradients beside it
take theirs."""

FOLDER = Path(__file__).with_name("experiments")
Text = Annotated[str, Field(max_length=10_000)]
Read = Literal["seconds_to_target", "rounds_to_target", "last_ten_accuracy", "utilisation"]


class Varied(Part):
    """What else is set for the cells that match `where`, and what is guessed there: what decides
    the outcome and is not printed."""

    where: dict[str, Any]
    set: dict[str, Any] = Field(default={})
    guess: Text = ""


class How(Part):
    """How the cells that match `where` are made again.

    `set`, also that of all entries of `varied` that match, and the selectors of `algorithms` may
    hold {name} of the cell's setting. `substitute`: what stands in for what the paper used; then
    nothing but orders is read off, and `instead_of` is the paper's own scenario. `incomparable`:
    why numbers are not compared.
    """

    where: dict[str, Any] = Field(default={})
    scenario: str
    set: dict[str, Any] = Field(default={})
    varied: tuple[Varied, ...] = ()
    algorithms: dict[str, str]
    read: Read
    substitute: Text = ""
    instead_of: str = ""
    incomparable: Text = ""


class Seeds(Part):
    """How many seeds the cells that match `where` are run with; none, and why."""

    where: dict[str, Any] = Field(default={})
    seeds: Annotated[Integer, Field(ge=0, le=100)]
    why: Text = ""


class Variation(Part):
    """One thing that is set otherwise for the cells that match `where`, to find out what moves
    their numbers: keys of the scenario, or options of the algorithm. What it gives explains a
    verdict and changes none."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")]
    about: Text
    where: dict[str, Any] = Field(default={})
    set: dict[str, Any] = Field(default={})
    options: dict[str, Any] = Field(default={})
    seeds: Annotated[Integer, Field(ge=1, le=100)] = 1


class Table(Part):
    """What is done about a table.

    kind: its numbers are measured by runs, are facts of configuration, or are orders of
    convergence. `orders`: the key of the setting in which two cells differ whose order is looked
    at; `apart_from`: keys that may differ as well. `cannot`: why its cells cannot be made again.
    `explained`: what the variations say about what is contradicted, sentence by sentence.
    """

    about: Text
    kind: Literal["runs", "configuration", "theory"]
    orders: str = ""
    apart_from: tuple[str, ...] = ()
    how: tuple[How, ...] = ()
    seeds: tuple[Seeds, ...] = ()
    cannot: Text = ""
    variations: tuple[Variation, ...] = ()
    explained: tuple[Text, ...] = ()


class Figure(Part):
    """Learning curves of the cells of a table that match `where`, a line an algorithm. `name`: what
    the paper calls its own figure."""

    name: Annotated[str, Field(max_length=100)]
    table: str
    where: dict[str, Any]


class Experiments(Part):
    """What is done about the tables of a paper, and which of its figures stand beside them."""

    schema_version: Literal[1] = Field(alias="schema")
    tables: dict[str, Table]
    figures: tuple[Figure, ...] = ()


@functools.cache
def experiments(paper: str) -> Experiments:
    """Returns what is done about a paper, by its number. UsageError if the file is none such."""
    file = FOLDER / f"{PAPERS[paper]}.yaml"
    return validated(Experiments, plain_files.mapping(file, "experiments"), file.name)


def table(cell: Cell) -> Table:
    """Returns what is done about the table of a cell."""
    return experiments(cell.paper).tables[cell.table]


def how(cell: Cell) -> How | None:
    """Returns how a cell is made again: the first entry that matches and has the algorithm; None if
    none does."""
    fits = (one for one in table(cell).how if cell.algorithm in one.algorithms and cell.matches(one.where))
    return next(fits, None)


def seeds(cell: Cell) -> Seeds:
    """Returns with how many seeds a cell is run: the first entry that matches. UsageError if none
    does."""
    found = next((one for one in table(cell).seeds if cell.matches(one.where)), None)
    if found is None:
        raise UsageError(f"experiments of {cell.of}: no entry of seeds matches cell {cell.number}")
    return found


def scenario(cell: Cell, changes: Mapping[str, Any] | None = None) -> Scenario:
    """Returns the scenario of a cell, with the end of its runs. UsageError if nothing says how it
    is made again, or a key is unknown."""
    return _scenario(cell, json.dumps(dict(changes or {})))


@functools.cache
def _scenario(cell: Cell, changes: str) -> Scenario:
    found = required_how(cell)
    given = {key: _filled(value, cell) for key, value in (found.set | _varied(found, cell)).items()} | json.loads(changes)
    overrides = [f"{key}={json.dumps(value)}" for key, value in given.items()]
    resolved = scenarios.load(found.scenario.format_map(cell.setting), overrides)
    limit = _limit(cell, found.read, resolved.budget.seconds)
    return scenarios.load(resolved, [] if limit is None else [f"budget.seconds={limit!r}"])


def _varied(found: How, cell: Cell) -> dict[str, Any]:
    return {key: value for one in found.varied if cell.matches(one.where) for key, value in one.set.items()}


def guesses(cell: Cell) -> list[str]:
    """Returns what decides the outcome of a cell's experiment and is not printed, a sentence
    each."""
    found = how(cell)
    return [one.guess for one in found.varied if one.guess and cell.matches(one.where)] if found is not None else []


def _limit(cell: Cell, read: Read, seconds: float) -> float | None:
    """Virtual seconds after which a run ends at the latest; None: those of the scenario. A round of
    a table of rounds takes a second."""
    if read == "seconds_to_target":
        return cell.amount if cell.censored else min(seconds, LIMIT * cell.amount)
    if read == "rounds_to_target":
        return cell.amount if cell.censored else max(FEWEST_ROUNDS, LIMIT * cell.amount)
    return None


def variations(cell: Cell) -> list[Variation]:
    """Returns what is varied of a cell."""
    return [one for one in table(cell).variations if cell.matches(one.where)]


def spec(cell: Cell, seed: int, variation: Variation | None = None) -> RunSpec:
    """Returns the run of a seed of a cell, or of a variation of it."""
    algorithm = registry.algorithm(selector(cell))
    if variation is None:
        return RunSpec(scenario(cell), algorithm, seed)
    varied = type(algorithm).make(algorithm.options() | variation.options)
    return RunSpec(scenario(cell, variation.set), varied, seed)


def levels(cell: Cell) -> Iterator[tuple[int, Scenario, Scenario]]:
    """Yields, for a cell of utilisation, the percentages of the fast client's steps from the
    largest down, each with the scenario that asks whether the target is reached in FEWEST_ROUNDS
    rounds, and with the one that measures it."""
    full = scenario(cell).local.steps
    if not isinstance(full, ExtremeSteps):
        raise UsageError(f"{cell.name}: utilisation needs local.steps of kind extreme, got {full}")
    for percent in range(100, 0, -5):
        steps = {"kind": "extreme", "low": full.low, "high": max(full.low, full.high * percent // 100)}
        given = {"local.steps": steps}
        search = {**given, **_rounds(FEWEST_ROUNDS), "budget.stop_at_target": True}
        yield percent, scenario(cell, search), scenario(cell, {**given, **_rounds(MEASURED_ROUNDS)})


def _rounds(number: int) -> dict[str, Any]:
    """So many rounds, however long full gradients make them."""
    return {"budget.updates": number, "budget.seconds": float(ROUND_SECONDS * number)}


def selector(cell: Cell) -> str:
    """Returns the algorithm with the paper's options, as on the command line."""
    return str(_filled(required_how(cell).algorithms[cell.algorithm], cell))


def required_how(cell: Cell) -> How:
    """Returns how a cell is made again. UsageError, with the reason, if it is not."""
    found = how(cell)
    if found is None:
        raise UsageError(f"{cell.name}: it cannot be made again: {table(cell).cannot or 'nothing says how'}")
    return found


def _filled(value: Any, cell: Cell) -> Any:
    """The value with the cell's setting in it. A text that is one name alone becomes the value
    itself."""
    if isinstance(value, dict):
        return {key: _filled(one, cell) for key, one in value.items()}
    if not isinstance(value, str):
        return value
    if value.startswith("{") and value.endswith("}") and value[1:-1] in cell.setting:
        return cell.setting[value[1:-1]]
    return value.format_map(cell.setting) if "{" in value else value
