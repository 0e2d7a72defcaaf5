"""Lists the runs that are declared and have no record yet, with their prices and one command each,
and what was left out by its price."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from fedbench.papers import ceilings, experiment
from fedbench.papers.cells import Cell, tables
from fedbench.papers.price import TRAINING_EXAMPLES, price, price_varied, rate
from fedbench.papers.reading import Find, read_varied
from fedbench.papers.runs import absent, is_trained
from fedbench.papers.verdicts import needs


@dataclass(frozen=True)
class Declared:
    """Runs that belong together.

    Attributes:
        name: such as `000:T1 on cifar10-jpeg`, or `000:T1, variation held`.
        cells: the numbers of the table's cells.
        runs: how many runs have no record.
        core_hours: their price in hours of one core of the reference machine.
        shows: what they would show, or why they are left out.
        command: the command that makes them; empty if they are left out.
    """

    name: str
    cells: tuple[int, ...]
    runs: int
    core_hours: float
    shows: str
    command: str

    def as_dict(self) -> dict[str, object]:
        """Returns it as plain data."""
        row = asdict(self)
        return {"declared": row.pop("name"), **row}


def declared(cells: Iterable[Cell], find: Find) -> Iterator[Declared]:
    """Yields what is declared and has no record yet, table by table; the ceilings, which others
    need, first. What needs data that not everybody has is not among it."""
    ways = experiment.ways(cells)
    yield from _ceilings(ways)
    for of, several in tables(ways).items():
        trained = [way for way in several if is_trained(way) and not needs(way)]
        for stand_in in dict.fromkeys(way.stand_in for way in trained):
            mine = [way for way in trained if way.stand_in == stand_in]
            yield from _cells(of, stand_in, mine, find)
            yield from _variations(of, mine, find)


def left_out(cells: Iterable[Cell]) -> Iterator[Declared]:
    """Yields what is not run, by table, stand-in and reason, with the price of one seed of each
    cell."""
    reasons: dict[tuple[str, str, str], list[Cell]] = {}
    for way in experiment.ways(cells):
        if is_trained(way) and not needs(way) and not experiment.declared_seeds(way).last:
            reasons.setdefault((way.of, way.stand_in, experiment.declared_seeds(way).why), []).append(way)
    for (of, stand_in, why), mine in reasons.items():
        hours = math.fsum(price(way).core_hours for way in mine)
        yield Declared(_name(of, stand_in), tuple(way.number for way in mine), len(mine), hours, why, "")


def _ceilings(ways: Sequence[Cell]) -> Iterator[Declared]:
    for name in dict.fromkeys(way.stand_in for way in ways if way.stand_in and experiment.standing_in(way).of_ceiling):
        wanted = [
            one for one in ceilings.load().runs if one.stand_in == name and ceilings.reached(name, one.augmentation) is None
        ]
        if wanted:
            of = [ceilings.specs(one)[0] for one in wanted]
            steps = [ceilings.EPOCHS * TRAINING_EXAMPLES[one.scenario.task.name] / one.scenario.local.batch_size for one in of]
            seconds = [rate(one).core_seconds(round(n), ceilings.EPOCHS) for one, n in zip(of, steps, strict=True)]
            shows = "What central training reaches, of which the targets on the stand-in are made. It comes first."
            hours = ceilings.SEEDS * math.fsum(seconds) / 3600
            yield Declared(f"ceilings of {name}", (), ceilings.SEEDS * len(wanted), hours, shows, ceilings.COMMAND)


def _cells(of: str, stand_in: str, ways: Sequence[Cell], find: Find) -> Iterator[Declared]:
    lacking = {way: seeds for way in ways if (seeds := absent(way, find))}
    if lacking:
        hours = math.fsum(seeds * price(way).core_hours for way, seeds in lacking.items())
        numbers = tuple(way.number for way in lacking)
        shows = experiment.standing_in(ways[0]).about if stand_in else "More seeds, and cells that were left out before."
        command = f"fedbench reproduce {of} --cells {spans(numbers)} --on {stand_in or experiment.PAPER}"
        yield Declared(_name(of, stand_in), numbers, sum(lacking.values()), hours, shows, command)


def _variations(of: str, ways: Sequence[Cell], find: Find) -> Iterator[Declared]:
    names = dict.fromkeys(one.name for way in ways for one in experiment.variations(way))
    for name in names:
        lacking: dict[Cell, int] = {}
        hours, shows = 0.0, ""
        for way in ways:
            for one in experiment.variations(way):
                seeds = sum(each.reading is None for each in read_varied(way, one, find)) if one.name == name else 0
                if seeds:
                    lacking[way], shows = seeds, one.shows or one.about
                    hours += seeds * price_varied(way, one).core_hours
        if lacking:
            command = f"fedbench reproduce {of} --variation {name}"
            numbers = tuple(way.number for way in lacking)
            yield Declared(f"{of}, variation {name}", numbers, sum(lacking.values()), hours, shows, command)


def _name(of: str, stand_in: str) -> str:
    return f"{of} on {stand_in}" if stand_in else of


def spans(numbers: Sequence[int]) -> str:
    """Returns the numbers of cells as on the command line, such as `1-3,7`."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(f"{begin}" if begin == end else f"{begin}-{end}" for begin, end in found)
