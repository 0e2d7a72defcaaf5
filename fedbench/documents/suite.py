"""The document of a suite, or of the records of a store. It is written as `data/NAME.json`, and its
pages are made from it alone."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import Field, JsonValue

from fedbench import written
from fedbench.analysis.axes import Axis
from fedbench.analysis.pictures.sensitivity import Sensitivity
from fedbench.descriptions import describe_algorithm
from fedbench.documents.board import Group, Standing
from fedbench.documents.map import Map
from fedbench.documents.parts import (
    Amount,
    Count,
    Few,
    Kind,
    Link,
    Many,
    Named,
    Number,
    Part,
    Points,
    Positive,
    Several,
    Slug,
    Text,
    Word,
)
from fedbench.documents.pictures import Labels, Timeline
from fedbench.documents.section import Row, Section
from fedbench.protocols import Algorithm

TITLES: Mapping[Kind, str] = {"tuned": "Tuned options", "default": "Default options", "given": "Options as given"}
"""The titles of the kinds of rows."""
MANY = 60  # rows that a text names each at each of its points
T = TypeVar("T")
Kinds = dict[Kind, Named[T]]
"""Something by kind of options and by point."""


class Suite(Part):
    """A suite, with the version of the rules by which its rows are compared."""

    name: Word
    hash: Word
    about: Text
    seeds: Count
    trials: Count | None
    runs: Count
    commits: Many[Word]
    rules: Count


class Point(Part):
    """A kind of heterogeneity. `every_seconds` is the distance of two evaluations, or `ratio` the
    quotient of their times. `sentence` says in Markdown which rows cost least."""

    name: Word
    axis: Word
    about: Text
    sentence: Text
    scenario: Word
    scenario_hash: Annotated[str, Field(max_length=100)]
    settings: Several[Text]
    clients: Count | None
    budget_seconds: Number
    every_seconds: Number | None
    ratio: Number | None = None
    targets: Few[Number]


class Source(Part):
    """A paper and a place in it. An algorithm outside the package may have a text alone."""

    text: Text
    key: Word = ""
    place: Text = ""
    short: Text = ""
    authors: Several[Text] = ()
    year: Count = 0
    title: Text = ""
    venue: Text = ""
    link: Link = ""
    method: Text = ""


class Option(Part):
    """An option of an algorithm. `source` says where its default is from."""

    name: Word
    default: JsonValue
    source: Text
    allowed: Text
    about: Text


class Preset(Part):
    """Options of an algorithm that a paper tuned."""

    name: Word
    about: Text
    options: Named[JsonValue]
    sources: Few[Source]


class Facts(Part):
    """What is known of a built-in algorithm, see `fedbench.descriptions`."""

    name: Word
    full_name: Annotated[str, Field(max_length=100)]
    sources: Few[Source]
    requires: Few[Word]
    dispatch: Word
    traffic: Text
    gradient_work: Text
    server_work: Text
    server_memory: Text
    clients_remember: bool
    about: Text
    options: Few[Option]
    presets: Few[Preset]

    @classmethod
    def of_class(cls, algorithm: type[Algorithm]) -> Facts:
        """Returns what is known of a class."""
        found = describe_algorithm(algorithm)
        return cls.model_validate({name: found[name] for name in cls.model_fields})

    @property
    def title(self) -> str:
        """The first line of the docstring `about`."""
        return self.about.partition("\n\n")[0].replace("\n", " ")

    @property
    def paragraphs(self) -> list[tuple[str, bool]]:
        """The docstring without its first line and its source, each part with whether it was
        indented, as equations are."""
        parts = [part for part in self.about.split("\n\n")[1:] if part.strip() and not part.startswith("Source:")]
        return [(textwrap.dedent(part), part.startswith(" ")) for part in parts]

    @property
    def source(self) -> str:
        """What follows `Source:` in the docstring, including how we depart from the source."""
        return " ".join(self.about.partition("Source:")[2].split())


class Entrant(Part):
    """An algorithm of a document.

    Attributes:
        family: synchronous, asynchronous or reference; empty if it is not known.
        group: its system at the first point, with default options.
        requires: what it needs if it is not built in, as its records say.
        facts: None if it is not built in.
        sensitivity: which options were tried, by point.
    """

    label: Text
    selector: Text
    family: Word
    group: Word | None
    requires: Few[Word] = ()
    facts: Facts | None = None
    sensitivity: Named[Sensitivity] = Field(default={})

    @property
    def full_name(self) -> str:
        """Its name as papers write it; empty if it is not known."""
        return self.facts.full_name if self.facts else ""


class Average(Part):
    """What it costs to always use one row: the geometric mean over points of its cost over the
    smallest cost, and the largest of these ratios. `is_bound` says that it misses a target at one
    of them, so that its ratio is a lower bound."""

    row: Text
    ratio: Annotated[tuple[Positive, Amount, Positive], Field(strict=False)]
    worst: Positive
    worst_at: Word
    points: Count
    is_bound: bool


class Profiles(Part):
    """For factors of the reference times, the share of targets and seeds that a row reaches within
    them, by kind of options and label."""

    factors: Points
    shares: dict[Kind, Named[Points]]


class Document(Part):
    """The document. `absent` has the rows that are left out by reason, and `averages` are by kind
    of options and of system. `timelines` are those of rows with tuned options. `map` is what a
    suite with a design says over its factors."""

    schema_version: Literal[6] = Field(alias="schema")
    name: Slug
    title: Text
    note: Text = ""
    axis: Axis
    kinds: Annotated[tuple[Kind, ...], Field(max_length=3, strict=False)]
    suite: Suite | None = None
    definitions: Several[Text] = ()
    sentences: Several[Text] = ()
    points: Annotated[Several[Point], Field(min_length=1)]
    algorithms: Several[Entrant]
    boards: Kinds[Many[Standing]]
    groups: Kinds[Several[Group]]
    averages: Kinds[Many[Average]] = Field(default={})
    profiles: Profiles
    absent: Named[Many[Text]] = Field(default={})
    labels: Named[Labels] = Field(default={})
    timelines: Named[Named[Timeline]] = Field(default={})
    sections: Kinds[Section] = Field(default={})
    map: Map | None = None

    def rows(self, kind: Kind, point: str) -> Sequence[Row]:
        """Returns the rows of a kind at a point; none if the kind lacks the point."""
        section = self.sections[kind].get(point)
        return section.rows if section else ()

    def board(self, kind: Kind, point: str) -> dict[str, Standing]:
        """Returns the rows of a board by their labels, in order; none if there is no board."""
        return {row.label: row for row in self.boards[kind].get(point, ())}

    def systems_at(self, kind: Kind, point: str) -> dict[str, Group]:
        """Returns the systems of a board by their kinds, in order; none if there is no board."""
        return {one.kind: one for one in self.groups[kind].get(point, ())}

    def averages_of(self, kind: Kind, system: str) -> Sequence[Average]:
        """Returns what it costs to always use one row of a system; nothing if it is not known."""
        return self.averages.get(kind, {}).get(system, ())

    def systems(self, kind: Kind) -> list[str]:
        """Returns the kinds of the systems on the boards, in the order of `Group.place`."""
        first: dict[str, Group] = {}
        for of_point in self.groups[kind].values():
            for one in of_point:
                first.setdefault(one.kind, one)
        return sorted(first, key=lambda system: first[system].place)


def rows_at(rows: Sequence[str]) -> str:
    """Returns `fedavg at calm, fedavg at rough`. Of more than MANY rows it says at how many points
    each one is: `fedavg at 2 points`."""
    if len(rows) <= MANY:
        return ", ".join(rows)
    names = Counter(row.rpartition(" at ")[0] for row in rows)
    return ", ".join(f"{name} at {written.counted(count, 'point')}" for name, count in names.items())
