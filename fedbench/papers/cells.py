"""Reads the numeric cells of the papers' tables, and finds those that a command line names.

cells.jsonl has one cell a line, in the order in which the papers print them. Curves and heat maps
are pictures, so they are not among the cells.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fedbench import written
from fedbench.errors import UsageError, nearest

FILE = Path(__file__).with_name("cells.jsonl")
PAPERS: Mapping[str, str] = MappingProxyType(
    {"000": "wang2024defedavg", "001": "wu2021", "002": "toghani2022", "004": "wang2025"}
)
"""The papers' numbers with their keys in the bibliography. An address may have either."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One printed number. `cells` makes each cell once, so cells are compared by identity.

    Attributes:
        paper: the paper's number, a key of PAPERS.
        table: the table's name in the paper, such as `T1`.
        number: the cell's place among the cells of the table, from 1.
        setting: what the paper says of the experiment, by name.
        metric: the kind of the number.
        value: the number; a text for a rate of convergence; None where it is lost in our copy of
            the paper.
        algorithm: the algorithm's name in the paper; empty where the number belongs to none.
        std: the printed standard deviation, None if there is none.
        censored: whether the number is printed as a bound, such as `>880`.
        printed: how the number is printed, where that says more than the number.
        note: what a reader has to know of the print.
        damaged: why the number cannot be trusted in our copy of the paper; empty if it can.
        stand_in: what stands in for the paper's data or network, by its name in the experiments;
            empty for the paper's own.
    """

    paper: str
    table: str
    number: int
    setting: Mapping[str, Any]
    metric: str
    value: float | str | None
    algorithm: str = ""
    std: float | None = None
    censored: bool = False
    printed: str = ""
    note: str = ""
    damaged: str = ""
    stand_in: str = ""

    @functools.cached_property
    def known(self) -> dict[str, Any]:
        """The setting, with algorithm and metric as two more keys."""
        return {**self.setting, "algorithm": self.algorithm, "metric": self.metric}

    @property
    def name(self) -> str:
        """The cell's address, such as `000:T1:7`."""
        return f"{self.paper}:{self.table}:{self.number}"

    @property
    def of(self) -> str:
        """The table's address, such as `000:T1`."""
        return f"{self.paper}:{self.table}"

    @property
    def is_accuracy(self) -> bool:
        """Whether the number is an accuracy in percent."""
        return "acc" in self.metric.split("_")

    @property
    def amount(self) -> float:
        """The printed number. Raises ValueError where there is none."""
        if self.value is None or isinstance(self.value, str):
            raise ValueError(f"{self.name}: expected a number, the cell has {self.value!r}")
        return float(self.value)

    @property
    def text(self) -> str:
        """The value as it is printed, or `lost` where our copy of the paper has lost it."""
        if self.printed or self.value is None:
            return self.printed or "lost"
        if isinstance(self.value, str):
            return self.value
        text = written.exact(self.value)
        return text if self.std is None else written.plus_minus(text, f"{self.std:g}")

    def matches(self, where: Mapping[str, Any]) -> bool:
        """Returns whether the cell has these values. A list stands for any of its members."""
        return all(self.known.get(key) in (value if isinstance(value, list) else [value]) for key, value in where.items())


@functools.cache
def cells() -> tuple[Cell, ...]:
    """Returns all cells of all papers, in the order in which they are printed."""
    counts: dict[tuple[str, str], int] = {}
    found = []
    for line in FILE.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        place = (row["paper"], row["table"])
        counts[place] = counts.get(place, 0) + 1
        found.append(Cell(number=counts[place], **row))
    return tuple(found)


def tables(of: Iterable[Cell] | None = None) -> dict[str, list[Cell]]:
    """Returns cells, by default all, by the addresses of their tables. They keep their order."""
    found: dict[str, list[Cell]] = {}
    for cell in cells() if of is None else of:
        found.setdefault(cell.of, []).append(cell)
    return found


def chosen(address: str | None = None, numbers: str | None = None) -> list[Cell]:
    """Returns the cells of an address, or all cells if there is no address.

    Args:
        address: `PAPER` or `PAPER:TABLE`. A paper is given by its number or its key in the
            bibliography.
        numbers: cells of the table, such as `1,3-5`.

    Raises:
        UsageError: there is no such paper, table or cell.
    """
    if address is None:
        if numbers is not None:
            raise UsageError(f"--cells {numbers}: expected PAPER:TABLE before it, such as 001:T1")
        return list(cells())
    paper, colon, table = address.partition(":")
    by_key = {key: number for number, key in PAPERS.items()}
    number = by_key.get(paper, paper)
    if number not in PAPERS:
        raise UsageError(f"unknown paper {paper!r}{nearest(paper, [*PAPERS, *by_key])}; known: {', '.join(PAPERS)}")
    found = [cell for cell in cells() if cell.paper == number]
    if colon:
        names = list(dict.fromkeys(cell.table for cell in found))
        found = [cell for cell in found if cell.table == table]
        if not found:
            raise UsageError(f"unknown table {table!r} of paper {paper}{nearest(table, names)}; known: {', '.join(names)}")
    if numbers is None:
        return found
    if not colon:
        raise UsageError(f"--cells {numbers}: expected a table after {paper!r}, such as {paper}:T1")
    wanted = _numbers(numbers, len(found))
    return [cell for cell in found if cell.number in wanted]


def _numbers(text: str, last: int) -> set[int]:
    """Returns the numbers that a text such as `1,3-5` lists. Raises UsageError for another kind of
    text, and for a number that is not from 1 to `last`."""
    wanted: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,4})(?:-(\d{1,4}))?\s*", part)
        if match is None:
            raise UsageError(f"--cells {text!r}: expected numbers and ranges such as 1,3-5, got {part.strip()!r}")
        begin, end = int(match[1]), int(match[2] or match[1])
        if not 1 <= begin <= end <= last:
            raise UsageError(f"--cells {text!r}: expected cells 1 to {last}, got {part.strip()!r}")
        wanted |= set(range(begin, end + 1))
    return wanted
