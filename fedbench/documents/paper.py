"""The document of a paper: its tables with verdicts, orders and variations, what its theorems give,
and where its equations are in the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from fedbench.analysis.pictures.agreement import Agreement
from fedbench.analysis.pictures.learning_curves import LearningCurves
from fedbench.documents.parts import Amount, Count, Few, Link, Many, Number, Part, Several, Slug, Text, Word

Verdict = Literal[
    "reproduced",
    "close",
    "not decided",
    "contradicted",
    "agrees",
    "differs",
    "consistent with the bound",
    "not run",
    "not comparable",
]
Kept = Literal["kept", "broken", "undecided", "kept twice", "broken twice", "kept once", "broken once"]
Outcome = Literal["as declared", "not as declared", "not known yet"]
"""What became of a variation."""
Kind = Literal["runs", "configuration", "theory"]
"""What the numbers of a table are. Kinds are never counted together."""
KINDS: Mapping[Kind, str] = {"runs": "Measured results", "configuration": "Constants", "theory": "Rates of convergence"}
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
ORDERS: tuple[Kept, ...] = get_args(Kept)


def said(order: Kept, substitute: str) -> str:
    """Returns an order in words, which say it if the order is read off something that stands in."""
    return f"substitute: order {order}" if substitute else order


def each_seed(ours: str, given: Sequence[str]) -> str:
    """Returns what each seed gave, or how many gave the same word as `ours`. Empty for less than
    two seeds."""
    if len(given) < 2:
        return ""
    return f"all {len(given)} seeds" if set(given) == {ours} and ours.isalpha() else ", ".join(given)


def with_seeds(ours: str, given: Sequence[str]) -> str:
    """Returns our number, and behind it what each seed gave."""
    return f"{ours} ({each})" if (each := each_seed(ours, given)) else ours


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,60}$")]
"""A part of an address on the page."""
Ordinal = Annotated[Count, Field(ge=1)]
MOST_POINTS = 10_000  # of a line


class Cell(Part):
    """A printed number, its setting in the columns of its table, and the verdict on it. `on` names
    what stands in where `ours` is of that."""

    number: Ordinal
    setting: Several[Text]
    printed: Text
    ours: Text
    on: Text = ""
    seeds: Several[Text]
    verdict: Verdict
    why: Text
    guesses: Several[Text]
    substitute: Text
    note: Text
    command: Text
    hours: Amount | None
    steps: Count | None


class Order(Part):
    """A printed order of two numbers, and whether ours have it."""

    where: Text
    printed: Text
    order: Kept
    seeds: Count
    substitute: Text

    @property
    def on(self) -> str:
        """What the runs used: the first sentence of what stands in."""
        return self.substitute.partition(". ")[0].rstrip(".") or "what the paper used"


class Varied(Part):
    """What the seeds of a cell give in a variation. `ours` is what they give without it, where it
    is on another data set than the cell's number."""

    number: Ordinal
    printed: Text
    ours: Text | None = None
    seeds: Several[Text]


class Variation(Part):
    """Something that is set otherwise, what that was to show, as it was declared before the runs,
    and the cells for which it is. `outcome` is None where no ratio of ours to the printed number
    was declared."""

    name: Name
    about: Text
    shows: Text = ""
    outcome: Outcome | None = None
    set: Several[Text]
    cells: Many[Varied]


class Picture(Part):
    """A table's printed numbers against ours. `file` is the picture on the page in Markdown."""

    about: Text
    file: Word
    data: Agreement

    @model_validator(mode="after")
    def _is_bounded(self) -> Self:
        if not 0 < len(self.data.points) <= 1000 or len(self.data.panels) > 20:
            raise ValueError("expected 1 to 1,000 points, and at most 20 panels")
        return self


FEW_BARE = 8
"""The most cells without a number of ours that a page shows among the others."""


