"""Derives the verdict on every cell from committed records and from the code, by the rules. Also
finds the orders of a table's numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from fedbench.documents.paper import Kept, said
from fedbench.documents.paper import Verdict as Word
from fedbench.papers import experiment, facts, orders_of_convergence
from fedbench.papers.cells import Cell
from fedbench.papers.judging import Printed, Reading, interval_of, judge, order
from fedbench.papers.price import Price, price
from fedbench.papers.reading import Find, decisive, step
from fedbench.papers.runs import is_trained
from fedbench.written import exact

NEEDS = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "stl10": "STL-10"}
"""Names of the data sets that not every machine can have."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a cell, with all that is said beside it.

    Attributes:
        cell: the printed number.
        word: the verdict.
        why: the reason, in full sentences.
        readings: our number by seed; empty where nothing was measured. If there is a substitute,
            they are those of the substitute.
        mean: the mean over the seeds. A miss counts with the place where the run ended.
        half_width: that of the 95 % interval; None where there is none, or no upper end.
        guesses: one sentence for each thing that decides the outcome and is not printed.
        substitute: what stands in for something that the paper used; empty if nothing does.
        ours: where a number of the code is from, or how an order was measured.
        run_ids: those of the records that the number was read off, sorted.
        command: the command that makes the number again; empty where none does.
        seeds: how many seeds the verdict rests on.
        stood_in: what was measured on everything that stands in, in the order of the experiments.
    """

    cell: Cell
    word: Word
    why: str
    readings: Mapping[int, Reading]
    mean: float | None = None
    half_width: float | None = None
    guesses: tuple[str, ...] = ()
    substitute: str = ""
    ours: str = ""
    run_ids: tuple[str, ...] = ()
    command: str = ""
    seeds: int = 0
    stood_in: tuple[Verdict, ...] = ()

    @property
    def price(self) -> Price | None:
        """The price of one seed. None where nothing is trained, or where nothing says how."""
        return price(self.cell) if is_trained(self.cell) else None

    @property
    def hours(self) -> float | None:
        """The hours of two cores for all seeds, or for one seed if the cell is not run. None where
        there is no price."""
        return None if self.price is None else self.price.core_hours / 2 * max(1, self.seeds)

    def as_dict(self) -> dict[str, object]:
        """Returns the verdict as plain data, with numbers that are not rounded."""
        return {
            "cell": self.cell.name,
            "verdict": self.word,
            "why": self.why,
            "readings": {str(seed): asdict(one) for seed, one in self.readings.items()},
            "mean": self.mean,
            "half_width": self.half_width,
            "guesses": list(self.guesses),
            "substitute": self.substitute,
            "ours": self.ours,
            "run_ids": list(self.run_ids),
            "command": self.command,
            "price": None if self.price is None else {"steps": self.price.steps, "core_seconds": self.price.core_seconds},
            "seeds": self.seeds,
            "stand_ins": {
                one.cell.stand_in: {
                    "readings": {str(seed): asdict(each) for seed, each in one.readings.items()},
                    "mean": one.mean,
                }
                for one in self.stood_in
            },
        }


def verdict(cell: Cell, find: Find, claims: orders_of_convergence.Claims) -> Verdict:
    """Returns the verdict on a cell.

    Args:
        cell: the printed number.
        find: finds a committed record.
        claims: the committed lines of `fedbench theory`, by claim.
    """
    kind = experiment.table(cell).kind
    if kind == "configuration":
        return _of_configuration(cell)
    if kind == "theory":
        word, why, ours = orders_of_convergence.judged(cell, claims)
        return Verdict(cell, word, why, {}, ours=ours, command=_command(cell))
    return _of_runs(cell, find)


def _command(cell: Cell) -> str:
    return f"fedbench reproduce {cell.of} --cells {cell.number}"


def _of_configuration(cell: Cell) -> Verdict:
    if cell.value is None:
        return Verdict(cell, "not comparable", "The number is lost in our copy of the paper.", {})
    number, where = facts.ours(cell)
    agrees = number == cell.amount
    why = f"The code has {exact(number)}." if agrees else f"The code has {exact(number)}, which is not what is printed."
    return Verdict(cell, "agrees" if agrees else "differs", why, {}, mean=number, ours=where, command=_command(cell))


def _of_runs(cell: Cell, find: Find) -> Verdict:
    table, how = experiment.table(cell), experiment.how(cell)
    if how is None:
        return Verdict(cell, "not run", table.cannot or experiment.seeds(cell).why, {})
    known = _measured(cell, find)
    stood_in = tuple(one for way in experiment.stand_ins(cell) if (one := _measured(way, find)).readings)
    if known.readings:
        known = replace(known, stood_in=stood_in)
        if cell.damaged or how.incomparable:
            return replace(known, word="not comparable", why=cell.damaged or how.incomparable)
        judged = judge(_printed(cell), list(known.readings.values()))
        return replace(known, word=judged.word, why=judged.why)
    why = (needs(cell) if known.seeds and not known.run_ids else "") or known.why
    if stood_in:
        first, why = stood_in[0], f"{why} Orders are read off a substitute.".strip()
        return replace(first, cell=cell, why=why, guesses=known.guesses, seeds=known.seeds, stood_in=stood_in)
    return replace(known, why=why)


def _measured(cell: Cell, find: Find) -> Verdict:
    """Returns what was measured of a cell or of what stands in for it, and why nothing was. It is
    no verdict yet."""
    seeds, found = experiment.seeds(cell), decisive(cell, find)
    readings = {one.seed: one.reading for one in found if one.reading is not None}
    known = Verdict(
        cell,
        "not run",
        seeds.why,
        {},
        guesses=tuple(experiment.guesses(cell)),
        substitute=experiment.standing_in(cell).about if cell.stand_in else "",
        run_ids=tuple(sorted({record.run_id for one in found for record in one.used})),
        command=_command(cell),
        seeds=len(found),
    )
    if not found:
        return known
    if len(readings) < len(found):
        why = f"{len(readings)} of {len(found)} seeds have a record." if readings else "Its runs have not been made yet."
        return replace(known, why=why)
    interval = interval_of(list(readings.values()), step(cell))
    return replace(known, readings=readings, mean=interval.mean, half_width=interval.half_width)


def _printed(cell: Cell) -> Printed:
    return Printed(cell.amount, cell.is_accuracy, cell.censored, bool(experiment.guesses(cell)), step(cell))


def needs(cell: Cell) -> str:
    """Returns a sentence about the data or the GPU that a cell's runs need; empty if every machine
    has them."""
    data = experiment.data_of(cell)
    wanted = [text for name, text in NEEDS.items() if name in data] or ["a GPU"] * experiment.wants_card(cell)
    return f"It needs {' and '.join(wanted)}." if wanted else ""


@dataclass(frozen=True)
class Ordered:
    """Two numbers of a table that differ in one thing, and whether ours are in their printed order.

    Attributes:
        first: the cell of the first number.
        second: the cell of the second number.
        differs_in: the key in which they differ.
        order: whether our numbers are in the printed order.
        seeds: how many seeds both have.
        substitute: what stands in for something that the paper used.
    """

    first: Cell
    second: Cell
    differs_in: str
    order: Kept
    seeds: int
    substitute: str

    @property
    def word(self) -> str:
        """The order in words, such as `substitute: order kept` for one that is read off what stands
        in."""
        return said(self.order, self.substitute)

    @property
    def text(self) -> str:
        """The printed order, such as `FedAvg < FedBuff`."""
        sign = "<" if self.first.amount < self.second.amount else ">"
        names = (str(cell.known[self.differs_in]) for cell in (self.first, self.second))
        return f" {sign} ".join(names)

    def as_dict(self) -> dict[str, object]:
        return {
            "first": self.first.name,
            "second": self.second.name,
            "printed": self.text,
            "order": self.order,
            "word": self.word,
            "seeds": self.seeds,
            "substitute": self.substitute,
            "stand_in": self.first.stand_in,
        }


def orders(verdicts: Sequence[Verdict]) -> Iterator[Ordered]:
    """Yields the orders of all pairs of numbers that can be compared.

    Both numbers of a pair were measured, belong to one table and have a printed order. They differ
    in the key of the table's `orders`, and otherwise only in keys of `apart_from`.
    """
    own = [one for one in verdicts if one.readings and not one.substitute]
    for a, b in itertools.combinations([*own, *(other for one in verdicts for other in one.stood_in)], 2):
        table = experiment.table(a.cell)
        if (a.cell.of, a.cell.stand_in) != (b.cell.of, b.cell.stand_in) or not table.orders or not _has_order(a.cell, b.cell):
            continue
        keys = (a.cell.known.keys() | b.cell.known.keys()) - {table.orders, *table.apart_from}
        if a.cell.known[table.orders] == b.cell.known[table.orders] or any(
            a.cell.known.get(k) != b.cell.known.get(k) for k in keys
        ):
            continue
        printed = -1 if a.cell.amount < b.cell.amount else 1
        common = len(a.readings.keys() & b.readings.keys())
        found = order(printed, a.readings, b.readings, accuracy=a.cell.is_accuracy)
        yield Ordered(a.cell, b.cell, table.orders, found, common, a.substitute)


def _has_order(a: Cell, b: Cell) -> bool:
    """Returns whether two cells have a printed order: the numbers differ, not both are bounds, and
    none is damaged."""
    return a.amount != b.amount and not (a.censored and b.censored) and not (a.damaged or b.damaged)


def all_verdicts(cells: Iterable[Cell], find: Find, claims: orders_of_convergence.Claims) -> list[Verdict]:
    """Returns the verdicts on some cells, in the order of the cells."""
    return [verdict(cell, find, claims) for cell in cells]
