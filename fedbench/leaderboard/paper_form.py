"""The form of a paper's document, for data that anybody may have written. Other keys are refused,
and so are missing ones."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fedbench.leaderboard.section_form import Count, Number, Points, Slug, Text, Word
from fedbench.leaderboard.verdicts import Kind, Order, Verdict

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,60}$")]
"""A part of an address on the page."""
Link = Annotated[str, Field(pattern=r"^(https://[^\s\"'<>]+)?$", max_length=1000)]
Texts = Annotated[list[Text], Field(max_length=1000)]


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Cell(Strict):
    number: Annotated[Count, Field(ge=1)]
    setting: Texts
    printed: Text
    ours: Text
    seeds: Texts
    verdict: Verdict
    why: Text
    guesses: Texts
    substitute: Text
    note: Text
    command: Text
    hours: Annotated[Number, Field(ge=0)] | None
    steps: Count | None


class _Order(Strict):
    where: Text
    printed: Text
    order: Order
    seeds: Count
    substitute: Text


class _Varied(Strict):
    number: Annotated[Count, Field(ge=1)]
    printed: Text
    seeds: Texts


class _Variation(Strict):
    name: Name
    about: Text
    set: Texts
    cells: Annotated[list[_Varied], Field(max_length=10_000)]


class _Table(Strict):
    name: Name
    address: Word
    about: Text
    kind: Kind
    command: Text
    counts: Annotated[dict[Verdict, Count], Field(max_length=10)]
    runs: Count
    spent: Annotated[Number, Field(ge=0)]
    columns: Annotated[list[Text], Field(max_length=100)]
    cells: Annotated[list[_Cell], Field(min_length=1, max_length=10_000)]
    orders: Annotated[list[_Order], Field(max_length=100_000)]
    variations: Annotated[list[_Variation], Field(max_length=100)]
    explained: Texts

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


class _Theory(Strict):
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


class _Line(Strict):
    row: Text
    at: Points
    middle: Points
    low: Points
    high: Points
    band: Literal["t", "range", "none"]
    seeds: Count
    unfinished: Count
    hits: Annotated[list[Count], Field(max_length=100)]

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if not len(self.at) == len(self.middle) == len(self.low) == len(self.high):
            raise ValueError("a line: expected as many values as places")
        return self


class _Lines(Strict):
    axis: Word
    axis_title: Word
    unit: Word
    metric: Literal["test_accuracy"]
    targets: Annotated[list[Number], Field(max_length=100)]
    lines: Annotated[list[_Line], Field(max_length=100)]


class _Curves(Strict):
    """A figure. `file` is its picture on the page in Markdown; a site draws the figure from
    `data`."""

    name: Text
    about: Text
    file: Word
    data: _Lines


class _Aligned(Strict):
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


class _Erratum(Strict):
    place: Text
    printed: Text
    meant: Text
    why: Text
    file: Text = ""


class _Unprinted(Strict):
    what: Text
    taken: Text
    why: Text


class PaperForm(Strict):
    """The document of a paper. `curves`, `alignment`, `errata` and `unprinted` may be left out,
    since an installed package has no C++ to quote."""

    number: Word
    key: Slug
    cited: Text
    title: Text
    venue: Text
    link: Link
    claim: Text
    rules: Annotated[Count, Field(ge=1)]
    counts: Annotated[dict[Kind, Annotated[dict[Verdict, Count], Field(max_length=10)]], Field(max_length=3)]
    stand_ins: Count
    orders: Annotated[dict[Order, Count], Field(max_length=10)]
    stand_in_orders: Annotated[dict[Order, Count], Field(max_length=10)]
    tables: Annotated[list[_Table], Field(min_length=1, max_length=100)]
    theory: Annotated[list[_Theory], Field(max_length=1000)]
    curves: Annotated[list[_Curves], Field(max_length=100)] = []
    alignment: Annotated[list[_Aligned], Field(max_length=1000)] = []
    errata: Annotated[list[_Erratum], Field(max_length=1000)] = []
    unprinted: Annotated[list[_Unprinted], Field(max_length=1000)] = []

    @model_validator(mode="after")
    def _names_are_apart(self) -> Self:
        names = [table.name.lower() for table in self.tables]
        if len(set(names)) < len(names):
            raise ValueError("a table is there twice")
        return self