class Table(Part):
    """A table. `spent` are the hours of two cores that its committed runs took. `picture` is None
    where no number was measured that belongs on scales."""

    name: Name
    address: Word
    about: Text
    kind: Kind
    command: Text
    counts: dict[Verdict, Count]
    runs: Count
    spent: Amount
    columns: Few[Text]
    cells: Annotated[Many[Cell], Field(min_length=1)]
    orders: Annotated[tuple[Order, ...], Field(max_length=100_000, strict=False)]
    variations: Few[Variation]
    explained: Several[Text]
    picture: Picture | None = None

    @model_validator(mode="after")
    def _fits_itself(self) -> Self:
        numbers = [cell.number for cell in self.cells]
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"table {self.name:.60}: a cell is there twice")
        if any(len(cell.setting) != len(self.columns) for cell in self.cells):
            raise ValueError(f"table {self.name:.60}: expected a setting for each of {len(self.columns)} columns")
        if not {cell.number for one in self.variations for cell in one.cells} <= set(numbers):
            raise ValueError(f"table {self.name:.60}: a variation is of a cell that the table does not have")
        return self

    @property
    def bare(self) -> list[Cell]:
        """The cells that are not run and have nothing of ours, which a page folds. None if they are
        few."""
        found = [cell for cell in self.cells if cell.verdict == "not run" and not cell.ours]
        return found if len(found) > FEW_BARE else []

    @property
    def shown(self) -> list[Cell]:
        """The other cells."""
        folded = {cell.number for cell in self.bare}
        return [cell for cell in self.cells if cell.number not in folded]


class Theory(Part):
    """A line of `fedbench theory`: a measured value beside the one that a theorem says."""

    claim: Word
    source: Text
    check: Text
    kind: Literal["bound", "exact", "slope", "value"]
    measured: Number
    expected: Number
    allowed: Number
    low: Number | None
    high: Number | None
    sign: Literal[-1, 1]
    shares: Annotated[dict[Word, Number], Field(max_length=100)]
    holds: bool

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of what is measured; None without one, as without chance."""
        return None if self.low is None or self.high is None or self.low == self.high else (self.low, self.high)


class Figure(Part):
    """A figure. `file` is its picture on the page in Markdown; a site draws the figure from
    `data`."""

    name: Text
    about: Text
    file: Word
    data: LearningCurves

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        found = self.data
        if found.metric != "test_accuracy" or max(len(found.lines), len(found.targets)) > 100:
            raise ValueError("expected test_accuracy, and at most 100 lines and targets")
        for line in found.lines:
            if not len(line.at) == len(line.middle) == len(line.low) == len(line.high) <= MOST_POINTS or line.band == "quartiles":
                raise ValueError(f"a line: expected a mean, and as many values as places, at most {MOST_POINTS:,}")
        return self


class Aligned(Part):
    """A place of a paper, with the lines of a file that do it or the reason why no code does."""

    place: Text
    says: Text
    file: Text = ""
    first: Count = 0
    last: Count = 0
    holds: Text = ""
    not_code: Text = ""

    @model_validator(mode="after")
    def _is_code_or_not(self) -> Self:
        has_some = bool(self.file or self.holds or self.first or self.last)
        has_all = bool(self.file and self.holds and self.first)
        if has_some != has_all or has_all == bool(self.not_code) or self.last < self.first:
            raise ValueError(f"place {self.place:.60}: expected file, first, last and holds, or not_code alone")
        return self


class Erratum(Part):
    """A mistake in a paper: what it prints, what is meant, and why. `where_we_follow` is the file
    that does what is meant, or empty."""

    place: Text
    printed: Text
    meant: Text
    why: Text
    where_we_follow: Text = ""


class Unprinted(Part):
    """Something that a paper leaves open, what fedbench has taken for it, and why."""

    what: Text
    taken: Text
    why: Text


class Paper(Part):
    """The document. `said` is what comes out of the paper's tables, what does not, and what
    explains it. `alignment`, `errata` and `unprinted` are empty where there is no C++ to quote,
    as in an installed package."""

    number: Word
    key: Slug
    cited: Text
    title: Text
    venue: Text
    link: Link
    claim: Text
    said: Text = ""
    rules: Ordinal
    counts: dict[Kind, dict[Verdict, Count]]
    stand_ins: Count
    orders: dict[Kept, Count]
    stand_in_orders: dict[Kept, Count]
    tables: Annotated[Few[Table], Field(min_length=1)]
    theory: Several[Theory]
    figures: Few[Figure] = ()
    alignment: Several[Aligned] = ()
    errata: Several[Erratum] = ()
    unprinted: Several[Unprinted] = ()

    @model_validator(mode="after")
    def _names_are_apart(self) -> Self:
        names = [table.name.lower() for table in self.tables]
        if len(set(names)) < len(names):
            raise ValueError("a table is there twice")
        return self
