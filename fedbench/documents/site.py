"""What a site has beside its documents: the speed of fedbench, changes, submissions, a home page
and the documentation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, RootModel

from fedbench.documents.home import Home
from fedbench.documents.parts import Count, Few, Many, Number, Part, Several, Slug, Text, Word
from fedbench.documents.validity import Validity

Path = Annotated[str, Field(pattern=r"^[^/.\\][^/\\]*(/[^/.\\][^/\\]*)*$", max_length=500)]
"""The path of a file in a folder. None of its parts begins with a dot, so it stays in the
folder."""
Sum = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Case(Part):
    """The seconds of a case at every commit; None where it was not timed."""

    name: Word
    values: Many[Number | None]


class Machine(Part):
    """What was timed on machines of one kind. Commits are in the order of time."""

    label: Word
    cpu: Word
    commits: Many[Word]
    days: Many[Word]
    cases: Several[Case]


class Rivals(Part):
    """A table of whole runs beside other ways of them."""

    about: Text
    head: Several[Text]
    rows: Several[Several[Text]]


class Speed(Part):
    """The speed of fedbench itself, commit by commit."""

    machines: Few[Machine]
    rivals: Rivals | None = None


class Change(Part):
    """An entry of the log of changes. Its text is Markdown."""

    date: Word
    text: Text


class Submission(Part):
    """What somebody handed in. `document` names the document that has its rows; None if there are
    no rows, such as for a retracted submission."""

    name: Slug
    title: Text
    authors: Several[Text]
    date: Word
    suite: Word
    validity: Validity
    reason: Text
    document: Slug | None
    rows: Count
    points: Count


class Beside(Part):
    """What a site shows beside documents and papers. The oldest change is the first."""

    speed: Speed | None = None
    changes: Many[Change] = ()
    submissions: Many[Submission] = ()
    home: Home | None = None


class Content(Beside):
    """The content of `data/site.json`: the names of documents and papers, and what the site shows
    beside them. `docs` has the SHA-256 of every file of the documentation."""

    schema_version: Literal[6] = Field(alias="schema")
    documents: Annotated[Few[Slug], Field(min_length=1)]
    papers: Few[Slug] = ()
    docs: dict[Path, Sum] = Field(default={}, max_length=10_000)


Files = RootModel[Annotated[tuple[Word, ...], Field(max_length=1_000_000, strict=False)]]
"""The content of `data/files.json`."""
