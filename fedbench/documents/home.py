"""What a home page shows."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fedbench.documents.parts import Line, Link, Part, Spent, Word


class Question(Part):
    """A question of a visitor, and the point of the suite that answers it: among the algorithms of
    a system, by their cost on an axis."""

    question: Line
    point: Line
    system: Line
    axis: Spent = "seconds"


class Home(Part):
    """What a home page shows.

    Attributes:
        suite: the suite from whose document all numbers are taken.
        baseline: an algorithm that readers know, which is shown beside the best ones.
        questions: what is answered.
        map: the suite with whose map the page begins; empty without one.
        bibtex: the entry by which fedbench is cited.
        licence: the name of the licence.
        source: the address of the source code; empty if it has none.
    """

    suite: Line
    baseline: Line
    questions: Annotated[tuple[Question, ...], Field(min_length=1, max_length=12, strict=False)]
    map: Word = ""
    bibtex: Annotated[str, Field(max_length=10_000)]
    licence: Line
    source: Link
