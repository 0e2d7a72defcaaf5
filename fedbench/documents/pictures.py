"""The data of those pictures of a suite that need more than records. They are kept in a file beside
an archive."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fedbench.analysis.pictures.sensitivity import Sensitivity
from fedbench.documents.parts import Count, Many, Named, Number, Part, Points, Several, Text, Word
from fedbench.engine.timeline import Fate

AtLeastOne = Field(min_length=1)


class Labels(Part):
    """Some clients from the fastest to the slowest. For every one of them, `counts` has its
    training examples of every class and `step_seconds` the mean virtual seconds of its local
    step."""

    scenario: Word
    seed: Count
    clients: Annotated[Many[Count], AtLeastOne]
    counts: Annotated[Many[Annotated[Several[Count], AtLeastOne]], AtLeastOne]
    step_seconds: Annotated[Points, AtLeastOne]


class Jobs(Part):
    """The jobs of a timeline as columns, see `fedbench.engine.timeline.Job`."""

    client: Many[Count]
    begin: Points
    end: Points
    fate: Many[Fate]
    staleness: Many[Count | None]


class Absences(Part):
    """When clients of a timeline are away, as columns."""

    client: Many[Count]
    begin: Points
    end: Points


class Timeline(Part):
    """The beginning of a run's plan, see `fedbench.engine.timeline.ClientTimeline`."""

    algorithm: Text
    scenario: Word
    seed: Count
    end_seconds: Number
    clients: Several[Count]
    of_clients: Count
    jobs: Jobs
    absences: Absences
    updates: Annotated[tuple[Number, ...], Field(max_length=1_000_000, strict=False)]


class Pictures(Part):
    """Label maps by point, timelines by point and selector, and which options were tried by
    selector and point. `suite` is the hash of the suite that they belong to."""

    schema_version: Literal[1] = Field(alias="schema")
    suite: Word
    labels: Named[Labels] = Field(default={})
    timelines: Named[Named[Timeline]] = Field(default={})
    sensitivity: Named[Named[Sensitivity]] = Field(default={})
