"""The form of what a home page shows, for data that anybody may have written. Other keys are
refused, and so are missing ones."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Line = Annotated[str, Field(min_length=1, max_length=200)]
Link = Annotated[str, Field(pattern=r"^(https://[^\s\"'<>]+)?$", max_length=1000)]


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class Question(Strict):
    """A question of a visitor, and the point of the suite that answers it: among the algorithms of
    a system, by their cost on an axis."""

    question: Line
    point: Line
    system: Line
    axis: Literal["seconds", "gradient_evaluations", "bytes"] = "seconds"


class HomeForm(Strict):
    """What a home page shows.

    Attributes:
        suite: the suite from whose document all numbers are taken.
        baseline: an algorithm that readers know, which is shown beside the best ones.
        questions: what is answered.
        bibtex: the entry by which fedbench is cited.
        licence: the name of the licence.
        source: the address of the source code; empty if it has none.
    """

    suite: Line
    baseline: Line
    questions: Annotated[list[Question], Field(min_length=1, max_length=12)]
    bibtex: Annotated[str, Field(max_length=10_000)]
    licence: Line
    source: Link
